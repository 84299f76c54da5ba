"""(SKS + λI)⁻¹ for many λ from SKS = Q B Qᵀ with B a band: no eigenvectors, the same answers.

A shift of K is a shift of B, and B + λI = LLᵀ takes N b² operations where K + λI takes N³/3. From
L come the coefficients, and the diagonal that leave-one-out needs:

    (K + λI)⁻¹ t = Q L⁻ᵀ L⁻¹ Qᵀ t        ((K + λI)⁻¹)ᵢᵢ = ‖L⁻¹ Qᵀeᵢ‖²

the second in 2 b N² operations for each λ. Eigenvectors are better only where K + λI is nearly
singular or not definite: they tell which directions to leave out. There the caller is told to take
them.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.linalg import LinAlgError, cho_solve_banded, cholesky_banded

from mercer._config import get_config
from mercer._progress import progress
from mercer._tiles import Scratch, Tiling, sweep
from mercer.gram.base import Gram
from mercer.solvers.band.loops import COLUMNS, coefficients, solved_squares
from mercer.solvers.band.reduction import Band, to_band
from mercer.solvers.linear.blas import times
from mercer.solvers.linear.matrix import matrix_fits, operator_norm, scaled_matrix
from mercer.solvers.linear.problem import RidgePath, RidgeProblem

#: Diagonals of B below the main one. Fewer make the way to B longer, more make each λ cost more.
WIDTH = 32
#: λ worked on at a time.
BATCH = 64


def path_by_band(gram: Gram, problem: RidgeProblem) -> RidgePath | None:
    """None where eigenvectors are safer, or nothing fits."""
    n, columns = len(problem.targets), problem.targets.shape[1] * len(problem.alphas)
    for double in (False, True) if gram.dtype == np.float32 else (True,):
        # The band and its factors for some penalties take at most another matrix.
        if not matrix_fits(2, n, 8 if double else 4, columns):
            return None
        path = _attempt(gram, problem, double)
        if path is not None:
            return path
    return None


def _attempt(gram: Gram, problem: RidgeProblem, double: bool) -> RidgePath | None:
    """The path, computed in this precision; None where that leaves too few digits."""
    n = gram.shape[0]
    reduction, solves = 8 / 3 * n**3, 2 * WIDTH * n**2 * len(problem.alphas)
    share = reduction / (reduction + solves)
    with progress("ridge path", 1.0) as bar:
        A = scaled_matrix(gram, problem.scale, double)
        band = to_band(A, WIDTH, lambda part: bar.advance(share * part))
        if not certain(band, float(problem.alphas.min())):
            return None
        return problem.path(gram, _parts(band, problem, bar, 1.0 - share))


def certain(band: Band, least: float) -> bool:
    """Whether B + λI has digits to spare, so that no direction need be left out."""
    dtype = band.q_transposed.dtype
    worst = 0.05 if dtype == np.float32 else 0.1 / len(band.q_transposed)
    return condition(band, least) * float(np.finfo(dtype).eps) < worst


def condition(band: Band, shift: float) -> float:
    """The ratio of the largest eigenvalue to the smallest, to a factor; ∞ if one is negative."""
    try:
        factor = _factor(band, shift)
    except LinAlgError:
        return np.inf
    start = np.random.default_rng(0).standard_normal(len(band.q_transposed))
    largest = operator_norm(lambda x: _times(band.diagonals, x) + shift * x, start, 12)
    return largest * operator_norm(lambda x: cho_solve_banded((factor, True), x), start, 12)


def _factor(band: Band, shift: float) -> np.ndarray:
    shifted = band.diagonals.copy()
    shifted[0] += shift
    factor = cholesky_banded(shifted, overwrite_ab=True, lower=True, check_finite=False)
    if not np.isfinite(factor[0]).all():
        raise LinAlgError("B + λI is not finite")
    return factor


def _times(diagonals: np.ndarray, x: np.ndarray) -> np.ndarray:
    y = diagonals[0] * x
    for d in range(1, len(diagonals)):
        y[d:] += diagonals[d, :-d] * x[:-d]
        y[:-d] += diagonals[d, :-d] * x[d:]
    return y


def _parts(
    band: Band, problem: RidgeProblem, bar: progress, share: float
) -> Iterator[tuple[np.ndarray, np.ndarray, None]]:
    """Solutions and the diagonal of the inverse, λ by λ."""
    alphas, n = problem.alphas, len(band.q_transposed)
    parts = times(band.q_transposed, problem.right_hand_sides())
    # The factors and solutions of a batch take no more than another Q.
    batch = max(1, min(BATCH, n // (band.width + 1 + parts.shape[1])))
    for start in range(0, len(alphas), batch):
        some = alphas[start : start + batch]
        solved, diagonals = _inverses(band, parts, some, bar, share * len(some) / len(alphas))
        for i in range(len(some)):
            yield solved[:, i], diagonals[i], None


def _inverses(
    band: Band, parts: np.ndarray, shifts: np.ndarray, bar: progress, share: float
) -> tuple[np.ndarray, np.ndarray]:
    """(B + λI)⁻¹ `parts`, back in the terms of K, and the diagonal of (K + λI)⁻¹, for each λ."""
    q_transposed, width = band.q_transposed, band.width
    n, dtype = len(q_transposed), q_transposed.dtype
    loops = []
    z = np.empty((n, len(shifts), parts.shape[1]), dtype=dtype)
    for i, shift in enumerate(shifts):
        factor = _factor(band, float(shift))
        z[:, i] = cho_solve_banded((factor, True), parts, check_finite=False)
        loops.append(coefficients(factor, dtype))
    z = z.reshape(n, -1)
    even = n + n % 2
    solved = np.empty(z.shape, dtype=dtype)
    diagonals = np.empty((len(shifts), n))

    def body(rows: slice, _: slice, scratch: Scratch) -> None:
        count = rows.stop - rows.start
        P = scratch.get("panel", (even, COLUMNS), dtype)
        P[n:], P[:, count:] = 0.0, 0.0
        P[:n, :count] = q_transposed[:, rows]
        np.matmul(P[:n, :count].T, z, out=solved[rows])
        Y = scratch.get("solved", ((width + even) * COLUMNS,), dtype)
        Y[: width * COLUMNS] = 0.0
        squares = np.empty(COLUMNS)
        for i, (c, own) in enumerate(loops):
            solved_squares(P.reshape(-1), c, own, Y, squares)
            diagonals[i, rows] = squares[:count]
        bar.advance(share * count / n)

    sweep(Tiling((n, 1), (COLUMNS, 1), get_config().n_threads), body, "ridge path")
    return solved.reshape(n, len(shifts), -1), diagonals
