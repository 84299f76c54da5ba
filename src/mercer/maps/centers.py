"""Who chooses centers, for maps and solvers alike: m examples that stand for all of them.

    "uniform"     each with the same probability
    "kmeans++"    each next one with a probability proportional to its squared distance in feature
                  space from those already chosen: spread out
    "leverage"    with a probability proportional to its ridge leverage score [K(K + λI)⁻¹]ᵢᵢ, how
                  much of a direction of its own an example has (approximate, from a sample)
    "greedy"      the one that those already chosen represent worst: pivoted Cholesky, K ≈ FFᵀ, the
                  trace of whose rest bounds the error of the approximation

The same seed gives the same centers. They may also be given, as indices or as points.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from mercer import _linalg
from mercer._arrays import host
from mercer._config import show_bytes
from mercer._examples import count
from mercer._lazy import record
from mercer._linalg import add_to_diagonal, cholesky, inverse_lower, solve_lower
from mercer._machine.threads import single_threaded_blas, threads_for
from mercer._tiles import Scratch, Tiling, cut, sweep
from mercer.gram import Gram
from mercer.tuning import CHOOSING_ROWS, PANEL_ROWS, SCRATCH_BYTES

#: Draws of "kmeans++" with new distances in between; more centers than that are drawn in groups.
CENTER_DRAWS = 256


@record
class Chosen:
    """Centers as indices of examples.

    `error`: the trace of K − K₍ₙₘ₎K₍ₘₘ₎⁻¹K₍ₘₙ₎, which bounds its norm; NaN where it is not known.
    """

    index: np.ndarray
    error: float = math.nan


def choose_centers(gram: Gram, how: str, m: int, random: np.random.RandomState) -> Chosen:
    """m of the examples of K(X, X); fewer where K has a smaller rank.

    >>> import numpy as np
    >>> from mercer import Gaussian
    >>> K = Gaussian().gram(np.array([[0.0], [0.1], [5.0], [5.2], [9.0]]))
    >>> centers = choose_centers(K, "greedy", 3, np.random.RandomState(0))
    >>> centers.index, round(centers.error, 3)
    (array([0, 4, 2]), 0.049)
    """
    n = gram.shape[0]
    if how == "uniform" or (m >= n and how != "greedy"):
        return Chosen(uniform_centers(n, m, random))
    return _CHOICES[how](gram, min(m, n), random)


def uniform_centers(n: int, m: int, random: np.random.RandomState) -> np.ndarray:
    """m of n indices; all of them, in their order, where there are not more."""
    return np.arange(n) if m >= n else random.permutation(n)[:m]


def _spread(gram: Gram, m: int, random: np.random.RandomState) -> Chosen:
    n, diagonal = gram.shape[0], host(gram.diagonal()).astype(np.float64)
    distance, chosen = np.full(n, np.inf), np.empty(0, dtype=np.intp)
    new = random.randint(n, size=1).astype(np.intp)
    while len(new):
        k = host(gram.take(columns=new).dense()).astype(np.float64)
        squares = diagonal[:, None] - 2.0 * k + diagonal[new]
        distance = np.minimum(distance, np.maximum(squares, 0.0).min(axis=1))
        chosen = np.concatenate([chosen, new])
        distance[chosen] = 0.0
        size: int = min(-(-m // CENTER_DRAWS), m - len(chosen), int(np.count_nonzero(distance)))
        new = chosen[:0]  # where only copies of the centers are left, they are enough
        if size:
            new = random.choice(np.arange(n), size, replace=False, p=distance / distance.sum())
    return Chosen(chosen)


def _by_leverage(gram: Gram, m: int, random: np.random.RandomState) -> Chosen:
    scores = leverage_scores(gram, m / 2, random)
    scores = np.maximum(scores, 1e-12 * scores.max())
    return Chosen(random.choice(len(scores), m, replace=False, p=scores / scores.sum()))


def leverage_scores(gram: Gram, total: float, random: np.random.RandomState) -> np.ndarray:
    """≈ [K(K + λI)⁻¹]ᵢᵢ = (kᵢᵢ − kᵢᵀ(K + λI)⁻¹kᵢ)/λ, the second form over a uniform sample.

    λ is such that the scores sum to about `total`, the effective dimension. Exact for at most 1000
    examples.
    """
    n = gram.shape[0]
    sample = np.arange(n) if n <= CHOOSING_ROWS else np.sort(random.permutation(n)[:CHOOSING_ROWS])
    K = host(center_matrix(gram, sample))
    share = len(sample) / n
    ridge = _ridge_for(np.linalg.eigvalsh(K) / share, min(total, 0.5 * len(sample)))
    add_to_diagonal(K, ridge * share)
    L = cholesky(K)
    if L is None:
        raise ValueError(
            f"{gram.kernel!r} is not positive semi-definite on these examples, so they have no "
            'leverage scores: choose centers="uniform" or "kmeans++"'
        )
    scores = host(gram.diagonal()).astype(np.float64)
    for part in cut(0, n, max(1, SCRATCH_BYTES // (8 * len(sample)))):
        k = host(gram.take(rows=part, columns=sample).dense()).astype(np.float64)
        scores[part] -= np.square(solve_lower(L, k.T)).sum(axis=0)
    return np.asarray(np.maximum(scores, 0.0) / ridge)


def _ridge_for(values: np.ndarray, total: float) -> float:
    """λ with Σ σ/(σ + λ) = total, σ the positive eigenvalues; by halving intervals of log λ."""
    values = values[values > 1e-12 * values.max(initial=0.0)]
    low, high = 1e-12 * values.max(initial=1.0), values.sum() / total + 1e-300
    for _ in range(60):
        middle = math.sqrt(low * high)
        above = float((values / (values + middle)).sum()) > total
        low, high = (middle, high) if above else (low, middle)
    return high


def _greedy(gram: Gram, m: int, random: np.random.RandomState) -> Chosen:
    need = gram.shape[0] * m * gram.dtype.itemsize
    if need > gram.limit_bytes:
        raise MemoryError(
            f"{m} greedy centers need {show_bytes(need)}, but the memory limit is "
            f"{show_bytes(gram.limit_bytes)}: choose fewer, or others than 'greedy', or raise the "
            "limit with mercer.set_config(memory=…)."
        )
    factor = pivoted_cholesky(gram, m, lambda rest, size: np.array([rest.argmax()]), 1)
    assert factor.rest is not None
    return Chosen(factor.pivots, float(factor.rest.sum()))


_CHOICES: dict[str, Callable[[Gram, int, np.random.RandomState], Chosen]] = {
    "kmeans++": _spread,
    "leverage": _by_leverage,
    "greedy": _greedy,
}


# --- K ≈ F Fᵀ --------------------------------------------------------------------------------


@record
class LowRank:
    """`F` (N, r), the examples `pivots` it was made from, and L = F[pivots], lower triangular.

    `rest`: the diagonal of K − FFᵀ, where it was followed.
    """

    F: np.ndarray
    pivots: np.ndarray
    L: np.ndarray
    rest: np.ndarray | None = None


def center_matrix(gram: Gram, index: Any) -> Any:
    """K between these examples in double precision, the diagonal exact, where the data is."""
    K = gram.in_double(index)
    return K if gram.symmetric else (K + K.T) / 2


def independent(K: Any, dtype: np.dtype) -> tuple[np.ndarray, Any]:
    """Rows of K that Cholesky can go through, and F with FFᵀ = K; F[rows] is lower triangular."""
    # Generous: L⁻¹ is multiplied by, and a direction left out costs an iteration at most.
    least = 1e-12 if dtype == np.float64 else 1e-5
    largest = float(K.diagonal().max()) if len(K) else 0.0
    return _linalg.independent(K, least * max(0.0, largest))


def pivoted_cholesky(
    gram: Gram,
    rank: int,
    pick: Callable[[np.ndarray, int], np.ndarray],
    block: int,
    enough: Callable[[np.ndarray, int], bool] = lambda rest, rank: False,
) -> LowRank:
    """K ≈ FFᵀ, exact in the rows of the pivots, of which `pick(rest, size)` gives the next ones.

    `rest` is the diagonal of K − FFᵀ: what of each example is not represented yet. It ends where
    that is nothing but rounding, or where `enough(rest, rank so far)`.
    """
    n = gram.shape[0]
    rest = np.maximum(host(gram.diagonal()).astype(np.float64), 0.0)
    least = 1e-10 * rest.sum()
    # Columns of F one behind the other: those that are not needed take no memory.
    F = np.empty((min(rank, n), n), dtype=gram.dtype).T
    pivots = np.empty(0, dtype=np.intp)
    while len(pivots) < F.shape[1] and rest.sum() > least and not enough(rest, len(pivots)):
        drawn = np.setdiff1d(pick(rest, min(block, F.shape[1] - len(pivots))), pivots)
        done, small = F[:, : len(pivots)], host(center_matrix(gram, drawn))
        with single_threaded_blas():
            kept, inner_factor = independent(small - done[drawn] @ done[drawn].T, gram.dtype)
            inverse = inverse_lower(inner_factor[kept])
        if not len(kept):
            rest[drawn] = 0.0
            continue
        new = drawn[kept]
        columns = host(gram.take(columns=new).dense())
        added = F[:, len(pivots) : len(pivots) + len(new)]
        _orthogonalize(columns, done, new, inverse, added)
        pivots = np.concatenate([pivots, new])
        rest = np.maximum(rest - np.einsum("ij,ij->i", added, added, dtype=np.float64), 0.0)
        rest[drawn] = 0.0
    F = F[:, : len(pivots)]
    return LowRank(F, pivots, np.tril(F[pivots].astype(np.float64)), rest)


def _orthogonalize(
    columns: np.ndarray, done: np.ndarray, new: np.ndarray, inverse: np.ndarray, out: np.ndarray
) -> None:
    """out = (columns − FF[new]ᵀ) L⁻ᵀ, by threads."""
    n, threads = len(columns), threads_for(2.0 * columns.size * (done.shape[1] + len(new)))
    pivot_rows, right = done[new].T, inverse.T.astype(columns.dtype)

    def body(rows: slice, _: slice, scratch: Scratch) -> None:
        out[rows] = (columns[rows] - done[rows] @ pivot_rows) @ right

    with single_threaded_blas():
        sweep(Tiling((n, 1), (PANEL_ROWS, 1), threads), body, "pivoted Cholesky")


# --- centers that are given -------------------------------------------------------------------


class CenterChoice:
    """The name of a way to choose, indices of examples, or the centers themselves."""

    choices = ("uniform", *_CHOICES)
    words: str = (
        f"one of {', '.join(map(repr, choices))}, a list of indices of examples, or the centers "
        "themselves"
    )

    def __call__(self, value: Any) -> Any:
        if isinstance(value, str):
            if value not in self.choices:
                raise ValueError
            return value
        if not hasattr(value, "__len__") and not hasattr(value, "shape"):
            raise TypeError
        if count(value) == 0:
            raise ValueError
        return value

    def bad(self) -> Iterable[Any]:
        return ("no such choice", 3, None, [])


def given_index(centers: Any, n: int) -> np.ndarray | None:
    """Centers given as indices of n examples, without repetitions; None where they are points."""
    values = np.asarray(centers) if isinstance(centers, (list, tuple, range, np.ndarray)) else None
    if values is None or values.ndim != 1 or values.dtype.kind not in "iu":
        return None
    outside = values[(values < 0) | (values >= n)]
    if len(outside):
        raise ValueError(
            f"centers names the example {outside[0]}, but there are {n}, counted from 0"
        )
    return values[np.sort(np.unique(values, return_index=True)[1])]
