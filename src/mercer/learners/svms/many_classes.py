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
from mercer._machine.threads import blas_for
from mercer._tiles import cut
from mercer.expansion import KernelExpansion
from mercer.gram.host import HostGram
from mercer.gram.plan.planner import REPEATS
from mercer.kernels import Kernel

#: Classes from which this pays: with fewer, one product with all columns is faster.
MANY = 20
#: Bytes of scores that are made at a time; they are turned into votes before the next.
PANEL = 64_000_000


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
            found = self.prepared(X)
            few = None if found is None else found.block(X)
            if few is not None:
                return then(self.scores(few[0]))
        gram = self.gram(X)
        if not gram.resident or not len(self):
            return then(super().__call__(X))
        return self.over(gram, then)

    def over(self, gram: Any, then: Callable[[Any], Any] = lambda scores: scores) -> Any:
        per_row = 8 * (len(self) + 4 * len(self.intercept))
        height = max(1, min(PANEL, gram.limit_bytes // 4) // per_row)
        parts = [then(self._panel(gram.take(rows))) for rows in cut(0, gram.shape[0], height)]
        return gram.xp.concat(parts) if len(parts) > 1 else parts[0]

    def _panel(self, gram: Any) -> Any:
        if isinstance(gram, HostGram):
            K = np.empty(gram.shape, dtype=gram.dtype)
            gram.sweep(lambda *tile: None, out=K, repeats=REPEATS, what="kernel times matrix")
        else:
            K = gram.dense()
        return self.scores(K, gram)

    def scores(self, K: Any, place: Any = None) -> Any:
        """Pair (i, j): the sum over support vectors of i, by j's row, and of j, by i's row."""
        K, classes = K.T, len(self.n_support)
        asarray, xp = (np.asarray, np) if place is None else (place.asarray, place.xp)
        dual = asarray(self.dual_coef, dtype=K.dtype)
        ends = np.cumsum(self.n_support).tolist()
        with blas_for(2.0 * dual.shape[0] * max(self.n_support) * K.shape[1]):
            parts = [dual[:, s:e] @ K[s:e] for s, e in zip([0, *ends[:-1]], ends, strict=True)]
        sums = xp.stack(parts).reshape(classes * (classes - 1), -1)
        first, second = self._pairs
        scores = sums[first * (classes - 1) + second - 1] + sums[second * (classes - 1) + first]
        return (scores + asarray(self.intercept, dtype=K.dtype)[:, None]).T

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
