"""The learners on tables on a GPU: seconds to fit and to predict, beside PyTorch and the CPU.

    PYTHONPATH=src python bench/gpu_tables.py [--rows 50000 300000 1000000] [--columns 20 54]
        [--learners svc svr ridge …] [--cpu] [--seconds 300]

Standard normal columns; y = sin x₁ + x₂x₃/2 with noise 0.2, its sign, or its quintiles. Rows and
targets are CUDA tensors in float32. Each line has the time of the first fit, which compiles, of the
next one, and of the first and the next predictions of 20 000 new rows, and the score. Peers are
what a user of PyTorch writes in ten lines: conjugate gradients for ridge, the nearest of `cdist`,
weights by blocks of K. `--cpu` adds the same learner on NumPy arrays. No line begins after
`--seconds`; the largest memory that PyTorch took is in each line.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

import mercer
from mercer.kernels import Gaussian

NEW, BLOCK = 20_000, 1 << 28


def table(n: int, d: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Rows, and a target that takes some of their columns together."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d), dtype=np.float32)
    y = np.sin(X[:, 0]) + 0.5 * X[:, 1] * X[:, 2]
    return X, y + 0.2 * rng.standard_normal(n, dtype=np.float32)


def learners(d: int) -> dict[str, tuple[Callable[[], Any], int]]:
    """A maker of each learner, and the number of classes of its target, 0 for numbers."""
    k = Gaussian(math.sqrt(2 * d))
    few: dict[str, Any] = {"random_state": 0}
    return {
        "svc": (lambda: mercer.KernelSVC(k), 2),
        "svr": (lambda: mercer.KernelSVR(k), 0),
        "ridge": (lambda: mercer.KernelRidge(k, alpha=1.0, **few), 0),
        "logistic": (lambda: mercer.KernelLogisticRegression(k, solver="nystrom", **few), 5),
        "perceptron": (lambda: mercer.KernelPerceptron(k, epochs=1, **few), 2),
        "neighbors": (lambda: mercer.KernelNeighborsRegressor(k, 10), 0),
        "smoother": (lambda: mercer.NadarayaWatsonRegressor(bandwidth=0.5), 0),
        "smoother, near": (lambda: mercer.NadarayaWatsonRegressor(bandwidth=3.0), 0),
        "process": (lambda: mercer.GaussianProcessRegressor(k, **few), 0),
        "rfm": (lambda: mercer.RFMRegressor(), 0),
    }


def timed(run: Callable[[], Any]) -> tuple[float, Any]:
    torch.cuda.synchronize()
    start = time.perf_counter()
    found = run()
    torch.cuda.synchronize()
    return time.perf_counter() - start, found


def in_blocks(X: torch.Tensor, Z: torch.Tensor, body: Callable[[Any, Any], Any]) -> torch.Tensor:
    return torch.cat([body(x, Z) for x in X.split(max(1, BLOCK // len(Z)))])


def exponents(X: torch.Tensor, Z: torch.Tensor, s: float) -> torch.Tensor:
    return -(torch.cdist(X, Z) ** 2) / (2 * s * s)


def ridge_by_hand(X: torch.Tensor, y: torch.Tensor, s: float, steps: int = 50) -> torch.Tensor:
    """Conjugate gradients on K + I."""

    def times(v: torch.Tensor) -> torch.Tensor:
        return v + in_blocks(
            X, X, lambda a, b: torch.exp(-(torch.cdist(a, b) ** 2) / (2 * s * s)) @ v
        )

    a, r = torch.zeros_like(y), y.clone()
    p, rr = r, r @ r
    for _ in range(steps):
        q = times(p)
        t = rr / (p @ q)
        a, r = a + t * p, r - t * q
        rr, old = r @ r, rr
        if rr < 1e-6 * (y @ y):
            break
        p = r + rr / old * p
    return a


def neighbors_by_hand(Z: torch.Tensor, y: torch.Tensor, X: torch.Tensor) -> torch.Tensor:
    return in_blocks(X, Z, lambda a, b: y[torch.cdist(a, b).topk(10, largest=False)[1]].mean(1))


def smoother_by_hand(Z: torch.Tensor, y: torch.Tensor, X: torch.Tensor, h: float) -> torch.Tensor:
    return in_blocks(
        X, Z, lambda a, b: torch.softmax(-(torch.cdist(a, b) ** 2) / (2 * h * h), 1) @ y
    )


def peer(name: str, X: torch.Tensor, y: torch.Tensor, new: torch.Tensor) -> str:
    """The time of what a user writes, where it is ten lines."""
    s = math.sqrt(2 * X.shape[1])
    runs: dict[str, Callable[[], Any]] = {
        "ridge": lambda: ridge_by_hand(X, y, s),
        "neighbors": lambda: neighbors_by_hand(X, y, new),
        "smoother": lambda: smoother_by_hand(X, y, new, 0.5),
        "smoother, near": lambda: smoother_by_hand(X, y, new, 3.0),
    }
    return f", PyTorch {timed(runs[name])[0]:.3f}" if name in runs else ""


def line(name: str, n: int, d: int, cpu: bool) -> str:
    """The times of one learner on rows of one shape."""
    make, classes = learners(d)[name]
    (X, y), (new, truth) = table(n, d), table(NEW, d, 1)
    if classes:
        edges = np.quantile(y, np.arange(1, classes) / classes)
        y, truth = (np.searchsorted(edges, t) for t in (y, truth))
    there = [torch.as_tensor(a, device="cuda") for a in (X, y, new, truth)]
    torch.cuda.reset_peak_memory_stats()
    first, model = timed(lambda: make().fit(*there[:2]))
    fit, model = timed(lambda: make().fit(*there[:2])) if first < 20 else (first, model)
    cold, _ = timed(lambda: model.predict(there[2]))
    warm, _ = timed(lambda: model.predict(there[2]))
    peak = torch.cuda.max_memory_allocated() / 2**30
    words = f"fit {fit:.3f} s (first {first:.3f}), predict {warm:.3f} (first {cold:.3f})"
    words += f", score {float(model.score(*there[2:])):.4f}, {peak:.1f} GiB"
    words += peer(name, *there[:3])
    if cpu:
        start = time.perf_counter()
        here = make().fit(X, y)
        took = time.perf_counter() - start
        words += f", CPU fit {took:.2f}, score {here.score(new, truth):.4f}"
    return words


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, nargs="+", default=[50_000, 300_000, 1_000_000])
    parser.add_argument("--columns", type=int, nargs="+", default=[20, 54])
    parser.add_argument("--learners", nargs="+", default=list(learners(1)))
    parser.add_argument("--cpu", action="store_true")
    parser.add_argument("--seconds", type=float, default=math.inf)
    asked = parser.parse_args()
    start = time.perf_counter()
    for n in asked.rows:
        for d in asked.columns:
            for name in asked.learners:
                if time.perf_counter() - start > asked.seconds:
                    return
                try:
                    words = line(name, n, d, asked.cpu)
                except (MemoryError, RuntimeError, TypeError, ValueError) as error:
                    words = f"{type(error).__name__}: {str(error)[:200]}"
                print(f"{name:14s} {n:7d} × {d:2d}: {words}", flush=True)
                torch.cuda.empty_cache()


if __name__ == "__main__":
    main()
