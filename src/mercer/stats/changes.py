"""Where does the distribution of a series change? Splits of largest gain, tested by permutations.

    gain(t) = S(0, t)/t + S(t, n)/(n − t) − S(0, n)/n,    S(a, b) = Σ k(xᵢ, xⱼ) over a ≤ i, j < b

is what a split at t takes off the spread of φ(x) around its mean: t(n − t)/n · MMD² of both sides.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mercer._escape.terminal import printable
from mercer._examples import count
from mercer._parameters import Count, Number, checked
from mercer.stats._loops import over_permutations, sums_before
from mercer.stats._shared import (
    check_matrices,
    examples,
    generator,
    joint_p_value,
    kernels_to_try,
    orders,
    permutations_of,
    symmetric_matrix,
)

#: Multiples of a width that the data chooses.
CHANGE_FACTORS = (0.5, 1.0, 2.0)


@dataclass(repr=False)
class ChangePointsResult:
    """What `change_points` found: `points` are the first rows of new stretches, in order.

    Parameters
    ----------
    points : ndarray of int
        The first rows of new stretches, in order.
    pvalues : ndarray
        Of each split, when it was made.
    pvalue : float
        Of the first split.
    series : array or list
        What was looked at.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import stats
    >>> series = np.repeat([0.0, 5.0], 20) + np.random.default_rng(0).normal(size=40)
    >>> stats.change_points(series, permutations=200, random_state=0).points.tolist()
    [20]
    """

    points: np.ndarray
    pvalues: np.ndarray
    #: Of the test whether there is any change at all.
    pvalue: float
    series: Any = field(repr=False)

    @property
    def p_value(self) -> float:
        """The same number, as it is mostly spelled outside of SciPy."""
        return self.pvalue

    def __len__(self) -> int:
        return len(self.points)

    def __iter__(self) -> Iterator[int]:
        return iter(self.points.tolist())

    def __repr__(self) -> str:
        return f"{type(self).__name__}(points={self.points.tolist()}, pvalue={self.pvalue:.6g})"

    @printable
    def __str__(self) -> str:
        both = zip(self.points, self.pvalues, strict=True)
        lines = [f"  a change at {t}, p = {p:.3g}" for t, p in both]
        return "\n".join([repr(self), *(lines or ["  no change"])])


def change_points(
    series: Any,
    kernel: Any = None,
    permutations: int = 1000,
    random_state: Any = None,
    *,
    alpha: float = 0.05,
    min_size: int = 5,
) -> ChangePointsResult:
    """argmax S(0,t)/t + S(t,n)/(n−t), S = Σ k(xᵢ, xⱼ): where a series changes, in whatever way.

    The best split of the series is tested against those of permuted orders; if it is better than
    all but a share `alpha` of them, the best split of both sides is tested in the same way, and so
    on until a test fails. Each split is then moved to the best row between its neighbors. The first
    test is exact: a series of independent rows without change is split with a probability of at
    most `alpha`. Rows that depend on those before them look like changes: give what is left of a
    model of that dependence.

    Parameters
    ----------
    series : array of shape (n,) or (n, n_features), or a list of what the kernel takes
        In order of time.
    kernel : Kernel, expression, a list of them, or None
        k. Several are tried at once. A width that is left to the data counts as three kernels, of
        half, once and twice that width. None is a Gaussian of such a width.
    permutations : int
        The time grows as n² · permutations.
    random_state : int, Generator, RandomState or None
        Draws the permutations. None draws as 0 does, the same in every call.
    alpha : float
        Larger finds more changes, and more that are none.
    min_size : int
        The least length of a stretch.

    Returns
    -------
    ChangePointsResult
        With `points`, the first rows of new stretches, and p-values.

    See Also
    --------
    mercer.plot.change_points : draws the series with its changes

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import stats
    >>> random = np.random.default_rng(0)
    >>> calm, wild = random.normal(size=60), 4 * random.normal(size=50)
    >>> stats.change_points(np.concatenate([calm, wild, calm]), random_state=0)
    ChangePointsResult(points=[60, 109], pvalue=0.00799201)
    """
    permutations, random = permutations_of(permutations), generator(random_state)
    alpha = checked("change_points", "alpha", alpha, Number(0, 1, open_low=True, open_high=True))
    least = checked("change_points", "min_size", min_size, Count(1))
    rows = examples(series, "series", 2, kernel)
    n = count(rows)
    if n < 2 * least:
        raise ValueError(f"{n} rows hold no two stretches of min_size={least}")
    kernels = kernels_to_try(kernel, rows, CHANGE_FACTORS, random)
    check_matrices(n, len(kernels) + 1, "Give a part of the series, or means of several rows.")
    matrices = [symmetric_matrix(one, rows) for one in kernels]

    def segment(start: int, stop: int) -> _Segment:
        order = orders(random, permutations, stop - start)
        parts = (K[start:stop, start:stop] for K in matrices)
        return _Segment(start, stop, np.stack([gains(K, order, least).max(axis=1) for K in parts]))

    segments = [segment(0, n)]
    found: dict[int, tuple[float, int]] = {}
    overall = 1.0
    while segments:
        p, which = joint_p_value(np.max([one.best for one in segments], axis=0))
        overall = overall if found else p
        if p > alpha:
            break
        widest = max(segments, key=lambda one: one.best[which, 0])
        t = widest.split(matrices[which], least)
        found[t] = (p, which)
        segments.remove(widest)
        for start, stop in ((widest.start, t), (t, widest.stop)):
            if stop - start >= 2 * least:
                segments.append(segment(start, stop))
    points = _moved(matrices, found, n, least)
    pvalues = np.array([found[t][0] for t in sorted(found)])
    return ChangePointsResult(points, pvalues, overall, rows)


@dataclass(eq=False)
class _Segment:
    """Rows between two changes; the gain of the best split per kernel and per order of the rows."""

    start: int
    stop: int
    best: np.ndarray

    def split(self, K: np.ndarray, least: int) -> int:
        """Where the gain is largest: the first row of the second part."""
        part, given = K[self.start : self.stop, self.start : self.stop], self.stop - self.start
        return self.start + least + int(gains(part, np.arange(given)[None], least)[0].argmax())


def gains(K: np.ndarray, order: np.ndarray, least: int) -> np.ndarray:
    """gain(t) for t = least … n − least and every order of the rows: (n_orders, n_splits)."""
    n = len(K)
    first = np.empty((len(order), n))
    over_permutations(sums_before, order, np.ascontiguousarray(K), first)
    first = np.cumsum(first, axis=1)
    rows = np.cumsum(K.sum(axis=0)[order], axis=1)
    splits = np.arange(least, n - least + 1)
    S, R, total = first[:, splits - 1], rows[:, splits - 1], rows[:, -1:]
    return np.asarray(S / splits + (total - 2.0 * R + S) / (n - splits) - total / n)


def _moved(
    matrices: list[np.ndarray], found: dict[int, tuple[float, int]], n: int, least: int
) -> np.ndarray:
    """Every split at the best place between its neighbors, for the kernel that found it."""
    at = [0, *sorted(found), n]
    which = [found[t][1] for t in sorted(found)]
    for i, one in enumerate(which, start=1):
        between = _Segment(at[i - 1], at[i + 1], np.empty(0))
        at[i] = between.split(matrices[one], least)
    return np.array(at[1:-1], dtype=np.intp)
