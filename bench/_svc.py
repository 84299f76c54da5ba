"""What the benchmarks of the support vector machine share: data, the floor, the comparison."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import combinations
from typing import Any

import numpy as np
from _harness import cores, data_file, timed
from threadpoolctl import threadpool_limits

from mercer.kernels import Gaussian
from mercer.learners import KernelSVC


def mnist(n: int) -> tuple[np.ndarray, ...] | None:
    """The first n training digits and all test digits, pixels in [0, 1], float32."""
    path = data_file("mnist.npz")
    if path is None:
        return None
    with np.load(path, allow_pickle=False) as data:
        X = (data["X_train"][:n] / 255).astype(np.float32)
        Z = (data["X_test"] / 255).astype(np.float32)
        return X, data["y_train"][:n].astype(int), Z, data["y_test"].astype(int)


def a9a() -> tuple[np.ndarray, ...] | None:
    path = data_file("a9a.npz")
    if path is None:
        return None
    with np.load(path, allow_pickle=False) as data:
        X, Z = data["X_train"].astype(np.float32), data["X_test"].astype(np.float32)
        return X, data["y_train"].astype(int), Z, data["y_test"].astype(int)


def machine(C: float, gamma: float, tol: float = 1e-3) -> KernelSVC:
    return KernelSVC(Gaussian.from_gamma(gamma), C=C, tol=tol)


def fit_floor(model: KernelSVC, X: np.ndarray, y: np.ndarray) -> float:
    """Seconds for X[support vectors] X[rows]ᵀ of every pair, by BLAS: what any solver must compute.

    Ours may take less: pixels and indicators are multiplied as bytes.
    """
    classes = model.classes_
    kind = np.searchsorted(classes, y[model.support_])
    by_class = [np.ascontiguousarray(X[y == c]) for c in classes]
    pairs = []
    for i, j in combinations(range(len(classes)), 2):
        used = np.zeros(len(kind), dtype=bool)
        used |= (kind == i) & (model.dual_coef_[j - 1] != 0)
        used |= (kind == j) & (model.dual_coef_[i] != 0)
        pairs.append((i, j, np.ascontiguousarray(X[model.support_[used]])))

    def products(share: list[Any]) -> None:
        widest = max(len(rows) for _, _, rows in share) * max(len(rows) for rows in by_class)
        room = np.empty(widest, dtype=X.dtype)
        for i, j, rows in share:
            for other in (by_class[i], by_class[j]):
                out = room[: len(rows) * len(other)].reshape(len(rows), len(other))
                np.matmul(rows, other.T, out=out)

    if len(pairs) > 1:
        return _seconds(products, [pairs[t :: cores()] for t in range(cores())])
    # One problem: threads share the support vectors.
    i, j, rows = pairs[0]
    return _seconds(products, [[(i, j, part)] for part in np.array_split(rows, 4 * cores())])


def predict_floor(model: KernelSVC, Z: np.ndarray) -> float:
    """Seconds for Z X[support vectors]ᵀ, in panels of rows."""
    rows = model.support_vectors_

    def product(share: list[Any]) -> None:
        out = np.empty((len(share[0]), len(rows)), dtype=Z.dtype)
        for part in share:
            np.matmul(part, rows.T, out=out[: len(part)])

    panels = [Z[start : start + 1024] for start in range(0, len(Z), 1024)]
    return _seconds(product, [panels[t :: cores()] for t in range(cores())])


def _seconds(work: Callable[[list[Any]], None], shares: list[list[Any]]) -> float:
    """A thread a share, each with a BLAS of its own; the fastest of five."""
    with threadpool_limits(1, user_api="blas"), ThreadPoolExecutor(cores()) as pool:
        return min(timed(lambda: list(pool.map(work, shares))) for _ in range(5))


def error(model: Any, Z: np.ndarray, y: np.ndarray) -> float:
    """Test error in percent."""
    return 100 * float((model.predict(Z) != y).mean())
