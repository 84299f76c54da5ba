"""Without a seed a fit draws what it draws with 0: the same rows, centers, orders and folds."""

from __future__ import annotations

import ast
from pathlib import Path

import numpy as np
import pytest

import mercer
from mercer import learners, maps, stats

SOURCE = Path(mercer.__file__).parent
X = np.random.default_rng(0).normal(size=(90, 4))
Y = (X[:, 0] * X[:, 1] + 0.3 * X[:, 2] > 0).astype(int)
#: Each in a form in which it draws.
DRAWING = {
    "KernelKMeans": learners.KernelKMeans(n_clusters=6, n_init=1, max_iter=1),
    "SpectralClustering": learners.SpectralClustering(n_clusters=6, n_init=1, n_centers=12),
    "KernelLogisticRegression": learners.KernelLogisticRegression(solver="nystrom", n_centers=12),
    "KernelRidge": learners.KernelRidge(solver="nystrom", n_centers=12),
    "KernelRidgeClassifier": learners.KernelRidgeClassifier(solver="nystrom", n_centers=12),
    "KernelPerceptron": learners.KernelPerceptron(epochs=2),
    "Perceptron": learners.Perceptron(epochs=2),
    "GaussianProcessRegressor": learners.GaussianProcessRegressor(n_centers=9, noise=0.1),
    "Calibrated": mercer.calibrate(learners.KernelRidge(alpha=0.1), "split"),
    "NystromMap": maps.NystromMap(n_components=9),
    "RandomFourierMap": maps.RandomFourierMap(n_components=9),
    "TensorSketchMap": maps.TensorSketchMap(n_components=9),
}
#: Draws that are asked for as such: other ones in every call, as in scikit-learn.
SAMPLES = {"learners/structure/density.py", "learners/processes/regression.py"}


def answers(model, seed):
    np.random.seed(seed)  # noqa: NPY002  (nobody reads it)
    model.fit(X, Y)
    how = next(h for h in ("decision_function", "transform", "predict_interval", "predict")
               if hasattr(model, h))  # fmt: skip
    return np.asarray(getattr(model, how)(X))


@pytest.mark.parametrize("name", DRAWING)
@pytest.mark.filterwarnings("ignore")
def test_none_draws_as_0_does(name):
    model = DRAWING[name]
    assert model.random_state is None
    first, second = answers(model, 1), answers(model, 2)
    np.testing.assert_array_equal(first, second)
    np.testing.assert_array_equal(first, answers(model.set_params(random_state=0), 3))
    others = [answers(model.set_params(random_state=s), 3) for s in (1, 2, 3)]
    model.set_params(random_state=None)
    assert any(not np.array_equal(first, other) for other in others), "it draws nothing here"


@pytest.mark.parametrize("test", [stats.mmd_test, stats.hsic_test])
def test_permutations(test):
    found = [test(X[:45], X[45:], permutations=60, random_state=s).pvalue for s in (None, None, 0)]
    assert len(set(found)) == 1


def test_a_generator_that_is_given_goes_on():
    random = np.random.RandomState(0)
    one, two = (answers(maps.RandomFourierMap(random_state=random), 0) for _ in range(2))
    assert not np.array_equal(one, two)


def unseeded(path: Path) -> list[str]:
    """Calls that draw from the system or from NumPy's global state."""
    found = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if not isinstance(node, ast.Call):
            continue
        text = ast.unparse(node.func)
        nothing = not node.args or ast.unparse(node.args[0]) == "None"
        makes = text.rpartition(".")[2] in ("default_rng", "RandomState", "SeedSequence")
        legacy = text.startswith("np.random.") and text.count(".") == 2 and "(" not in text
        if (makes and nothing and not node.keywords) or (legacy and not makes):
            found.append(f"{node.lineno}: {ast.unparse(node)}")
        if text.endswith("check_random_state"):
            found.append(f"{node.lineno}: {ast.unparse(node)}")
    return found


def test_nothing_in_the_library_draws_without_a_seed():
    calls = {p.relative_to(SOURCE).as_posix(): unseeded(p) for p in SOURCE.rglob("*.py")}
    assert {path for path, found in calls.items() if found} == {
        *SAMPLES,
        "_parameters.py",
        "store/reading.py",  # its state is set from the file
    }
    assert all(len(calls[path]) == 1 for path in SAMPLES)
