"""MMD: do two samples come from one distribution? All permutations by one product with K.

    MMD² = mean k(x, x') + mean k(y, y') − 2 mean k(x, y)        (x ≠ x', y ≠ y')

A permutation gives every example the weight 1/n or −1/m; with those weights as the columns of W,
the statistics of all permutations are the diagonal of WᵀKW, of which one triangle of K is enough.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from mercer._arrays import host
from mercer._config import get_config
from mercer._escape.terminal import printable
from mercer._examples import count, joined, take
from mercer._tiles import Scratch, cut
from mercer.engines.cluster.pool import Call, reduce
from mercer.engines.cluster.sums import Terms, floats
from mercer.gram import Gram, host_gram, make_gram, solver_gram
from mercer.kernels import Kernel
from mercer.stats._shared import (
    NAMED_EXAMPLES,
    TIED_SHARE,
    TestResult,
    check_block,
    examples,
    generator,
    joint_p_value,
    kernels_to_try,
    listed,
    permutations_of,
)

# --- Sums over all pairs of examples in pieces, for tests: one task for each pair of pieces -------


@dataclass(frozen=True)
class PairSums(Terms):
    """Of K without its diagonal: wᵀKw for every column w of W, for the first in full precision;
    and the sum of every row."""

    squares: np.ndarray
    first: float
    rows: np.ndarray


def sums_over_pairs(gram: Any, W: np.ndarray) -> PairSums:
    """The sums over all pairs of pieces of a square Gram."""
    rows, starts = gram.rows, np.cumsum([0, *gram.rows.sizes])
    parts = rows.aligned(W).pieces
    calls = []
    for i, one in enumerate(rows.pieces):
        for j, other in enumerate(rows.pieces[i:], i):
            at = (int(starts[i]), int(starts[j]), len(rows))
            args = (gram.kernel, at, parts[i], parts[j], one, *(() if i == j else (other,)))
            calls.append(Call(_pair, args))
    found: PairSums = reduce(calls, "permutations")
    return found


def _pair(kernel: Any, at: tuple[int, int, int], V: Any, W: Any, X: Any, Z: Any = None) -> PairSums:
    """One pair of pieces, both of its triangles; of a piece with itself all but the diagonal."""
    gram = host_gram(kernel, floats(X), floats(X if Z is None else Z))
    squares, first = np.zeros(W.shape[1]), 0.0
    of_rows, of_columns = np.zeros(gram.shape[0]), np.zeros(gram.shape[1])
    double = V[:, 0].astype(np.float64), W[:, 0].astype(np.float64)

    def body(rows: slice, columns: slice, tile: Any, scratch: Scratch) -> None:
        nonlocal first
        if Z is None:
            here = np.arange(max(rows.start, columns.start), min(rows.stop, columns.stop))
            tile[here - rows.start, here - columns.start] = 0.0
        of_rows[rows] += tile.sum(axis=1, dtype=np.float64)
        of_columns[columns] += tile.sum(axis=0, dtype=np.float64)
        first += float(double[0][rows] @ (tile.astype(np.float64) @ double[1][columns]))
        products = tile.astype(W.dtype, copy=False) @ W[columns]
        squares[:] += np.sum(V[rows] * products, axis=0, dtype=np.float64)

    gram.sweep(body, what="permutations")
    times, total = 1.0 if Z is None else 2.0, np.zeros(at[2])
    total[at[0] : at[0] + len(of_rows)] = of_rows
    if Z is not None:
        total[at[1] : at[1] + len(of_columns)] += of_columns
    return PairSums(times * squares, times * first, total)


#: Multiples of a width that the data chooses, all tried in one test.
FACTORS = tuple(2.0**i for i in range(-3, 4))
#: Examples from which on products with permutations are in single precision: their errors, of
#: 1e-6 of the statistics' spread, change no rank that matters, and they take half the time.
SINGLE = 1000
#: What single precision leaves open when two statistics are compared.
SINGLE_ROUNDING = 1e-6
#: Rows of a Gram from which small blocks are cut.
WITNESS_ROWS = 256


@dataclass(repr=False)
class MMDResult(TestResult):
    """What `mmd_test` found; unpacks into statistic and p-value as SciPy's results do.

    Parameters
    ----------
    statistic : float
        MMD², unbiased.
    pvalue : float
        Small values speak against one distribution.
    kernel : Kernel
        The most telling one.
    tried : int
        Number of kernels tried.
    X, Y : array or list
        The two samples.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import stats
    >>> random = np.random.default_rng(0)
    >>> statistic, pvalue = stats.mmd_test(random.normal(size=40), 2 + random.normal(size=40))
    >>> pvalue < 0.05
    True
    """

    X: Any = field(repr=False)
    Y: Any = field(repr=False)

    def witness(self, Z: Any) -> np.ndarray:
        """f(z) = mean k(x, z) − mean k(y, z): above 0 where X has more examples than Y."""
        Z = examples(Z, "Z", 1, self.kernel)
        n, m = count(self.X), count(self.Y)
        near_x = solver_gram(self.kernel, Z, self.X) @ np.full(n, 1.0 / n)
        near_y = solver_gram(self.kernel, Z, self.Y) @ np.full(m, 1.0 / m)
        return np.asarray(near_x - near_y, dtype=np.float64)

    @cached_property
    def points(self) -> tuple[np.ndarray, np.ndarray]:
        """Indices of the examples of X most unlike Y, and of those of Y most unlike X."""
        of_x, of_y = self.witness(self.X), self.witness(self.Y)
        x, y = np.argsort(-of_x, kind="stable"), np.argsort(of_y, kind="stable")
        return x[of_x[x] > 0][:NAMED_EXAMPLES], y[of_y[y] < 0][:NAMED_EXAMPLES]

    @printable
    def __str__(self) -> str:
        x, y = listed("X", self.points[0]), listed("Y", self.points[1])
        typical = f"  typical of X and not of Y: {x}\n  typical of Y and not of X: {y}"
        return f"{self!r}\n{self._which_kernel()}\n{typical}"


def mmd_test(
    X: Any,
    Y: Any,
    kernel: Any = None,
    permutations: int = 1000,
    random_state: Any = None,
    *,
    block: int | None = None,
) -> MMDResult:
    """MMD² = mean k(x, x') + mean k(y, y') − 2 mean k(x, y): do X and Y have one distribution?

    Use it where a t-test would miss the difference: it sees any, in means, spreads or shapes, of
    vectors, strings, graphs or whatever k takes. The p-value is exact, by permutations of the
    examples over both samples.

    Parameters
    ----------
    X, Y : two samples
        Arrays, DataFrames, lists of what the kernel takes, or rows in pieces. With `block` also
        two iterables of such chunks, which are read one after the other and never kept.
    kernel : Kernel, expression, a list of them, or None
        Several kernels are tried in one test with one exact p-value. A width that is left to the
        data ("median" or "scale") counts as seven kernels, from 1/8 to 8 times that width. None is
        a Gaussian of such a width: nothing has to be tuned.
    permutations : int
        More make the p-value finer; the least one is 1/(permutations + 1).
    random_state : int, Generator, RandomState or None
        Draws the permutations. None draws as 0 does, the same in every call.
    block : int or None
        Compare examples within blocks of so many pairs (xᵢ, yᵢ) only, in the time of N · block:
        2 is the linear-time test for streams. What a p-value needs are swaps of xᵢ and yᵢ, so it
        stays exact. Larger blocks see more. None compares all.

    Returns
    -------
    MMDResult
        `statistic` (unbiased: below 0 where nothing differs), `pvalue`, `kernel` (the most telling
        one), `witness(Z)` and `points`: the examples that differ most.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import stats
    >>> random = np.random.default_rng(0)
    >>> X, Y = random.normal(size=(80, 2)), random.laplace(scale=0.7, size=(80, 2))
    >>> stats.mmd_test(X, X[::-1] + 1e-3, random_state=0).pvalue
    1.0
    >>> Y[:30] += 2.0
    >>> result = stats.mmd_test(X, Y, random_state=0)
    >>> result.pvalue < 0.01
    True

    See also
    --------
    mercer.plot.witness : draws where the samples differ
    """
    permutations, block = permutations_of(permutations), check_block(block, 2)
    random = generator(random_state)
    if block is not None:
        return _by_blocks(_pairs_of_chunks(X, Y, kernel), kernel, permutations, block, random)
    X, Y = examples(X, "X", 2, kernel), examples(Y, "Y", 2, kernel)
    widths = [np.shape(rows)[1:] for rows in (X, Y) if hasattr(rows, "shape")]
    if len(widths) == 2 and widths[0] != widths[1]:
        raise ValueError(
            f"X has {widths[0][0]} columns and Y has {widths[1][0]}: both samples are rows of the "
            "same columns"
        )
    both, n, m = joined([X, Y]), count(X), count(Y)
    kernels = kernels_to_try(kernel, both, FACTORS, random)
    weights = np.repeat([1.0 / n, -1.0 / m], [n, m])
    statistics, observed = np.empty((len(kernels), permutations + 1)), np.empty(len(kernels))
    single = n + m >= SINGLE
    # Permutations in as many parts as the memory limit asks for.
    for part in cut(0, permutations + 1, max(16, get_config().memory_bytes // (24 * (n + m)))):
        W = _permuted(weights, part, random, np.float32 if single else np.float64)
        for i, one in enumerate(kernels):
            sums = sums_of(make_gram(one, both), W)
            statistics[i, part] = unbiased(sums, sums.squares, W, n, m)
            if part.start == 0:
                observed[i] = unbiased(sums, sums.first, weights[:, None], n, m)[0]
    p, best = joint_p_value(statistics, SINGLE_ROUNDING if single else TIED_SHARE)
    return MMDResult(float(observed[best]), p, kernels[best], len(kernels), X, Y)


def _permuted(
    weights: np.ndarray, part: slice, random: np.random.Generator, dtype: Any
) -> np.ndarray:
    """A column of weights per permutation; the first of all is the order that is given."""
    W = np.tile(weights.astype(dtype), (part.stop - part.start, 1))
    shuffled = W[1:] if part.start == 0 else W
    shuffled[:] = random.permuted(shuffled, axis=1)
    return np.ascontiguousarray(W.T)


def sums_of(gram: Gram, W: np.ndarray) -> PairSums:
    """The sums of one sweep over the triangle; every thread has sums of its own."""
    if not gram.together:
        return sums_over_pairs(gram, W)
    xp, n = gram.xp, gram.shape[0]
    columns = gram.asarray(W)
    given = gram.asarray(np.asarray(W[:, 0], dtype=np.float64))
    kept: dict[int, list[Any]] = {}

    def body(rows: slice, across: slice, tile: Any, scratch: Scratch) -> None:
        own = kept.get(scratch.thread)
        if own is None:
            own = kept[scratch.thread] = [0.0, 0.0, np.zeros(n)]
        first = max(across.start, rows.start)
        tile = tile[:, first - across.start :]
        # Behind the panel's own square every entry stands for itself and its mirror image.
        square = min(max(rows.stop - first, 0), tile.shape[1])
        at = np.arange(square)
        tile[first - rows.start + at, at] = 0.0
        own[2][rows] += host(xp.sum(tile, axis=1, dtype=xp.float64))
        own[2][first + square : across.stop] += host(
            xp.sum(tile[:, square:], axis=0, dtype=xp.float64)
        )
        tile[:, square:] *= 2.0
        here = slice(first, across.stop)
        own[1] += float(given[rows] @ (xp.astype(tile, xp.float64) @ given[here]))
        products = xp.astype(tile, columns.dtype) @ columns[here]
        own[0] += host(xp.sum(columns[rows] * products, axis=0, dtype=xp.float64))

    gram.sweep(body, triangle=True, what="permutations")
    squares, first, rows = (sum(part) for part in zip(*kept.values(), strict=True))
    return PairSums(np.asarray(squares), first, np.asarray(rows))


def unbiased(sums: PairSums, squares: Any, W: np.ndarray, n: int, m: int) -> np.ndarray:
    """MMD² from wᵀKw: sums within the samples follow from those of rows, and lose no pair."""
    total, unit = sums.rows.sum(), 1.0 / n + 1.0 / m
    with_rows = sums.rows @ W.astype(np.float64)
    of_x = (with_rows + total / m) / unit
    within_x = (squares + 2.0 * with_rows / m + total / m**2) / unit**2
    within_y = total - 2.0 * of_x + within_x
    across = of_x - within_x
    return np.asarray(within_x / (n * (n - 1)) + within_y / (m * (m - 1)) - 2.0 * across / (n * m))


# --- blocks and streams ------------------------------------------------------------------------


def _pairs_of_chunks(X: Any, Y: Any, kernel: Any) -> Iterator[tuple[Any, Any]]:
    """Chunks of both samples, of equal length; a sample in one piece is one chunk."""
    streams = [hasattr(S, "__next__") for S in (X, Y)]
    if any(streams) and not all(streams):
        raise TypeError("a stream is compared with a stream: X and Y are both iterators, or none")
    pairs: Iterable[tuple[Any, Any]] = zip(X, Y, strict=False) if all(streams) else [(X, Y)]
    for part_x, part_y in pairs:
        x, y = examples(part_x, "X", 2, kernel), examples(part_y, "Y", 2, kernel)
        least = min(count(x), count(y))
        yield take(x, slice(0, least)), take(y, slice(0, least))


def _by_blocks(
    chunks: Iterator[tuple[Any, Any]],
    kernel: Any,
    permutations: int,
    block: int,
    random: np.random.Generator,
) -> MMDResult:
    """Σ εᵢεⱼ h(zᵢ, zⱼ) within blocks, zᵢ = (xᵢ, yᵢ); a sign ε = −1 swaps the two of a pair."""
    kernels: list[Kernel] = []
    seen: tuple[Any, Any] | None = None
    pairs = 0.0
    for X, Y in chunks:
        if not kernels:
            kernels, seen = kernels_to_try(kernel, joined([X, Y]), FACTORS, random), (X, Y)
            statistics = np.zeros((len(kernels), permutations + 1))
        step = max(1, WITNESS_ROWS // block) * block
        for start in range(0, count(X) - 1, step):
            x, y = (take(S, slice(start, start + step)) for S in (X, Y))
            size = min(block, count(x))
            whole = slice(0, count(x) // size * size)
            x, y = take(x, whole), take(y, whole)
            signs = random.integers(0, 2, (count(x), permutations + 1)) * 2.0 - 1.0
            signs[:, 0] = 1.0
            signs = signs.reshape(-1, size, permutations + 1)
            for sums, one in zip(statistics, kernels, strict=True):
                H = _blocks_of_h(one, x, y, size)
                sums += np.einsum("bip,bip->p", signs, H @ signs)
            pairs += count(x) * (size - 1)
    if seen is None:
        raise ValueError("the streams hold no examples")
    p, best = joint_p_value(statistics)
    return MMDResult(float(statistics[best, 0] / pairs), p, kernels[best], len(kernels), *seen)


def _blocks_of_h(kernel: Kernel, x: Any, y: Any, size: int) -> np.ndarray:
    """h = k(x, x') + k(y, y') − k(x, y') − k(x', y) within blocks, 0 for a pair with itself."""
    n = count(x)
    K = np.asarray(solver_gram(kernel, joined([x, y])).dense(), dtype=np.float64)
    H = K[:n, :n] + K[n:, n:] - K[:n, n:] - K[n:, :n]
    np.fill_diagonal(H, 0.0)
    each = np.arange(n // size)
    return H.reshape(len(each), size, len(each), size)[each, :, each, :]
