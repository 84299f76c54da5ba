"""Kernels on strings and densities in use: the contract, every learner, mixed records."""

from __future__ import annotations

import pickle
import runpy
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.mixture import GaussianMixture
from sklearn.model_selection import GridSearchCV

import mercer
from mercer.testing import check_kernel

WORDS = ["banana", "bandana", "an", "nab a ban", "d", "", "dabana", "bad", "ana banana"]
RNG = np.random.default_rng(0)
# Spam or not, by a word that may be anywhere and may be misspelt.
TEXTS = [
    "".join(RNG.choice(list("abcdefg "), RNG.integers(5, 12)))
    + (["winner", "wwinner", "winnner"] if i % 2 else ["regards", "regard", "reggards"])[i % 3]
    + "".join(RNG.choice(list("abcdefg "), RNG.integers(0, 8)))
    for i in range(80)
]
LABELS = np.array(["ham", "spam"])[np.arange(80) % 2]

KERNELS = [
    mercer.Spectrum(2),
    mercer.Spectrum(3, blended=True),
    mercer.Spectrum(3, weights=(0.0, 1.0, 0.25)),
    mercer.kernels.Mismatch(3, 1, alphabet=8),
    mercer.kernels.Subsequence(2),
    mercer.kernels.Subsequence(3, 0.8),
    mercer.kernels.WeightedDegree(3),
    mercer.kernels.LocalAlignment(),
    mercer.kernels.BagOfWords(),
    mercer.kernels.BagOfWords(binary=True),
]


@pytest.mark.parametrize("k", KERNELS, ids=repr)
def test_contract(k):
    check_kernel(k, WORDS)


@pytest.mark.parametrize("k", KERNELS, ids=repr)
def test_contract_of_composites(k):
    check_kernel(k.normalized(), WORDS)
    check_kernel(0.5 * k.normalized() ** 2 + (0.01 * k).exp() + 1.0, WORDS)


def test_contract_of_bytes_and_tokens():
    check_kernel(mercer.Spectrum(2), [w.encode() for w in WORDS])
    check_kernel(mercer.kernels.Subsequence(2), [list(w) for w in WORDS])
    check_kernel(mercer.Spectrum(2), np.array(WORDS, dtype=object))


def test_contract_of_densities():
    X = np.random.default_rng(0).normal(size=(40, 3))
    model = GaussianMixture(3, random_state=0).fit(X)
    X = X[:12]
    for k in (mercer.kernels.ConditionalExpectation(model), mercer.kernels.Fisher(model)):
        # All but the text: a fitted model cannot be written down.
        from mercer.testing import kernels as contract

        case = contract.Case(k, X[:9], X[8:], False)
        contract._check_semidefinite(case)
        for check in contract.KERNEL_CHECKS:
            if check is not contract._check_text:
                check(case)


LEARNERS = [
    ("KernelPerceptron", {}),
    ("KernelSVC", {"C": 10.0}),
    ("KernelRidgeClassifier", {"alpha": 0.1}),
    ("KernelLogisticRegression", {"alpha": 0.01}),
    ("NadarayaWatsonClassifier", {}),
    ("KernelNeighborsClassifier", {}),
    ("KernelCentroidClassifier", {}),
]


@pytest.mark.parametrize(("name", "options"), LEARNERS)
def test_classifiers_take_strings(name, options):
    learner = getattr(mercer, name, None)
    if learner is None:
        pytest.skip(f"mercer has no {name}")
    model = learner(kernel=mercer.Spectrum(3, blended=True).normalized(), **options)
    for texts in (TEXTS, np.array(TEXTS, dtype=object)):
        fitted = clone(model).fit(texts[:60], LABELS[:60])
        assert fitted.score(texts[60:], LABELS[60:]) >= 0.9
    again = pickle.loads(pickle.dumps(fitted))
    assert np.array_equal(again.predict(TEXTS), fitted.predict(TEXTS))


def test_regression_on_strings():
    learner = getattr(mercer, "KernelRidge", None)
    if learner is None:
        pytest.skip("mercer has no KernelRidge")
    y = np.array([t.count("n") for t in TEXTS], dtype=float)
    model = learner(mercer.kernels.Subsequence(1, 1.0), alpha=1e-3).fit(TEXTS[:60], y[:60])
    assert model.score(TEXTS[60:], y[60:]) > 0.8


