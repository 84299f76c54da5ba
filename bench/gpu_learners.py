"""Learners on a GPU, data already there: MNIST 60k, and ten million rows that are streamed.

    MERCER_DATA=folder PYTHONPATH=src python bench/gpu_learners.py [name …]

Prints the median after a warm-up and the first call apart. `mnist.npz` is read from MERCER_DATA.
"""

from __future__ import annotations

import time
import warnings
from functools import partial
from importlib.util import find_spec
from typing import Any

import numpy as np
import torch
from _gpu import Report, mnist, run_claims, seconds

import mercer
from mercer import Gaussian, Polynomial
from mercer.learners import (
    KernelLogisticRegression,
    KernelNeighborsClassifier,
    KernelPerceptron,
    KernelRidge,
    KernelRidgeClassifier,
    NadarayaWatsonClassifier,
)

warnings.simplefilter("ignore")


REPORT = Report("gpu_learners")


def images() -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    X, y, Xt, yt = mnist()
    return X.float() / 255, y, Xt.float() / 255, yt


def say(what: str, took: float, first: float, target: float | None, note: str) -> None:
    REPORT.row(what, took, "s", target, f"first call {first:.2f} s; {note}")


def error(model: Any, X: torch.Tensor, y: torch.Tensor) -> float:
    return 100 * float((model.predict(X) != y).float().mean())


def perceptron() -> None:
    X, y, Xt, yt = images()
    options: dict[str, Any] = {"epochs": 10, "shuffle": False}
    kernel = Polynomial(4, 1.0)
    model, took, first = seconds(lambda: KernelPerceptron(kernel, **options).fit(X, y))
    exact = KernelPerceptron(kernel, **options).fit(X.double(), y)
    average = KernelPerceptron(kernel, averaging="average", **options).fit(X, y)
    a, b = model.mistakes_, exact.mistakes_
    size = min(len(a), len(b))
    apart = np.flatnonzero(a[:size] != b[:size])
    same = "the same as in float64" if not len(apart) and len(a) == len(b) else (
        f"float64 makes {len(b)}; equal up to update {apart[0] if len(apart) else size}, "
        f"{100 * len(np.setdiff1d(a, b)) / len(np.unique(a)):.2f} % of the points differ"
    )  # fmt: skip
    if find_spec("numba") is not None:  # the loops of the CPU need it
        host = KernelPerceptron(kernel, **options).fit(X.double().cpu().numpy(), y.cpu().numpy())
        equal = np.array_equal(host.mistakes_, b)
        same += f"; float64 on the CPU: {host.n_mistakes_}, equal: {equal}"
    say(
        "perceptron, degree 4, 10 epochs",
        took,
        first,
        0.6,
        f"{model.n_mistakes_} mistakes ({same}), {len(model.support_)} support vectors, error "
        f"{error(model, Xt, yt):.2f} % last, {error(average, Xt, yt):.2f} % average",
    )


def exact_ridge() -> None:
    X, y, Xt, yt = images()
    for alpha in (0.1, 0.01):
        make = KernelRidgeClassifier(Gaussian(5.0), alpha=alpha, solver="cholesky")
        torch.cuda.reset_peak_memory_stats()
        model, took, first = seconds(partial(make.fit, X, y), 1)
        peak = torch.cuda.max_memory_allocated() / 2**30
        note = f"α {alpha:g}: error {error(model, Xt, yt):.2f} % (≤ 1.4), peak {peak:.1f} GiB"
        say("exact ridge, 60k × 60k", took, first, 10.0, note)


def centers() -> None:
    X, y, Xt, yt = images()
    options: dict[str, Any] = {"alpha": 6e-3, "solver": "nystrom", "n_centers": 10_000}
    make = KernelRidgeClassifier(Gaussian(5.0), random_state=0, **options)
    model, took, first = seconds(lambda: make.fit(X, y))
    say("ridge, 10k centers", took, first, 5.0, f"error {error(model, Xt, yt):.2f} % (≤ 1.8)")
    _, took, first = seconds(lambda: model.predict(Xt))
    say("  predict 10k", took, first, None, "")


def logistic() -> None:
    X, y, Xt, yt = images()
    for n, solver in ((10_000, "newton"), (60_000, "nystrom")):
        make = KernelLogisticRegression(Gaussian(5.0), alpha=0.01, solver=solver, random_state=0)
        model, took, first = seconds(partial(make.fit, X[:n], y[:n]), 1)
        note = f"error {error(model, Xt, yt):.2f} %, {model.n_iter_} steps"
        say(f"logistic regression ({solver}), {n} examples", took, first, None, note)


