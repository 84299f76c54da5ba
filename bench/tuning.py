"""What each threshold of `mercer.tuning` is worth: set to its lowest and its highest value.

    python bench/tuning.py                      the whole table
    python bench/tuning.py SVM_SINGLE PIVOTED   thresholds whose names contain one of these

A row names a threshold, the problem that it decides, and the CPU time of that problem with the
threshold at either extreme over the time with its present value: 2.00 means twice as slow, and a
threshold whose both extremes stay below 1.10 is not worth its fork. Every value runs in a process
of its own, where it is set before anything else is imported. The three values of a row take turns,
and minima over the rounds are compared, so that a busy machine disturbs them little.
"""

from __future__ import annotations

import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

#: An extreme that is never reached, as a whole number, which some thresholds have to be.
NEVER = 10**12
ROUNDS, REPEATS = 2, 4


def rows(n: int, d: int, kind: str = "real") -> tuple[np.ndarray, np.ndarray]:
    """n rows of d columns, and two noisy classes of them."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (n, d)).astype(float) if kind == "binary" else rng.normal(size=(n, d))
    return X, (X[:, 0] + X[:, 1] ** 2 + 0.5 * rng.normal(size=n) > 1.0).astype(int)


def many_classes(n: int, d: int, classes: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows around the mean of their class."""
    rng = np.random.default_rng(0)
    y = np.arange(n) % classes
    return 2.0 * rng.normal(size=(classes, d))[y] + rng.normal(size=(n, d)), y


def fitted(name: str, X: Any, y: Any, **options: Any) -> Callable[[], Any]:
    """A call that fits a learner."""
    import mercer.learners

    return lambda: getattr(mercer.learners, name)(**options).fit(X, y)


def precomputed(n: int, d: int, C: float) -> Callable[[], Any]:
    """A call that fits a support vector machine on a matrix K."""
    from mercer import Gaussian

    X, y = rows(n, d)
    return fitted("KernelSVC", Gaussian(3.0)(X), y, kernel="precomputed", C=C)


def neighbors(n: int, d: int, k: int = 5) -> Callable[[], Any]:
    """A call that fits and asks for k neighbors of all rows."""
    from mercer.learners import KernelNeighborsClassifier

    X, y = rows(n, d)
    return lambda: KernelNeighborsClassifier(n_neighbors=k).fit(X, y).predict(X)


def sparse_neighbors(n: int, d: int, share: float) -> Callable[[], Any]:
    """The same for sparse rows."""
    import scipy.sparse as sp

    from mercer.learners import KernelNeighborsClassifier

    X = sp.random_array((n, d), density=share, format="csr", rng=np.random.default_rng(0))
    y = np.arange(n) % 2
    return lambda: KernelNeighborsClassifier(n_neighbors=5).fit(X, y).predict(X)


def matrix(
    text: str, n: int, d: int, kind: str = "real", vectors: int = 0, share: float = 0.19
) -> Callable[[], Any]:
    """A call that makes K, or K V with so many columns; `kind`: of the numbers of the rows."""
    import scipy.sparse as sp

    from mercer.kernels import parse

    rng, kernel = np.random.default_rng(0), parse(text)
    X: Any = rng.normal(size=(n, d))
    if kind != "real":  # a tenth of the columns is empty, and a share of the others is not
        X = rng.integers(1, 256, (n, d)) * (rng.random((n, d)) < share)
        X[:, ::10] = 0
        X = X / 255 if kind == "bytes" else X * rng.random((n, d))  # off every grid
        X = sp.csr_array(X) if kind == "sparse" else X
    V, Z = rng.normal(size=(n, vectors)), X[::2]
    return lambda: kernel.gram(Z, X) @ V if vectors else kernel(X)


