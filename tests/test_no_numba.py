"""Without Numba everything works, more slowly, and says so once."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import numpy as np
import pytest

import mercer
from mercer._machine import jit

#: Fits every learner on a few examples and prints what it predicts, and what was warned of.
PROGRAM = """
import json, sys, warnings
import numpy as np

class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("numba", "llvmlite"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

if "block" in sys.argv:
    sys.meta_path.insert(0, Blocker())
warnings.simplefilter("always")
from mercer import learners

rng = np.random.default_rng(0)
X = rng.normal(size=(40, 3))
numbers, labels = np.sin(X[:, 0]), (X[:, 0] * X[:, 1] > 0).astype(int)
found = {}
with warnings.catch_warnings(record=True) as said:
    for name in learners.__all__:
        model = getattr(learners, name)()
        if "random_state" in model.get_params():
            model.set_params(random_state=0)
        regression = "Regressor" in name or name in ("KernelRidge", "KernelSVR")
        model.fit(X, numbers if regression else labels)
        answers = ("predict", "transform", "score_samples")
        answer = next(getattr(model, how) for how in answers if hasattr(model, how))
        found[name] = np.asarray(answer(X[:8]), dtype=float).tolist()
told = [str(w.message) for w in said if "Numba" in str(w.message)]
print(json.dumps([found, told, "numba" in sys.modules]))
"""


def run(*arguments: str, **variables: str) -> tuple[dict[str, list[float]], list[str], bool]:
    path = os.pathsep.join(filter(None, sys.path))
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *arguments],
        env=os.environ | {"PYTHONPATH": path} | variables,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found, told, imported = json.loads(done.stdout)
    return found, told, imported


@pytest.mark.slow
def test_every_learner_works_and_answers_alike() -> None:
    found, told, imported = run("block")
    assert not imported
    assert len(told) == 1
    assert "No module named 'numba'" in told[0]
    expected, _, _ = run()
    assert found.keys() == expected.keys() == set(mercer.learners.__all__)
    for name, answers in expected.items():
        np.testing.assert_allclose(found[name], answers, rtol=1e-2, atol=1e-2, err_msg=name)


def test_small_problems_do_not_import_numba() -> None:
    program = """
import sys
import numpy as np
import mercer

X = np.random.default_rng(0).normal(size=(150, 4))
for name in sys.argv[1:]:
    y = X[:, 0] if name.endswith("Regressor") or name == "KernelRidge" else X[:, 0] > X[:, 1] ** 2
    getattr(mercer, name)().fit(X, y).predict(X)
    assert "numba" not in sys.modules, name
"""
    names = ["KernelSVC", "KernelRidge", "KernelPerceptron", "Perceptron", "LocalLinearRegressor"]
    subprocess.run([sys.executable, "-c", program, *names], check=True)


def test_a_variable_turns_it_off(monkeypatch: pytest.MonkeyPatch) -> None:
    for question in (jit.compiles, jit.may_compile):
        monkeypatch.setattr(jit, question.__name__, question.__wrapped__)
    monkeypatch.setenv(jit.OFF_SWITCH, "0")
    assert not jit.may_compile()
    with pytest.warns(UserWarning, match=r"without Numba \(MERCER_NUMBA=0\)"):

        @jit.njit
        def double(x: float) -> float:
            return 2 * x

    assert double(3) == 6
    assert not hasattr(double, "py_func")


def test_bodies_are_chosen_at_the_call(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jit, "compiles", lambda: False)

    @jit.chosen_by_types
    def length(rows: tuple[int, ...]) -> object:
        return (lambda rows: "one") if len(rows) == 1 else (lambda rows: "more")

    assert (length((1,)), length((1, 2))) == ("one", "more")


@pytest.mark.parametrize("k", [1, 3, 12])
def test_neighbors_by_sorting_are_those_of_the_loop(k: int) -> None:
    from mercer.solvers.neighbors.loops import keep_largest
    from mercer.solvers.neighbors.search import _keep_by_sorting

    rng = np.random.default_rng(k)
    tiles = rng.integers(0, 6, size=(2, 9, 20)).astype(float)  # many ties
    own = np.array([3, -1, 25, 0, 39, 7, -1, 20, 19])
    offset = rng.normal(size=20).round()
    kept = []
    for keep in (_keep_by_sorting, keep_largest):
        values, index = np.full((9, k), -np.inf), np.zeros((9, k), dtype=np.intp)
        for start, tile in zip((0, 20), tiles, strict=True):
            keep(tile, start, -2.0, offset, own, values, index)
        kept.append((values, index))
    np.testing.assert_array_equal(kept[0][0], kept[1][0])
    np.testing.assert_array_equal(kept[0][1], kept[1][1])