def local() -> None:
    X, y, Xt, yt = images()
    near = KernelNeighborsClassifier(Gaussian(5.0), n_neighbors=1).fit(X, y)
    _, took, first = seconds(lambda: near.predict(Xt))
    say("1-nearest neighbor, 10k queries", took, first, None, f"error {error(near, Xt, yt):.2f} %")
    smooth = NadarayaWatsonClassifier(Gaussian(), bandwidth=2.0).fit(X, y)
    _, took, first = seconds(lambda: smooth.predict(Xt))
    say("Nadaraya–Watson, 10k queries", took, first, None, f"error {error(smooth, Xt, yt):.2f} %")


def ten_million() -> None:
    n, d, m, steps = 10_000_000, 28, 10_000, 20
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d), dtype=np.float32)
    y = np.sin(X[:, 0]) + X[:, 1] * X[:, 2] + 0.1 * rng.standard_normal(n, dtype=np.float32)
    a = torch.randn(8192, 8192, device="cuda", dtype=torch.float16)
    _, product, _ = seconds(lambda: a @ a)
    ceiling = 2 * 8192**3 / product
    options: dict[str, Any] = {"solver": "nystrom", "n_centers": m, "max_iter": steps}
    model = KernelRidge(Gaussian(5.0), alpha=10.0, tol=1e-12, random_state=0, **options)
    for streamed in (True, False):
        # A limit that the rows do not fit makes them pass over the device in chunks.
        with mercer.config(device="cuda", memory="20GB" if streamed else "120GB"):
            torch.cuda.synchronize()
            start = time.perf_counter()
            model.fit(X, y)
            took = time.perf_counter() - start
        # Two products with K an iteration, three half-precision products of 32 columns an entry.
        flops = 2.0 * n * m * (2 * 32 * 3) * (model.n_iter_ + 0.5)
        where = "rows streamed from the host" if streamed else "rows kept on the device"
        with mercer.config(device="cuda"):
            r2 = model.score(X[:100_000], y[:100_000])
        REPORT.row(
            f"ridge, 10⁷ × 28, {m} centers, {model.n_iter_} iterations, {where}", took, "s", None,
            f"{100 * flops / took / ceiling:.0f} % of the ceiling of the tensor cores, R² {r2:.4f}",
        )  # fmt: skip


def many_centers() -> None:
    """10.5 million rows of 28, as many as HIGGS has, with 20 000 to 100 000 centers."""
    n, d, steps = 10_500_000, 28, 20
    X, y = _waves(n, d, 0)
    Xt, yt = _waves(200_000, d, 1)
    for m in (20_000, 50_000, 100_000):
        options: dict[str, Any] = {"solver": "nystrom", "n_centers": m, "max_iter": steps}
        model = KernelRidge(Gaussian(5.0), alpha=10.0, tol=1e-12, random_state=0, **options)
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
        with mercer.config(memory="80GB"):
            torch.cuda.synchronize()
            start = time.perf_counter()
            model.fit(X, y)
            torch.cuda.synchronize()
            took = time.perf_counter() - start
        peak = torch.cuda.max_memory_allocated() / 1e9
        REPORT.row(
            f"ridge, 1.05·10⁷ × 28, {m} centers, {model.n_iter_} iterations",
            took, "s", 60.0 if m == 100_000 else None,
            f"{peak:.0f} GB at most (≤ 80), R² {model.score(Xt, yt):.4f} on other rows",
        )  # fmt: skip
        del model
    # Packed factors in single precision beside double precision throughout.
    few = 1_000_000
    for rows, limit in ((X[:few], "8GB"), (X[:few].double(), "100GB")):
        options = {"solver": "nystrom", "n_centers": 20_000, "max_iter": 50}
        model = KernelRidge(Gaussian(5.0), alpha=1.0, tol=1e-6, random_state=0, **options)
        with mercer.config(memory=limit):
            model.fit(rows, y[:few])
        score = model.score(Xt.to(rows.dtype), yt)
        print(
            f"  10⁶ rows, 20 000 centers, {rows.dtype} within {limit}: R² {score:.6f}, "
            f"{model.n_iter_} iterations",
            flush=True,
        )


def _waves(n: int, d: int, seed: int) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator("cuda").manual_seed(seed)
    X = torch.randn(n, d, device="cuda", generator=generator)
    noise = torch.randn(n, device="cuda", generator=generator)
    return X, torch.sin(X[:, 0]) + X[:, 1] * X[:, 2] + 0.1 * noise


if __name__ == "__main__":
    run_claims(REPORT, perceptron, exact_ridge, centers, logistic, local, ten_million, many_centers)
