"""Φ, N×M, in panels of rows: columns of K at some centers, or explicit features.

Φ itself need never be in memory; its products and the sums ΦᵀWΦ, M×M, are, in double precision: in
single precision ΦᵀΦ + λ… with a small λ is not positive definite any more. What is done with them
is written once, over the array namespace `xp`. How panels are made and added up is the business of
the place where the data is: threads on the host (here), streams and large blocks on a GPU.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from mercer._arrays import numpy_namespace
from mercer._config import get_config
from mercer._examples import take
from mercer._lazy import record
from mercer._tiles import Scratch, Tiling, sweep
from mercer.gram import Gram
from mercer.kernels import Kernel
from mercer.solvers.linear import blas
from mercer.solvers.linear.matrix import upper_triangle
from mercer.tuning import PRODUCT_ROWS, SCRATCH_BYTES, THREADED_ELEMENTS


@record
class Normal:
    """`H` = ΦᵀWΦ (M, M), `R` = ΦᵀWt (M, T), `sums` = ΦᵀW1 (M,), Σwt (T,), Σw."""

    H: Any
    R: Any
    sums: Any
    target_sums: Any
    weight: float

    def centered(self) -> tuple[Any, Any]:
        """Subtract the weighted means of features and targets from H and R, in place."""
        H, R = self.H, self.R
        if H is not None:
            H -= self.sums[:, None] * (self.sums / self.weight)
        R -= self.sums[:, None] * (self.target_sums / self.weight)
        return H, R

    def intercept(self, coef: Any) -> Any:
        return (self.target_sums - self.sums @ coef) / self.weight


class Panels(ABC):
    """Rows of Φ where the data is; every result is in double precision, and there, too."""

    shape: tuple[int, int]
    dtype: np.dtype
    #: Multiplications that a preconditioner made of some columns may cost at every step.
    affordable: ClassVar[float] = 7e9

    @property
    def xp(self) -> Any:
        return numpy_namespace()

    def asarray(self, values: Any) -> Any:
        return np.asarray(values)

    def zeros(self, *shape: int) -> Any:
        return np.zeros(shape)

    def keep(self, share: float = 0.5, triangle: bool = False) -> bool:
        """Hold all of Φ, if that takes no more than a share of the memory limit.

        With `triangle` only products with a symmetric K follow, for which half of it is enough.
        """
        return False

    @abstractmethod
    def each(self, body: Callable[[slice, Any], None], what: str, copies: int = 1) -> None:
        """body(rows, panel) for all rows, in double precision; `copies` of a panel are made."""

    @abstractmethod
    def normal(
        self, targets: np.ndarray, weights: np.ndarray | None, matrix: bool = True
    ) -> Normal:
        """All sums in one pass; without `matrix`, all but H."""

    @abstractmethod
    def product(self, B: Any) -> Any:
        """Φ B."""

    @abstractmethod
    def transposed_product(self, V: Any) -> Any:
        """Φᵀ V."""

    def normal_product(self, B: Any, weights: Any = None) -> Any:
        """Φᵀ W Φ B."""
        image = self.product(B)
        return self.transposed_product(image if weights is None else weights[:, None] * image)

    def images_and_squares(self, B: Any, basis: Any, mean: Any, shares: Any) -> tuple[Any, Any]:
        """ΦB, and Σⱼ ψⱼ(xᵢ)² sⱼ for every column s of `shares`, ψ = φ·basis less `mean`."""
        n = self.shape[0]
        images, squares = self.zeros(n, B.shape[1]), self.zeros(n, shares.shape[1])

        def body(rows: slice, panel: Any) -> None:
            images[rows] = panel @ B
            psi = panel @ basis
            if mean is not None:
                psi -= mean
            psi *= psi
            squares[rows] = psi @ shares

        self.each(body, "leave-one-out", copies=2)
        return images, squares

    def take(self, rows: np.ndarray) -> Panels:
        """Some rows of Φ."""
        raise NotImplementedError


class HostPanels(Panels):
    """Panels that threads make and multiply, each by itself."""

    kept: np.ndarray | None = None

    @abstractmethod
    def panel(self, rows: slice, scratch: Scratch) -> np.ndarray:
        """Some rows of Φ, in a buffer of the calling thread."""

    def prepare(self) -> None:
        """Compile what `panel` needs, before several threads ask for it."""

    def _sweep(self, plan: Tiling, body: Callable[[slice, Scratch], None], what: str) -> None:
        self.prepare()
        sweep(plan, lambda rows, _, scratch: body(rows, scratch), what)

    def tiling(self, copies: int = 1) -> Tiling:
        """Row panels that stay within the scratch memory; `copies` counts panels in double."""
        n, m = self.shape
        settings = get_config()
        per_row = m * (self.dtype.itemsize + 8 * copies)
        limit = min(SCRATCH_BYTES, settings.memory_bytes // (4 * settings.n_threads))
        threads = settings.n_threads if n * m >= THREADED_ELEMENTS else 1
        height = max(16, min(PRODUCT_ROWS, int(limit // per_row), -(-n // threads)))
        return Tiling((n, m), (height, m), threads, fixed=True)

    def each(self, body: Callable[[slice, Any], None], what: str, copies: int = 1) -> None:
        def widened(rows: slice, scratch: Scratch) -> None:
            body(rows, self.panel(rows, scratch).astype(np.float64, copy=False))

        self._sweep(self.tiling(copies), widened, what)

    def normal(
        self, targets: np.ndarray, weights: np.ndarray | None, matrix: bool = True
    ) -> Normal:
        """Each thread sums over panels of its own; its sums are added to the others at the end."""
        (n, m), plan = self.shape, self.tiling()
        w = np.ones(n) if weights is None else weights
        right = np.column_stack([targets, np.ones(n)])
        target_sums, total = w @ targets, float(w.sum())
        if not matrix:
            R = self.transposed_product(w[:, None] * right)
            return Normal(None, R[:, :-1], R[:, -1].copy(), target_sums, total)
        threads = min(plan.threads, -(-n // plan.tile[0]))
        if threads * 8 * m * m > get_config().memory_bytes // 2:
            threads = 1
        scale = None if weights is None else np.sqrt(weights)
        Hs, Rs = np.zeros((threads, m, m)), np.zeros((threads, m, right.shape[1]))

        def body(rows: slice, scratch: Scratch) -> None:
            panel, t = self.panel(rows, scratch), right[rows]
            wide = scratch.get("wide", panel.shape, np.dtype(np.float64))
            if scale is None:
                wide[...] = panel
            else:
                np.multiply(panel, scale[rows, None], out=wide)
                t = scale[rows, None] * t
            blas.add_squares(wide, Hs[scratch.thread])
            Rs[scratch.thread] += wide.T @ t

        self._sweep(Tiling(plan.shape, plan.tile, threads, fixed=True), body, "normal equations")
        for other in range(1, threads):
            Hs[0] += Hs[other]
        R = Rs.sum(axis=0)
        return Normal(blas.mirror(Hs[0]), R[:, :-1], R[:, -1].copy(), target_sums, total)

    def product(self, B: np.ndarray) -> np.ndarray:
        result = np.empty((self.shape[0], B.shape[1]))

        def body(rows: slice, scratch: Scratch) -> None:
            panel = self.panel(rows, scratch)
            result[rows] = panel @ B.astype(panel.dtype, copy=False)

        self._sweep(self.tiling(0), body, "product")
        return result

    def transposed_product(self, V: np.ndarray) -> np.ndarray:
        plan = self.tiling(0)
        parts = np.zeros((plan.threads, self.shape[1], V.shape[1]))

        def body(rows: slice, scratch: Scratch) -> None:
            panel = self.panel(rows, scratch)
            parts[scratch.thread] += panel.T @ V[rows].astype(panel.dtype, copy=False)

        self._sweep(plan, body, "product")
        return parts.sum(axis=0)


class GramPanels(HostPanels):
    """K or columns of it, computed at every use, or held in memory after `keep()`."""

    def __init__(self, gram: Gram, kept: np.ndarray | None = None) -> None:
        self.gram, self.shape, self.dtype, self.kept = gram, gram.shape, gram.dtype, kept

    def prepare(self) -> None:
        if self.kept is None:
            self.gram.prepare_tiles()

    def panel(self, rows: slice, scratch: Scratch) -> np.ndarray:
        if self.kept is not None:
            return self.kept[rows]
        shape = (rows.stop - rows.start, self.shape[1])
        out = scratch.get("panel", shape, self.dtype)
        return self.gram.tile(rows, slice(0, shape[1]), out, scratch)  # type: ignore[no-any-return]

    def keep(self, share: float = 0.5, triangle: bool = False) -> bool:
        need = self.shape[0] * self.shape[1] * self.dtype.itemsize
        if self.kept is None and need <= share * self.gram.limit_bytes:
            half = triangle and self.gram.square and self.gram.symmetric
            self.kept = (
                blas.mirror_beside_diagonal(upper_triangle(self.gram))
                if half
                else self.gram.dense()
            )
        return self.kept is not None

    def product(self, B: np.ndarray) -> np.ndarray:
        if self.kept is None:
            return (self.gram @ B).astype(np.float64)  # type: ignore[no-any-return]
        if self.gram.square and self.gram.symmetric:
            return blas.symmetric_times(self.kept, B)
        return super().product(B)

    def take(self, rows: np.ndarray) -> GramPanels:
        kept = None if self.kept is None else self.kept[rows]
        return GramPanels(self.gram.take(rows=rows), kept)


class FeaturePanels(HostPanels):
    """φ(x) for a kernel that has a finite φ."""

    def __init__(self, kernel: Kernel, X: Any, n: int) -> None:
        self.kernel, self.X = kernel, X
        first = kernel.features(take(X, slice(0, 1)))
        self.shape, self.dtype = (n, first.shape[1]), first.dtype

    def panel(self, rows: slice, scratch: Scratch) -> np.ndarray:
        return self.kernel.features(take(self.X, rows))


def panels_of(gram: Gram) -> Panels:
    """K, all of it or some columns, as panels of the place where its data is."""
    return gram.solver("centers", GramPanels)(gram)  # type: ignore[no-any-return]