def test_grid_search_reaches_the_kernel():
    # The same letters in another order: single letters cannot tell, pairs can.
    texts = [
        ("ab" if i % 2 else "aabb") * (4 if i % 2 else 2) + "c" * (i // 2 % 3) for i in range(30)
    ]
    y = np.arange(30) % 2
    model = mercer.KernelPerceptron(mercer.Spectrum(1).normalized())
    search = GridSearchCV(model, {"kernel__kernel__p": [1, 2]}, cv=3).fit(texts, y)
    scores = dict(zip([1, 2], search.cv_results_["mean_test_score"], strict=True))
    assert scores[1] < 0.7
    assert scores[2] == 1.0
    assert search.best_estimator_.kernel == mercer.Spectrum(2).normalized()
    expression = mercer.KernelPerceptron("subsequence(2, decay=0.5).normalized()")
    decays = GridSearchCV(expression, {"kernel__kernel__decay": [0.01, 0.7]}, cv=2)
    decays.fit(TEXTS[:40], LABELS[:40])
    assert decays.best_estimator_.kernel.kernel.decay in (0.01, 0.7)


# --- mixed records ---------------------------------------------------------------------------


def _records():
    pd = pytest.importorskip("pandas")
    n = len(TEXTS)
    return pd.DataFrame(
        {
            "notes": TEXTS,
            "iron": RNG.normal(size=n),
            "crp": RNG.normal(size=n) + (LABELS == "spam"),
            "ward": RNG.choice(["a", "b"], n),
        }
    )


MIXED = (
    mercer.Spectrum(3).normalized().on("notes")
    + 0.1 * mercer.Gaussian().on(["iron", "crp"])
    + mercer.kernels.Hamming().on(["ward"])
)


def test_a_kernel_over_mixed_records():
    frame = _records()
    expected = (
        mercer.Spectrum(3).normalized()(TEXTS)
        + 0.1 * mercer.Gaussian()(frame[["iron", "crp"]].to_numpy())
        + (frame["ward"].to_numpy()[:, None] == frame["ward"].to_numpy())
    )
    np.testing.assert_allclose(MIXED(frame), expected, atol=1e-12)
    assert mercer.prove(MIXED)
    assert mercer.parse(repr(MIXED)) == MIXED
    check_kernel(MIXED, frame.iloc[:9])


def test_mixed_records_as_arrays_and_dictionaries():
    frame = _records()
    by_place = (
        mercer.Spectrum(3).normalized().on(0)
        + 0.1 * mercer.Gaussian().on([1, 2])
        + mercer.kernels.Hamming().on([3])
    )
    expected = MIXED(frame)
    np.testing.assert_allclose(by_place(frame.to_numpy(dtype=object)), expected, atol=1e-12)
    few = frame.iloc[:5].to_dict("records")
    text_only = mercer.Spectrum(3).on("notes")
    np.testing.assert_allclose(text_only(few), text_only(frame.iloc[:5]))


def test_learning_from_mixed_records():
    frame = _records()
    model = mercer.KernelPerceptron(MIXED).fit(frame.iloc[:60], LABELS[:60])
    assert model.score(frame.iloc[60:], LABELS[60:]) >= 0.9
    search = GridSearchCV(model, {"kernel__left__right__factor": [0.1, 1.0]}, cv=2)
    assert search.fit(frame, LABELS).best_score_ > 0.8


def test_a_missing_note_is_named():
    frame = _records()
    frame.loc[3, "notes"] = None
    with pytest.raises(TypeError, match="row 3 of X is missing"):
        MIXED(frame)


@pytest.mark.slow
def test_the_example_runs(capsys):
    pytest.importorskip("pandas")
    path = Path(__file__).parents[2] / "examples" / "mixed_records.py"
    runpy.run_path(str(path), run_name="__main__")
    assert "✓ a kernel" in capsys.readouterr().out


def test_light_imports():
    import subprocess
    import sys

    code = (
        "import sys, mercer.kernels as k; k.Spectrum(3); k.Subsequence(2); "
        "heavy = {'numba', 'scipy', 'sklearn', 'joblib', 'pandas'} & set(sys.modules); "
        "assert not heavy, heavy"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
