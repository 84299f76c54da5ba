"""Exact Shapley values of a support vector machine beside shap's KernelExplainer, in one run.

200 rows, about 1,000 support vectors, 30 columns, as many rows of background as by default; the
time with 100 is in the note. The claim is about CPU time, so that threads do not hide work. shap
explains 2 rows, by its default number of samples and the same background; its time for 200 rows is
100 times that.

    python bench/reasons.py
"""

from __future__ import annotations

import importlib.util
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from _harness import Row, below, claim, faster, main, skipped

import mercer
from mercer.reasons.problem import BACKGROUND

ROWS, COLUMNS, LEARNED, ROUNDS = 200, 30, 1_290, 3


def problem() -> tuple[Any, np.ndarray, np.ndarray]:
    """A machine most of whose training rows are support vectors, rows to explain, background."""
    random = np.random.default_rng(0)
    X = random.normal(size=(LEARNED + ROWS, COLUMNS))
    y = X[:, 0] + X[:, 1] * X[:, 2] + random.normal(size=len(X)) > 0
    model = mercer.KernelSVC().fit(X[:LEARNED], y[:LEARNED])
    return model, X[LEARNED:], X[:LEARNED]


def cpu(function: Callable[[], Any]) -> float:
    begin = time.process_time()
    function()
    return time.process_time() - begin


def measure() -> list[Row]:
    model, X, learned = problem()
    background = learned[:BACKGROUND]
    points = len(model.expansion_)
    cold = cpu(lambda: mercer.explain_rows(model, X, background))
    best = min(cpu(lambda: mercer.explain_rows(model, X, background)) for _ in range(ROUNDS))
    found = mercer.explain_rows(model, X, background)
    assert found.method == "exact"
    more = min(cpu(lambda: mercer.explain_rows(model, X, learned[:100])) for _ in range(ROUNDS))
    note = (
        f"{points} support vectors, {BACKGROUND} rows of background (100: {more:.2f} s), first "
        f"call {cold:.2f} s, sums right to {found.error:.0e}"
    )
    rows = [
        claim(f"reasons: {ROWS} rows × {COLUMNS} columns, CPU", best, None, below(1.0, "s"), note)
    ]
    rows += on_a_gpu(model, X, background, found.values)
    name, target = f"reasons: {ROWS} rows beside KernelExplainer, CPU", faster(20.0)
    try:
        import shap
    except ImportError:
        return [*rows, skipped(name, target, "shap is not installed")]
    explainer = shap.KernelExplainer(model.decision_function, background)
    few = 2
    begin = time.process_time()
    np.random.seed(0)  # noqa: NPY002 - shap draws from the global state
    theirs = explainer.shap_values(X[:few], silent=True)
    peer = (time.process_time() - begin) * ROWS / few
    off = np.abs(theirs - found.values[:few]).max() / np.abs(found.values[:few]).max()
    note = f"its error {100 * off:.2g} % of the largest value; {few} rows, times {ROWS // few}"
    return [*rows, claim(name, best, peer, target, note)]


def wall(function: Callable[[], Any]) -> float:
    begin = time.perf_counter()
    function()
    return time.perf_counter() - begin


def on_a_gpu(model: Any, X: np.ndarray, background: np.ndarray, values: np.ndarray) -> list[Row]:
    """The same points on a GPU, beside all threads of the host."""
    if importlib.util.find_spec("torch") is None:
        return []
    import torch

    if not torch.cuda.is_available():
        return []
    f = model.expansion_
    there = mercer.KernelExpansion(f.kernel, torch.as_tensor(f.points, device="cuda"), f.coef)
    cold = wall(lambda: mercer.explain_rows(there, X, background))
    best = min(wall(lambda: mercer.explain_rows(there, X, background)) for _ in range(ROUNDS))
    host = min(wall(lambda: mercer.explain_rows(model, X, background)) for _ in range(ROUNDS))
    off = np.abs(mercer.explain_rows(there, X, background).values - values).max()
    note = f"beside all threads of the host; first call {cold:.2f} s, differs by {off:.0e}"
    return [claim(f"reasons: {ROWS} rows on a GPU", best, host, faster(1.0), note)]


if __name__ == "__main__":
    main(measure)