def wave(n: int, d: int, targets: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """Rows with smooth targets."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    y = np.sin(X[:, :1] * np.arange(1, targets + 1)) + 0.1 * rng.normal(size=(n, targets))
    return X, y[:, 0] if targets == 1 else y


PROBLEMS: dict[str, Callable[[], Callable[[], Any]]] = {
    "K 100 × 10": lambda: matrix("gaussian(1)", 100, 10),
    "K 3000 × 10": lambda: matrix("gaussian(1)", 3000, 10),
    "K 3000 × 784 sparse": lambda: matrix("gaussian(8)", 3000, 784, "sparse"),
    "K 3000 × 784 bytes": lambda: matrix("gaussian(8)", 3000, 784, "bytes"),
    "K V 5000 × 10, 8 columns": lambda: matrix("gaussian(1)", 5000, 10, vectors=8),
    "K 3000 × 784 sparse, 5 %": lambda: matrix("gaussian(8)", 3000, 784, "sparse", share=0.05),
    "K V 20000 × 4, 1 column": lambda: matrix("gaussian(1)", 20_000, 4, vectors=1),
    "K V 20000 × 2, 1 column": lambda: matrix("gaussian(1)", 20_000, 2, vectors=1),
    "SVC 150 × 5": lambda: fitted("KernelSVC", *rows(150, 5)),
    "SVC 3000 × 10": lambda: fitted("KernelSVC", *rows(3000, 10)),
    "SVC 6000 × 10, C = 100": lambda: fitted("KernelSVC", *rows(6000, 10), C=100.0),
    "SVC 6000 × 8 binary": lambda: fitted("KernelSVC", *rows(6000, 8, "binary")),
    "SVC 2000 × 200": lambda: fitted("KernelSVC", *rows(2000, 200)),
    "SVC 3000 × 30, 50 classes": lambda: fitted("KernelSVC", *many_classes(3000, 30, 50)),
    "SVC 800 × 5, C = 1e5": lambda: fitted("KernelSVC", *rows(800, 5), kernel="gaussian(3)", C=1e5),
    "SVC precomputed 3500, C = 100": lambda: precomputed(3500, 10, 100.0),
    "SVC hard margin 3500": lambda: fitted(
        "KernelSVC", *rows(3500, 10), kernel="gaussian(0.5)", C=float("inf")
    ),
    "SVR 2000 × 10": lambda: fitted("KernelSVR", *wave(2000, 10)),
    "ridge 3000 × 10": lambda: fitted("KernelRidge", *wave(3000, 10), alpha=1.0),
    "ridge 3000 × 10 by Cholesky": lambda: fitted(
        "KernelRidge", *wave(3000, 10), alpha=1.0, solver="cholesky"
    ),
    "ridge 1000 × 10, 4 targets": lambda: fitted(
        "KernelRidge", *wave(1000, 10, 4), alpha=[0.1, 0.2, 0.4, 0.8]
    ),
    "ridge 3000 × 2": lambda: fitted("KernelRidge", *wave(3000, 2), alpha=0.1),
    "ridge 3000 × 2, 6 targets": lambda: fitted("KernelRidge", *wave(3000, 2, 6), alpha=0.1),
    "ridge 1500 × 10, 10 λ": lambda: fitted(
        "KernelRidge", *wave(1500, 10), alphas=np.logspace(-3, 1, 10)
    ),
    "ridge 1000 × 10, 4 λ": lambda: fitted(
        "KernelRidge", *wave(1000, 10), alphas=np.logspace(-3, 1, 4)
    ),
    "ridge 8000 × 10, 500 centers": lambda: fitted(
        "KernelRidge", *wave(8000, 10), alpha=0.1, solver="nystrom", n_centers=500
    ),
    "logistic 2000 × 10": lambda: fitted("KernelLogisticRegression", *rows(2000, 10)),
    "logistic 2000 × 10, 5 classes": lambda: fitted(
        "KernelLogisticRegression", *many_classes(2000, 10, 5)
    ),
    "PCA 1500 × 10": lambda: fitted("KernelPCA", rows(1500, 10)[0], None, n_components=10),
    "neighbors 100 × 5": lambda: neighbors(100, 5),
    "neighbors 4000 × 5": lambda: neighbors(4000, 5),
    "neighbors 3000 × 100": lambda: neighbors(3000, 100),
    "neighbors 2000 × 200 sparse": lambda: sparse_neighbors(2000, 200, 0.05),
    "perceptron 200 × 5": lambda: fitted("KernelPerceptron", *rows(200, 5)),
    "perceptron 5000 × 50": lambda: fitted("KernelPerceptron", *rows(5000, 50)),
    "perceptron 5000 × 20, budget": lambda: fitted("KernelPerceptron", *rows(5000, 20), budget=100),
}

#: A threshold, the problem that it decides, its lowest and its highest value.
SWEEP: list[tuple[str, str, Any, Any]] = [
    ("ONE_TILE_BYTES", "K 100 × 10", 0, NEVER),
    ("COMPILED_PAIRS", "K 3000 × 10", 0, NEVER),
    ("DIRECT_COLUMNS", "K 3000 × 10", 0, NEVER),
    ("FUSED_COLUMNS", "K V 5000 × 10, 8 columns", 0, NEVER),
    ("FUSED_COLUMNS", "K V 20000 × 4, 1 column", 0, NEVER),
    ("WAVE_PAIRS", "K V 20000 × 2, 1 column", 0, NEVER),
    ("SPARSE_IN_LOOPS", "K 3000 × 784 sparse", 0.0, 1.0),
    ("SPARSE_IN_LOOPS", "K 3000 × 784 sparse, 5 %", 0.0, 1.0),
    ("SMALL_BLOCK_ROWS", "K 3000 × 784 sparse", 0, NEVER),
    ("BYTE_FLOPS", "K 3000 × 784 bytes", 0, NEVER),
    ("SVM_SMALL_ROWS", "SVC 150 × 5", 0, 200),
    ("SVM_SINGLE", "SVC 2000 × 200", 0, NEVER),
    ("SVM_SHARED_ROWS", "SVC 3000 × 30, 50 classes", 0, NEVER),
    ("SVM_STEPS", "SVC 800 × 5, C = 1e5", 1, NEVER),
    ("SVM_STEPS_PER_ROW", "SVC 800 × 5, C = 1e5", 1, 10**7),
    ("SMALL_BLOCK_ROWS", "SVC precomputed 3500, C = 100", 0, 10**6),
    ("SVM_BURST", "SVC 800 × 5, C = 1e5", 200, 10**6),
    ("SVM_NEWTON_OPERATIONS", "SVC 800 × 5, C = 1e5", 0, 10**9),
    ("SVM_SHRINK_ROWS", "SVC 6000 × 10, C = 100", 0, NEVER),
    ("SVM_SHRINK_PERIOD", "SVC 6000 × 10, C = 100", 100, 10**6),
    ("SVM_DUPLICATE_ROWS", "SVC 6000 × 8 binary", 0, NEVER),
    ("SVM_DISTINCT_SHARE", "SVC 6000 × 8 binary", 0.0, 1.0),
    ("TRIDIAGONAL_CONDITION", "ridge 1500 × 10, 10 λ", 0.0, 1e300),
    ("FEW_PENALTIES", "ridge 1000 × 10, 4 targets", 1, 10**6),
    ("FEW_ON_PATH", "ridge 1000 × 10, 4 λ", 1, 10**6),
    ("PANEL_ROWS", "ridge 3000 × 10", 16, 10**6),
    ("SQUARE_ROWS", "ridge 3000 × 2, 6 targets", 32, 3000),
    ("SYMV_COLUMNS", "ridge 3000 × 2", 0, 100),
    ("REFINED_ROWS", "ridge 3000 × 10 by Cholesky", 0, NEVER),
    ("PIVOTED_ROWS", "ridge 3000 × 2", 0, NEVER),
    ("PIVOTED_COLUMNS", "ridge 3000 × 2", 16, 600),
    ("PIVOTED_SHARE", "ridge 3000 × 2", 0.01, 1.0),
    ("STEP_SECONDS", "ridge 3000 × 2", 0.0, 1e-2),
    ("PRODUCT_ROWS", "ridge 8000 × 10, 500 centers", 16, 10**6),
    ("COPY_SHARE", "logistic 2000 × 10", 1e-6, 0.5),
    ("LOOSEST_STEP", "logistic 2000 × 10", 0.01, 0.9),
    ("SPECTRAL_DENSE_ROWS", "PCA 1500 × 10", 0, NEVER),
    ("SPECTRAL_BLOCK", "PCA 1500 × 10", 1, 64),
    ("BASIS_MULTIPLE", "PCA 1500 × 10", 3, 60),
    ("NUMPY_PAIRS", "neighbors 100 × 5", 0, NEVER),
    ("SPARSE_ONE", "neighbors 2000 × 200 sparse", 0.0, 1.0),
    ("SPARE", "neighbors 3000 × 100", 0, 30),
    ("SPARE", "neighbors 4000 × 5", 0, 30),
    ("NEAR_COLUMNS", "neighbors 4000 × 5", 0, NEVER),
    ("ORDERED_NUMBERS", "neighbors 4000 × 5", 0, NEVER),
    ("CACHE_ELEMENTS", "neighbors 3000 × 100", 4000, NEVER),
    ("LEAF_ROWS", "perceptron 5000 × 50", 16, 4096),
    ("LEAF_UPDATES", "perceptron 5000 × 50", 0, NEVER),
    ("PLAIN_STEPS", "perceptron 200 × 5", 0, NEVER),
]


def child(problem: str, name: str, value: str) -> None:
    """Set a threshold, run its problem, and print the least CPU time in milliseconds."""
    import mercer.tuning

    if name:
        assert hasattr(mercer.tuning, name), name
        setattr(mercer.tuning, name, float(value) if "." in value or "e" in value else int(value))
    warnings.simplefilter("ignore")
    call = PROBLEMS[problem]()
    call()
    times = []
    for _ in range(REPEATS):
        start = time.process_time()
        call()
        times.append(time.process_time() - start)
    print(1e3 * min(times))


def measured(problem: str, name: str = "", value: Any = "") -> float:
    """The time of a problem in a new process; NaN where it fails with such a value."""
    command = [sys.executable, __file__, "--child", problem, name, repr(value) if name else ""]
    try:
        run = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired):
        return float("nan")
    return float(run.stdout.split()[-1])


def main(wanted: list[str]) -> None:
    print(f"{'threshold':28s}{'problem':34s}{'now, ms':>9s}{'lowest':>9s}{'highest':>9s}")
    for name, problem, low, high in SWEEP:
        if wanted and not any(part in name for part in wanted):
            continue
        times = [[], [], []]  # type: list[list[float]]
        for _ in range(ROUNDS):
            for kept, setting in zip(times, ((), (name, low), (name, high)), strict=True):
                kept.append(measured(problem, *setting))
        now, lowest, highest = (min(kept) for kept in times)
        verdict = "" if max(lowest, highest) > 1.1 * now else "   not worth a fork here"
        print(f"{name:28s}{problem:34s}{now:9.1f}{lowest / now:9.2f}{highest / now:9.2f}{verdict}")
        sys.stdout.flush()


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        child(*sys.argv[2:])
    else:
        main(sys.argv[1:])
