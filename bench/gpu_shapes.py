"""K @ V of shapes drawn at random on a GPU, beside plain PyTorch, `torch.compile` and KeOps.

    PYTHONPATH=src python bench/gpu_shapes.py [--seed 1] [--problems 60] [--compiled 6] [--profile]
        [--seconds 100]
    PYTHONPATH=src python bench/gpu_shapes.py --figures

Draws kernels, columns (1 to 784), rows (5000 to 300 000), vectors (1 to 64), offsets, scales, near
duplicates, and the type of the numbers. Each problem prints the time of ``k.gram(X, Z) @ V``, all
preparation included, the share of preparing, that of the peer, and the largest error of a sample of
rows, relative to Σ|k||v| in double precision. The peer writes what a user of PyTorch would: blocks
of K in float32, multiplied by V. `--compiled` compiles the peer on that many problems; KeOps runs
where it is installed. `--profile` prints the kernels that take the most time, problem by problem.
After `--seconds` no problem begins. `--figures` times a Laplacian beside a Gaussian of the same
shape, square and oblong.
"""

from __future__ import annotations

import argparse
import importlib.util
import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from mercer.kernels import (
    Gaussian,
    Kernel,
    Laplacian,
    Matern,
    Polynomial,
    PowerExponential,
    RationalQuadratic,
)

COLUMNS = (1, 2, 3, 5, 8, 13, 16, 20, 30, 48, 54, 64, 100, 200, 784)
ROWS = (5_000, 10_000, 20_000, 50_000, 100_000, 300_000)
VECTORS = (1, 1, 1, 3, 10, 64)
#: Multiplications of a problem at most, so that a peer ends in seconds.
MOST_WORK = 4e12
#: Rows whose products are computed again in double precision, and entries of K at a time.
SAMPLE, BLOCK = 512, 1 << 28
Plain = Callable[[Any, Any], Any]


def squared(x: Any, z: Any) -> Any:
    norms = (x * x).sum(1)[:, None] + (z * z).sum(1)[None]
    return (norms - 2 * x @ z.T).clamp_min(0)


def matern(order: float, root: Any) -> Any:
    r = math.sqrt(2 * order) * root
    return (1 + r + (r * r / 3 if order == 2.5 else 0)) * torch.exp(-r)


def kernels(s: float) -> dict[str, tuple[Kernel, Plain]]:
    """Kernels of one width, each with what a user of PyTorch writes."""
    root = torch.cdist
    return {
        "gaussian": (Gaussian(s), lambda x, z: torch.exp(-squared(x, z) / (2 * s * s))),
        "laplacian": (Laplacian(1 / s), lambda x, z: torch.exp(-root(x, z) / s)),
        "laplacian of norm 1": (
            Laplacian(1 / s, norm=1),
            lambda x, z: torch.exp(-root(x, z, p=1) / s),
        ),
        "power 0.8": (
            PowerExponential(s, 0.8),
            lambda x, z: torch.exp(-((root(x, z) / s) ** 0.8)),
        ),
        "rational quadratic": (
            RationalQuadratic(1.5, length=s),
            lambda x, z: (1 + squared(x, z) / (3 * s * s)) ** -1.5,
        ),
        "matern 5/2": (Matern(2.5, s), lambda x, z: matern(2.5, root(x, z) / s)),
        "cubic": (Polynomial(3, offset=1), lambda x, z: (x @ z.T + 1) ** 3),
        "mixture": (
            0.5 * Gaussian(s) + 0.2 * Polynomial(2, offset=1) * Gaussian(2 * s) + Matern(1.5, s),
            lambda x, z: (
                0.5 * torch.exp(-squared(x, z) / (2 * s * s))
                + 0.2 * (x @ z.T + 1) ** 2 * torch.exp(-squared(x, z) / (8 * s * s))
                + matern(1.5, root(x, z) / s)
            ),
        ),
    }


@dataclass
class Problem:
    name: str
    kernel: Kernel
    plain: Plain
    X: torch.Tensor
    Z: torch.Tensor
    V: torch.Tensor


