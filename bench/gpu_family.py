"""Gaussian processes and principal components on a GPU: 50 000 rows exactly, 60 000 × 784.

    [MERCER_DATA=folder] PYTHONPATH=src python bench/gpu_family.py [name …]

Prints the median after a warm-up and the first call apart, the peak of memory, and the error
beside double precision on the host, on as many rows as that takes seconds for. `mnist.npz` is read
from MERCER_DATA; without it images of the same size are made.
"""

from __future__ import annotations

import os
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import torch
from _gpu import Report, peak_gb, run_claims, seconds

from mercer import Gaussian, GaussianProcessRegressor
from mercer.gram.dispatch import solver_gram
from mercer.gram.host import HostGram
from mercer.learners import KernelPCA
from mercer.solvers.evidence.exact import evidence

warnings.simplefilter("ignore")
DEVICE = "cuda"
REPORT = Report("gpu_family")
#: Rows on which the host computes the same in double precision.
FEW = 3000


def waves(n: int, d: int = 10) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(0)
    X = random.normal(size=(n, d))
    y = np.sin(X[:, 0]) + 0.5 * X[:, 1] * X[:, 2] + 0.1 * random.normal(size=n)
    return X, (y - y.mean()) / y.std()


def process() -> None:
    """log p(y) and its derivatives in ten lengths, a factor and the noise."""
    kernel, noise, n = 1.0 * Gaussian(np.full(10, 3.0)), 0.1, 50_000
    X, y = waves(n)
    there = torch.as_tensor(X, device=DEVICE)

    def here(rows: int) -> Any:
        return evidence(solver_gram(kernel, there[:rows]), y[:rows, None], noise)

    few, exact = here(FEW), evidence(HostGram(kernel, X[:FEW]), y[:FEW, None], noise)
    error = abs(few.value / exact.value - 1)
    assert few.slopes
    assert exact.slopes
    for name, wanted in exact.slopes.items():
        gap = np.abs(np.asarray(few.slopes[name]) - wanted).max()
        error = max(error, gap / np.abs(wanted).max())
    (_, took, first), peak = peak_gb(lambda: seconds(lambda: here(n)))
    REPORT.row(
        f"GP evidence and its gradient, {n} × 10 exactly", took, "s", 6.0,
        f"first call {first:.2f} s, peak {peak:.0f} GB (≤ 60), {n**3 / took / 1e12:.0f} TFLOP/s, "
        f"relative error on {FEW} rows {error:.0e}",
    )  # fmt: skip


def learned() -> None:
    """All twelve numbers learned on 10 000 rows, then the mean of 20 000 others."""
    X, y = waves(30_000)
    there = torch.as_tensor(X, device=DEVICE)

    def fit(rows: Any, n: int) -> GaussianProcessRegressor:
        kernel = 1.0 * Gaussian(np.full(10, 3.0))
        make = GaussianProcessRegressor(kernel, normalize_y=False, solver="exact", random_state=0)
        return make.fit(rows[:n], y[:n])

    (model, took, first), peak = peak_gb(lambda: seconds(lambda: fit(there, 10_000), 1))
    few, exact = (fit(rows, FEW).log_marginal_likelihood_value_ for rows in (there, X))
    r2 = model.score(there[10_000:], y[10_000:])
    REPORT.row(
        "GP, 12 numbers learned on 10000 × 10", took, "s", None,
        f"first call {first:.2f} s, {model.n_iter_} steps, peak {peak:.1f} GB, R² {r2:.4f} on "
        f"20 000 others; log p(y) of {FEW} rows beside the host's: {abs(few - exact):.0e}",
    )  # fmt: skip


def images(n: int) -> tuple[np.ndarray, str]:
    """Pixels in [0, 1] and where they are from."""
    if folder := os.environ.get("MERCER_DATA"):
        data = np.load(Path(folder) / "mnist.npz")["X_train"]
        return data.reshape(len(data), -1)[:n].astype(np.float32) / 255, "MNIST"
    random = np.random.default_rng(0)
    patterns = random.normal(size=(20, 784))
    shades = 255 / (1 + np.exp(1 - random.normal(size=(n, 20)) @ patterns / 3))
    made = np.where(shades < 100, 0, np.floor(shades)) / 255
    return made.astype(np.float32), "made images"


def components() -> None:
    n, kernel = 60_000, Gaussian.from_gamma(0.02)
    X, source = images(n)
    there = torch.as_tensor(X, device=DEVICE)
    few = KernelPCA(kernel, 20).fit(there[:FEW]).eigenvalues_
    exact = KernelPCA(kernel, 20).fit(X[:FEW].astype(np.float64)).eigenvalues_
    error = np.abs(few - exact).max() / exact[0]
    (model, took, first), peak = peak_gb(lambda: seconds(lambda: KernelPCA(kernel, 20).fit(there)))
    REPORT.row(
        f"KernelPCA, {n} × 784 ({source}), 20 components", took, "s", 5.0,
        f"first call {first:.2f} s, {model.n_iter_} products, peak {peak:.0f} GB, eigenvalues "
        f"beside float64 on {FEW} rows {error:.0e}",
    )  # fmt: skip


if __name__ == "__main__":
    run_claims(REPORT, process, learned, components)
