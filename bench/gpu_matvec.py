"""Gaussian and composite G @ v on a GPU, beside PyTorch in chunks; run by hand on a CUDA machine.

    PYTHONPATH=src python bench/gpu_matvec.py

Prints the median time after warm-up, the error against float64 on a few rows relative to ‖v‖, and
the share of the ceiling that binds: of the tensor cores (a half-precision matrix product, measured
first) or of the unit for exponentials (2^t in registers, measured first), for the pairs that have
to be computed. "bytes" are numbers on a grid, which one product multiplies exactly. Products that
last for tenths of a second are compared with a ceiling held for as long, since the clock falls
under load. In three columns a Gaussian is a Fourier series, and no pair is computed; "all pairs" is
what runs where a series has too many terms, "narrow" where products would cancel.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
import triton
import triton.language as tl
from _gpu import Report

import mercer
from mercer import Gaussian, Laplacian, Linear, Polynomial
from mercer.engines.cuda.fourier_product import series_of


def median_ms(run: Callable[[], Any], repeats: int = 5) -> float:
    run()
    torch.cuda.synchronize()
    times = []
    for _ in range(repeats):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        run()
        end.record()
        torch.cuda.synchronize()
        times.append(begin.elapsed_time(end))
    return sorted(times)[repeats // 2]


def products_per_second(times: int = 1) -> float:
    a = torch.randn(8192, 8192, device="cuda", dtype=torch.float16)
    out = torch.empty_like(a)

    def run() -> None:
        for _ in range(times):
            torch.matmul(a, a, out=out)

    return times * 2 * 8192**3 / median_ms(run) * 1e3


@triton.jit
def _exponentials(out, steps):  # type: ignore[no-untyped-def]
    t = tl.program_id(0) * 1e-9 - tl.arange(0, 4096) * 1e-3
    for _ in range(steps):
        t = -tl.exp2(t)
    tl.store(out + tl.program_id(0) * 4096 + tl.arange(0, 4096), t)


def exponentials_per_second(times: int = 1) -> float:
    blocks, steps = 4096, 2000 * times
    out = torch.empty(blocks * 4096, device="cuda")
    return blocks * 4096 * steps / median_ms(lambda: _exponentials[(blocks,)](out, steps)) * 1e3


def in_chunks(X: torch.Tensor, Z: torch.Tensor, v: torch.Tensor, sigma: float) -> torch.Tensor:
    """The way without a fused kernel: distances by a product, then exp, then a product."""
    nz = (Z * Z).sum(1)
    out = torch.empty(len(X), device=X.device)
    step = max(1, (1 << 29) // len(Z))
    for start in range(0, len(X), step):
        x = X[start : start + step]
        s = (x * x).sum(1)[:, None] + nz[None, :] - 2 * (x @ Z.T)
        out[start : start + step] = torch.exp(s.clamp_(min=0) * (-0.5 / sigma**2)) @ v
    return out


def error(kernel: Any, X: torch.Tensor, Z: torch.Tensor, v: torch.Tensor, got: Any) -> float:
    with mercer.config(device="cpu"):
        rows = X[:64].double().cpu().numpy()
        exact = kernel.gram(rows, Z.double().cpu().numpy()) @ v.double().cpu().numpy()
    # Relative to the largest entry of K (1) times the length of v: what one entry's error means.
    return float(abs(got[:64].double().cpu().numpy() - exact).max() / float(v.norm()))


def products_of(
    report: Report, kind: str, n: int, d: int, *targets: float | None,
    ceilings: dict[str, tuple[float, float]],
) -> None:  # fmt: skip
    """K @ v of n rows with themselves and with others."""
    X, Z = (torch.rand(n, d, device="cuda") for _ in range(2))
    if kind == "bytes":
        X, Z = ((256 * rows).floor() / 255 for rows in (X, Z))
    precision = "fast" if kind.startswith("fast") else "high"
    v = torch.randn(n, device="cuda")
    sigma = (0.03 if "narrow" in kind else 0.3) * math.sqrt(d / 3)
    peer = float("nan")
    if n <= 100_000:
        torch.backends.cuda.matmul.allow_tf32 = precision == "fast"
        peer = median_ms(partial(in_chunks, X, X, v, sigma), 3)
        torch.backends.cuda.matmul.allow_tf32 = False
    for square, target in zip((True, False), targets, strict=True):
        with mercer.config(precision=precision):
            G: Any = Gaussian(sigma).gram(X) if square else Gaussian(sigma).gram(X, Z)
        run = partial(G.times, v, relative="all pairs" in kind)
        ms = median_ms(run)
        wrong = error(Gaussian(sigma), X, X if square else Z, v, run())
        pairs = 0.5 * n * n if square else float(n * n)
        top, exponentials = ceilings["long" if ms > 100 else "short"]
        products = 2.0 * pairs * d * (1 if kind[:4] in ("fast", "byte") else 3) / top
        share = max(products, pairs / exponentials) / (ms * 1e-3)
        bound = "tensor cores" if products > pairs / exponentials else "exponentials"
        how = f"{share:.0%} of the ceiling of the {bound}"
        if "all pairs" not in kind and (series := series_of(G, 1)):
            how = f"series of {series[0].terms} terms"
        shape = f"{n} rows and themselves" if square else f"{n} × {n} rows"
        beside = "" if math.isnan(peer) else f", PyTorch in chunks {peer / ms:.1f} × as long"
        report.row(
            f"Gaussian K @ v, {shape}, D = {d}, {kind}", ms, "ms", target,
            f"error {wrong:.0e}, {how}{beside}",
        )  # fmt: skip


def main() -> None:
    torch.manual_seed(0)
    ceilings = {
        "short": (products_per_second(), exponentials_per_second()),
        "long": (products_per_second(300), exponentials_per_second(30)),
    }
    for length, (top, exponentials) in ceilings.items():
        print(
            f"{torch.cuda.get_device_name()}, {length} runs: {top / 1e12:.0f} TFLOP/s in half "
            f"precision, {exponentials / 1e12:.2f}·10¹² exponentials per second"
        )
    report = Report("gpu_matvec")
    cases = [
        ("high", 100_000, 3, 5.0, 5.0),
        ("high", 100_000, 16, 6.0, 6.0),
        ("high", 100_000, 64, 14.0, 14.0),
        ("high", 60_000, 784, 32.0, 32.0),
        ("high", 1_000_000, 3, 170.0, 295.0),
        ("high, all pairs", 1_000_000, 3, 170.0, 295.0),
        ("high, all pairs, narrow", 1_000_000, 3, None, None),
        ("high", 1_000_000, 16, None, None),
        ("high", 1_000_000, 64, None, None),
        ("fast", 60_000, 784, 10.5, 10.5),
        ("fast", 100_000, 64, 6.0, 6.0),
        ("fast", 1_000_000, 3, 120.0, 200.0),
        ("fast, all pairs", 1_000_000, 3, None, None),
        ("bytes", 60_000, 784, 10.5, 10.5),
    ]
    for case in cases:
        products_of(report, *case, ceilings=ceilings)
    n, d = 100_000, 64
    X, v = torch.rand(n, d, device="cuda"), torch.randn(n, device="cuda")
    sigma = 0.3 * math.sqrt(d / 3)
    G = Gaussian(sigma).gram(X)
    plain = median_ms(lambda: G @ v)
    four = 0.5 * Gaussian(sigma) * Polynomial(2, 1.0) + Gaussian(2 * sigma) + 0.1 * Linear()
    C = four.gram(X)
    both = median_ms(lambda: C @ v)
    report.row("four kernels in one expression, beside the Gaussian alone", both / plain, "×", 1.6)
    V = torch.randn(n, 10, device="cuda")
    print(f"ten columns: {median_ms(lambda: G @ V):.2f} ms")
    L = Laplacian(0.1, norm=1).gram(X)
    print(f"Laplacian norm 1: {median_ms(lambda: L @ v):.2f} ms")
    begin = time.perf_counter()
    _ = Gaussian(1.0).gram(torch.rand(1000, 7, device="cuda")) @ torch.ones(1000, device="cuda")
    torch.cuda.synchronize()
    print(f"first call of a new shape of kernel: {time.perf_counter() - begin:.2f} s")
    report.keep()


if __name__ == "__main__":
    main()
