"""The scores of all pairs of many classes, each from the support vectors of its two classes alone.

One column of coefficients per pair would be zero but for two classes: 300 classes of 3 examples
would need 900 × 44 850 numbers. LIBSVM's `dual_coef_` has the same numbers in 299 × 900.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np

from mercer._examples import count
from mercer._machine.threads import blas_for, threads_for
from mercer._tiles import Scratch, Tiling, cut
from mercer.expansion import KernelExpansion
from mercer.gram import HOST, Gram
from mercer.kernels import Kernel
from mercer.tuning import CACHE_ELEMENTS, SMALL_BLOCK_ROWS

#: Classes from which this pays: with fewer, one product with all columns is faster.
MANY_CLASSES = 20


class PairExpansion(KernelExpansion):
    """f of every pair of classes; points are ordered by class, `n_support` counts those of each.

    `dual_coef` is LIBSVM's: for a point of class c, a row per other class in their order.
    """

    dual_coef: np.ndarray
    n_support: np.ndarray

    def __init__(
        self,
        kernel: Kernel,
        points: Any,
        dual_coef: np.ndarray,
        n_support: np.ndarray,
        intercept: np.ndarray,
    ) -> None:
        classes, n = len(n_support), int(np.sum(n_support))
        shapes = (classes - 1, n), (classes * (classes - 1) // 2,)
        fitting = (dual_coef.shape, intercept.shape) == shapes and np.min(n_support) >= 0
        if not fitting or count(points) != n:
            raise ValueError(
                f"{classes} classes of {n} support vectors do not go with coefficients of shape "
                f"{dual_coef.shape} and intercepts of shape {intercept.shape}"
            )
        # The base is frozen, and its own checks would want the wide coefficients.
        vars(self).update(
            kernel=kernel, points=points, dual_coef=dual_coef, n_support=n_support,
            intercept=intercept,
        )  # fmt: skip

    @cached_property
    def coef(self) -> np.ndarray:  # type: ignore[override]
        """One column per pair, as any expansion has them: much larger than `dual_coef`."""
        first, second = self._pairs
        own = np.repeat(np.arange(len(self.n_support)), self.n_support)
        coef = np.zeros((len(own), len(first)))
        for pair, (i, j) in enumerate(zip(first, second, strict=True)):
            for c, other in ((i, j - 1), (j, i)):
                coef[own == c, pair] = self.dual_coef[other, own == c]
        return coef

    @property
    def _pairs(self) -> tuple[np.ndarray, np.ndarray]:
        return np.triu_indices(len(self.n_support), 1)  # type: ignore[return-value]

    def __call__(self, X: Any, then: Callable[[Any], Any] = lambda scores: scores) -> Any:
        """The scores of all pairs, or what `then` makes of them, for some rows at a time."""
        if len(self):
            known = self.by_monomials(X, then)
            if known is not None:
                return known
        gram = self.gram(X)
        if not gram.resident or not len(self):
            return then(super().__call__(X))
        return self.over(gram, then)

    def over(self, gram: Any, then: Callable[[Any], Any] = lambda scores: scores) -> Any:
        if gram.engine == HOST.name:
            return self.in_panels(gram, lambda K, scratch: then(self.scores(K, scratch=scratch)))
        height = max(1, gram.limit_bytes // 4 // self._bytes_per_row)
        rows = cut(0, gram.shape[0], height)
        parts = [then(self.scores(part.dense(), gram)) for part in map(gram.take, rows)]
        return gram.xp.concat(parts) if len(parts) > 1 else parts[0]

    @property
    def _bytes_per_row(self) -> int:
        return 8 * (len(self) + 4 * len(self.intercept))

    def in_panels(
        self, gram: Gram, answer: Callable[[np.ndarray, Scratch], np.ndarray]
    ) -> np.ndarray:
        """`answer` of all rows of K, some at a time, which stay in the cache of a core."""
        n, m = gram.shape
        threads = threads_for(gram.cost.flops + 2.0 * n * self.dual_coef.size)
        height = min(max(SMALL_BLOCK_ROWS, 4 * CACHE_ELEMENTS // m), -(-n // threads))
        height = max(1, min(height, gram.limit_bytes // 4 // self._bytes_per_row))
        parts: dict[int, np.ndarray] = {}

        def body(rows: slice, columns: slice, tile: np.ndarray, scratch: Scratch) -> None:
            parts[rows.start] = answer(tile, scratch)

        tiling = Tiling(gram.shape, (height, m), threads)
        gram.sweep(body, tiling=tiling, what="kernel times matrix")
        return np.concatenate([parts[start] for start in sorted(parts)])

    def scores(self, K: Any, place: Any = None, scratch: Scratch | None = None) -> Any:
        """Pair (i, j): the sum over support vectors of i, by j's row, and of j, by i's row."""
        asarray = np.asarray if place is None else place.asarray
        classes = len(self.n_support)
        if place is None:
            found = self._sums(K, scratch)
        else:
            dual = place.asarray(self.dual_coef, dtype=K.dtype)
            found = place.xp.stack([dual[:, own] @ K[:, own].T for own in self._own])
        sums = found.reshape(classes * (classes - 1), -1)
        first, second = self._pairs
        scores = sums[first * (classes - 1) + second - 1] + sums[second * (classes - 1) + first]
        return (scores + asarray(self.intercept, dtype=K.dtype)[:, None]).T

    def judged(self, K: np.ndarray, bounds: np.ndarray, scratch: Scratch | None) -> np.ndarray:
        """The winner of every row, and whether scores within their bounds could change it."""
        from mercer.learners.svms.pair_loops import judge  # compiled

        found, sums = np.empty((len(K), 2), dtype=np.int64), self._sums(K, scratch)
        judge(sums, self.intercept.astype(K.dtype), bounds.astype(K.dtype), found)
        return found

    def _sums(self, K: np.ndarray, scratch: Scratch | None) -> np.ndarray:
        """Per class and other class, the sums over the support vectors of the first.

        In memory that serves panel after panel: to touch it for the first time takes longer than
        the sums.
        """
        dual = self.dual_coef if K.dtype == np.float64 else self._single
        shape = (len(self.n_support), len(dual), len(K))
        sums = (Scratch(0) if scratch is None else scratch).get("sums", shape, K.dtype)
        with blas_for(2.0 * len(dual) * max(self.n_support) * len(K)):
            for own, out in zip(self._own, sums, strict=True):
                np.matmul(dual[:, own], K[:, own].T, out=out)
        return sums

    @property
    def _own(self) -> list[slice]:
        """The support vectors of every class."""
        ends = np.cumsum(self.n_support).tolist()
        return [slice(s, e) for s, e in zip([0, *ends[:-1]], ends, strict=True)]

    @cached_property
    def _single(self) -> np.ndarray:
        return self.dual_coef.astype(np.float32)

    @property
    def _shape(self) -> tuple[int, ...]:
        return self.intercept.shape

    @property
    def _stretches(self) -> tuple[np.ndarray, np.ndarray]:
        return self.dual_coef.T, np.cumsum(self.n_support)

    def _joined(self, sums: np.ndarray) -> np.ndarray:
        first, second = self._pairs
        both = sums[first, :, second - 1] + sums[second, :, first]
        return np.ascontiguousarray(both.T)

    @cached_property
    def weights(self) -> Any:
        ends = np.concatenate([[0], np.cumsum(self.n_support)])
        before = np.cumsum(np.pad(np.abs(self.dual_coef), ((0, 0), (1, 0))), axis=1)
        sums = np.diff(before[:, ends], axis=1)
        first, second = self._pairs
        return sums[second - 1, first] + sums[first, second]

    def __len__(self) -> int:
        return int(np.sum(self.n_support))

    def __repr__(self) -> str:
        pairs = len(self.intercept)
        return f"KernelExpansion({self.kernel!r}, {len(self)} points, {pairs} output(s))"