def drawn(rng: np.random.Generator, seed: int) -> Problem:
    """One problem: everything about it is drawn."""
    torch.manual_seed(seed)
    columns, vectors = int(rng.choice(COLUMNS)), int(rng.choice(VECTORS))
    name = str(rng.choice(list(kernels(1.0))))
    if name == "laplacian of norm 1":
        columns = min(columns, 64)
    n, m = int(rng.choice(ROWS)), int(rng.choice(ROWS))
    while n * m * max(columns, 16) > MOST_WORK:
        n, m = (n // 2, m) if n > m else (n, m // 2)
    kind = str(rng.choice(["float32", "float32", "float32", "float16", "uint8"]))
    scale, offset = float(rng.choice([0.1, 1.0, 10.0])), float(rng.choice([0.0, 0.0, 5.0]))
    if kind == "uint8":
        X = torch.randint(0, 256, (n + m, columns), device="cuda", dtype=torch.uint8)
    else:
        X = (torch.randn(n + m, columns, device="cuda") * scale + offset).to(getattr(torch, kind))
    X, Z = X[:n].contiguous(), X[n:].contiguous()
    twins = float(rng.choice([0.0, 0.0, 0.1, 1.0]))
    some = torch.arange(int(twins * min(n, m)), device="cuda")
    if len(some) and kind == "float32":
        Z[some] = X[some] + 0.01 * scale * torch.randn(len(some), columns, device="cuda")
    spread = float(X[:5000].double().std(0).mean())
    s = spread * math.sqrt(2 * columns) * float(rng.choice([0.2, 0.5, 1.0, 2.0]))
    if name in ("cubic", "mixture"):
        X, Z = ((side.float() / (spread * math.sqrt(columns))) for side in (X, Z))
        s = s / (spread * math.sqrt(columns))
        kind = "float32"
    kernel, plain = kernels(s)[name]
    V = torch.randn(m, vectors, device="cuda")
    title = f"{name:19s} {n:6d} × {m:6d} × {columns:3d}, {vectors:2d} vectors, {kind:7s}"
    return Problem(title, kernel, plain, X, Z, V)


def seconds(run: Callable[..., Any], *given: Any, repeats: int = 5) -> tuple[float, Any]:
    """The median after a call that compiles, and the result."""
    times, result = [], run(*given)
    for _ in range(repeats):
        torch.cuda.synchronize()
        start = time.perf_counter()
        result = run(*given)
        torch.cuda.synchronize()
        times.append(time.perf_counter() - start)
    return sorted(times)[repeats // 2], result


def fresh(kernel: Kernel, X: torch.Tensor, Z: torch.Tensor | None, V: torch.Tensor) -> Any:
    """K V with all preparation."""
    return kernel.gram(X, Z) @ V


def in_blocks(plain: Plain, p: Problem) -> torch.Tensor:
    """What a user of PyTorch writes: a block of K at a time."""
    X, Z = p.X.float(), p.Z.float()
    rows = max(1, BLOCK // len(Z))
    return torch.cat([plain(x, Z) @ p.V for x in X.split(rows)])


def by_keops(p: Problem) -> Any:
    """The Gaussian and the Laplacian as KeOps has them; None for other kernels."""
    from pykeops.torch import LazyTensor

    x = LazyTensor(p.X.float()[:, None, :].contiguous())
    z = LazyTensor(p.Z.float()[None, :, :].contiguous())
    squares = ((x - z) ** 2).sum(-1)
    if isinstance(p.kernel, Gaussian):
        return (-squares / (2 * float(p.kernel.sigma) ** 2)).exp() @ p.V
    return (-squares.sqrt() * float(p.kernel.rate)).exp() @ p.V  # type: ignore[attr-defined]


def error_of(p: Problem, result: torch.Tensor) -> float:
    """The largest error of some rows, relative to Σ|k||v|."""
    rows = torch.randperm(len(p.X), device="cuda")[:SAMPLE]
    worst = 0.0
    for part in rows.split(max(1, (1 << 26) // len(p.Z))):
        K = p.plain(p.X[part].double(), p.Z.double())
        gap = (result[part].double() - K @ p.V.double()).abs()
        worst = max(worst, float((gap / (K.abs() @ p.V.double().abs())).max()))
    return worst


def profile(p: Problem) -> None:
    from torch.profiler import ProfilerActivity
    from torch.profiler import profile as record

    with record(activities=[ProfilerActivity.CUDA]) as found:
        p.kernel.gram(p.X, p.Z) @ p.V
        torch.cuda.synchronize()
    rows = sorted(found.key_averages(), key=lambda e: -e.device_time_total)[:9]
    for e in rows:
        print(f"      {e.device_time_total / 1e3:8.3f} ms {e.count:4d} × {e.key[:90]}")


def figures() -> None:
    """A Laplacian beside a Gaussian of the same shape."""
    for n, columns in ((20_000, 100), (20_000, 784), (60_000, 100), (60_000, 784)):
        X = torch.randn(n, columns, device="cuda")
        Z, v = X[torch.randperm(n, device="cuda")], torch.randn(n, device="cuda")
        Z = Z + 0.01 * torch.randn_like(Z)
        words = f"{n:6d}² × {columns:3d}, ms:"
        for kernel in (Gaussian(math.sqrt(2 * columns)), Laplacian(1 / math.sqrt(2 * columns))):
            took = [seconds(fresh, kernel, X, z, v)[0] for z in (None, Z)]
            took.append(seconds(kernel.gram(X, Z).__matmul__, v)[0])
            words += f"  {type(kernel).__name__} square {1e3 * took[0]:.2f}, oblong "
            words += f"{1e3 * took[1]:.2f}, prepared {1e3 * took[2]:.2f};"
        print(words, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--problems", type=int, default=60)
    parser.add_argument("--compiled", type=int, default=0)
    parser.add_argument("--profile", action="store_true")
    parser.add_argument("--figures", action="store_true")
    parser.add_argument("--seconds", type=float, default=math.inf)
    asked = parser.parse_args()
    if asked.figures:
        figures()
        return
    rng = np.random.default_rng(asked.seed)
    ratios, errors, shares = list[float](), list[float](), list[float]()
    compiled, start = list[float](), time.perf_counter()
    for index in range(asked.problems):
        if time.perf_counter() - start > asked.seconds:
            break
        p = drawn(rng, 1000 * asked.seed + index)
        ours, result = seconds(fresh, p.kernel, p.X, p.Z, p.V)
        product, _ = seconds(p.kernel.gram(p.X, p.Z).__matmul__, p.V)
        theirs, _ = seconds(in_blocks, p.plain, p, repeats=2)
        error = error_of(p, result)
        ratios.append(theirs / ours)
        errors.append(error)
        shares.append(max(0.0, ours - product) / product)
        words = f"{1e3 * ours:8.2f} ms, preparing {shares[-1]:5.0%}, plain {1e3 * theirs:8.1f}"
        if len(compiled) < asked.compiled:
            took, _ = seconds(in_blocks, torch.compile(p.plain), p, repeats=2)
            compiled.append(took / ours)
            words += f", compiled {1e3 * took:8.1f}"
        if importlib.util.find_spec("pykeops") and isinstance(p.kernel, (Gaussian, Laplacian)):
            took, _ = seconds(by_keops, p, repeats=2)
            words += f", KeOps {1e3 * took:8.1f}"
        print(f"{p.name} {words}: {ratios[-1]:6.1f} ×, error {error:.1e}", flush=True)
        if asked.profile:
            profile(p)
        del p, result
        torch.cuda.empty_cache()
    for name, found in (("plain PyTorch", ratios), ("torch.compile", compiled)):
        if found:
            mean = float(np.exp(np.log(found).mean()))
            below = sum(r < 1 for r in found)
            print(f"{name}: {mean:.2f} × in the geometric mean, worst {min(found):.2f}, {below} "
                  f"of {len(found)} below 1")  # fmt: skip
    print(f"preparing: {np.median(shares):.0%} of the product in the median; largest error "
          f"{max(errors):.1e}, above 1e-6 in {sum(e > 1e-6 for e in errors)}")  # fmt: skip


if __name__ == "__main__":
    main()
