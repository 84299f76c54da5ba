"""ΦᵀWΦ and ΦᵀWt from panels of rows of Φ: N×M is never in memory, M×M is, in double precision.

Φ is a matrix that comes in panels: columns of K (Nyström) or explicit features (primal). Panels
are made in the precision of the data; the sums are in double: in single precision ΦᵀΦ + λ… with a
small λ is not positive definite any more.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from mercer._config import get_config
from mercer._examples import take
from mercer._tiles import Scratch, Tiling, sweep
from mercer.gram.base import Gram
from mercer.kernels import Kernel
from mercer.solvers.linear import blas
from mercer.solvers.linear.blas import add_squares, mirror

#: Rows of a panel at most, and the memory that a thread's panels may take.
ROWS, SCRATCH = 1024, 100_000_000
#: Elements of Φ below which starting threads costs more than it saves.
WORTH_THREADS = 500_000


class Panels(Protocol):
    """Rows of Φ on demand."""

    shape: tuple[int, int]
    dtype: np.dtype

    def panel(self, rows: slice, scratch: Scratch) -> np.ndarray: ...


class GramPanels:
    """Columns of K, computed anew each time, or kept if there is room: `keep()`."""

    def __init__(self, gram: Gram) -> None:
        self.gram, self.shape, self.dtype = gram, gram.shape, gram.dtype
        self.kept: np.ndarray | None = None
        gram.prepare_tiles()

    def panel(self, rows: slice, scratch: Scratch) -> np.ndarray:
        if self.kept is not None:
            return self.kept[rows]
        shape = (rows.stop - rows.start, self.shape[1])
        out = scratch.get("panel", shape, self.dtype)
        # Each thread has its own room; the engine itself is shared and never changes.
        self.gram.tile(rows, slice(0, shape[1]), out, scratch)
        return out

    def keep(self, share: float = 0.5) -> bool:
        """Hold all of it, if that takes no more than a share of the memory limit."""
        need = self.shape[0] * self.shape[1] * self.dtype.itemsize
        if self.kept is None and need <= share * get_config().memory_bytes:
            self.kept = self.gram.dense()
        return self.kept is not None


class FeaturePanels:
    """φ(x) for a kernel that has a finite φ."""

    def __init__(self, kernel: Kernel, X: Any, n: int) -> None:
        self.kernel, self.X = kernel, X
        first = kernel.features(take(X, slice(0, 1)))
        self.shape, self.dtype = (n, first.shape[1]), first.dtype

    def panel(self, rows: slice, scratch: Scratch) -> np.ndarray:
        return self.kernel.features(take(self.X, rows))


@dataclass(frozen=True)
class Normal:
    """`H` = ΦᵀWΦ (M, M), `R` = ΦᵀWt (M, T), `sums` = ΦᵀW1 (M,), Σwt (T,), Σw."""

    H: np.ndarray
    R: np.ndarray
    sums: np.ndarray
    target_sums: np.ndarray
    weight: float

    def centred(self) -> tuple[np.ndarray, np.ndarray]:
        """H and R of features and targets with their weighted means taken off, in place."""
        H, R = self.H, self.R
        H -= np.outer(self.sums, self.sums / self.weight)
        R -= np.outer(self.sums, self.target_sums / self.weight)
        return H, R

    def intercept(self, coef: np.ndarray) -> np.ndarray:
        return (self.target_sums - self.sums @ coef) / self.weight


def tiling(panels: Panels, copies: int = 1) -> Tiling:
    """Row panels that stay within the scratch memory; `copies` counts panels in double."""
    n, m = panels.shape
    settings = get_config()
    per_row = m * (panels.dtype.itemsize + 8 * copies)
    room = min(SCRATCH, settings.memory_bytes // (4 * settings.n_threads))
    threads = settings.n_threads if n * m >= WORTH_THREADS else 1
    height = max(16, min(ROWS, int(room // per_row), -(-n // threads)))
    return Tiling((n, m), (height, m), threads, fixed=True)


def normal_equations(
    panels: Panels, targets: np.ndarray, weights: np.ndarray | None = None
) -> Normal:
    """One pass over the panels, a thread a panel; the sums of the threads are added at the end."""
    n, m = panels.shape
    plan = tiling(panels)
    threads = min(plan.threads, len(plan.panels()))
    if threads * 8 * m * m > get_config().memory_bytes // 2:
        threads = 1
    plan = Tiling(plan.shape, plan.tile, threads, fixed=True)
    scale = None if weights is None else np.sqrt(weights)
    right = np.column_stack([targets, np.ones(n)])
    H = [np.zeros((m, m)) for _ in range(threads)]
    R = [np.zeros((m, right.shape[1])) for _ in range(threads)]

    def body(rows: slice, columns: slice, scratch: Scratch) -> None:
        panel = panels.panel(rows, scratch)
        wide = scratch.get("wide", panel.shape, np.dtype(np.float64))
        t = right[rows]
        if scale is None:
            wide[...] = panel
        else:
            np.multiply(panel, scale[rows, None], out=wide)
            t = scale[rows, None] * t
        add_squares(wide, H[scratch.thread])
        R[scratch.thread] += wide.T @ t

    sweep(plan, body, "normal equations")
    for other in range(1, threads):
        H[0] += H[other]
        R[0] += R[other]
    w = np.ones(n) if weights is None else weights
    return Normal(mirror(H[0]), R[0][:, :-1], R[0][:, -1].copy(), w @ targets, float(w.sum()))


def times(panels: Panels, B: np.ndarray, what: str = "features times matrix") -> np.ndarray:
    """Φ B, in double precision."""
    whole = getattr(panels, "kept", None)
    if whole is not None:
        return blas.times(whole, B)
    result = np.empty((panels.shape[0], B.shape[1]))

    def body(rows: slice, columns: slice, scratch: Scratch) -> None:
        panel = panels.panel(rows, scratch)
        result[rows] = panel @ B.astype(panel.dtype, copy=False)

    sweep(tiling(panels, 0), body, what)
    return result


def transposed_times(panels: Panels, V: np.ndarray, what: str = "features") -> np.ndarray:
    """Φᵀ V; partial sums of the threads are added in double precision."""
    whole = getattr(panels, "kept", None)
    if whole is not None:
        return blas.transposed_times(whole, V)
    plan = tiling(panels, 0)
    parts = [np.zeros((panels.shape[1], V.shape[1])) for _ in range(plan.threads)]

    def body(rows: slice, columns: slice, scratch: Scratch) -> None:
        panel = panels.panel(rows, scratch)
        parts[scratch.thread] += panel.T @ V[rows].astype(panel.dtype, copy=False)

    sweep(plan, body, what)
    return sum(parts[1:], parts[0])
