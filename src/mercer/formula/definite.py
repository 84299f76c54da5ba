"""Is a matrix of float64 numbers positive semi-definite? Decided on the exact numbers it holds.

Eigenvalues in float64 do not decide: their error is a share of the largest one. Used here is a
Cholesky factorization with a bound on all of its rounding, which settles matrices that are clearly
definite, and elimination in whole numbers, which settles all the others up to `EXACT` rows.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

import numpy as np

from mercer._lazy import record
from mercer.formula.inputs import Factor, FrozenArray

#: Rows up to which whole numbers are tried, and the work that may take: n³ (n · digits)^1.6 for n
#: rows of this many binary digits, about two seconds (48 rows of usual numbers take 0.2).
EXACT = 48
MOST_WORK = 8e11

#: One column of L: whole numbers, over the root of the last one.
Column = tuple[tuple[int, ...], int]


@record
class Split:
    """A = L₊L₊ᵀ − L₋L₋ᵀ, exactly."""

    positive: tuple[Column, ...]
    negative: tuple[Column, ...]


@record
class Sign:
    """`holds`: A ⪰ 0, proved (True), refuted (False) or neither (None).

    `witness`: rows w₁, w₂, … of float64 numbers with (Σw)ᵀ A (Σw) < 0 where it is refuted.
    """

    holds: bool | None
    witness: FrozenArray | None = None


@lru_cache(maxsize=64)
def sign_of(matrix: FrozenArray) -> Sign:
    """Whether the symmetric matrix is positive semi-definite, rigorously."""
    A = matrix.array
    exponents = _scaling(A)
    B = np.ldexp(A, -exponents[:, None] - exponents[None, :])
    if np.isfinite(B).all():
        if _surely_definite(B):
            return Sign(True)
        lowest = np.linalg.eigh(B)[1][:, 0].tolist()
        witness = _witness(
            A,
            [
                Fraction(v) / Fraction(2) ** e
                for v, e in zip(lowest, exponents.tolist(), strict=True)
            ],
        )
        if witness is not None:
            return Sign(False, witness)
    parts = split(matrix)
    if parts is None:
        return Sign(None)
    if not parts.negative:
        return Sign(True)
    return Sign(False, _witness(A, _direction(parts)))


@lru_cache(maxsize=64)
def split(matrix: FrozenArray) -> Split | None:
    """L₊ and L₋ of a symmetric matrix; None where its numbers are too many or too long."""
    A = matrix.array
    n = len(A)
    if n > EXACT:
        return None
    exponents = _scaling(A).tolist()
    whole, shift = _whole(A, exponents)
    M = whole.tolist()
    digits = max((number.bit_length() for row in M for number in row), default=0)
    if n**3 * (n * digits) ** 1.6 > MOST_WORK:
        return None
    pivots: list[tuple[list[int], int]] = []
    added: list[tuple[int, int, int]] = []  # row i += sign · row j, to be undone
    rest, last = list(range(n)), 1
    while rest:
        p = max(rest, key=lambda i: abs(M[i][i]))
        size, i, j = _largest_beside_diagonal(M, rest)
        if not M[p][p] and not size:
            break
        if 2 * abs(M[p][p]) < size:
            # Only an indefinite matrix comes here. xᵢ ± xⱼ has the diagonal that xᵢ lacks.
            sign = 1 if (M[i][j] > 0) == (M[i][i] + M[j][j] >= 0) else -1
            _add_row(M, pivots, i, j, sign)
            added.append((i, j, sign))
            p = i
        pivot = M[p][p]
        column = [M[i][p] if i in rest else 0 for i in range(n)]
        pivots.append((column, pivot * last))
        rest.remove(p)
        for i in rest:  # fraction-free: the division leaves no remainder (Bareiss)
            for j in rest:
                M[i][j] = (pivot * M[i][j] - column[i] * column[j]) // last
        last = pivot
    return _columns(pivots, added, exponents, shift)


def _largest_beside_diagonal(M: list[list[int]], rows: list[int]) -> tuple[int, int, int]:
    """The largest entry of these rows and columns that is not on the diagonal, and its indices."""
    pairs = ((i, j) for k, i in enumerate(rows) for j in rows[:k])
    return max(((abs(M[i][j]), i, j) for i, j in pairs), default=(0, 0, 0))


def _add_row(
    M: list[list[int]], pivots: list[tuple[list[int], int]], i: int, j: int, s: int
) -> None:
    for k in range(len(M)):
        M[i][k] += s * M[j][k]
    for row in M:
        row[i] += s * row[j]
    for column, _ in pivots:
        column[i] += s * column[j]


def _columns(
    pivots: list[tuple[list[int], int]],
    added: list[tuple[int, int, int]],
    exponents: list[int],
    shift: int,
) -> Split:
    """The pivots' columns in the rows and the scale of the given matrix."""
    positive: list[Column] = []
    negative: list[Column] = []
    low = min(exponents)
    for column, square in pivots:
        for i, j, s in reversed(added):
            column[i] -= s * column[j]
        whole = tuple(c << (e - low) for c, e in zip(column, exponents, strict=True))
        # whole / √|square| is to be multiplied by 2^low and 2^(−shift/2)
        power = shift - 2 * low
        scaled = abs(square)
        if power >= 0:
            scaled <<= power
        else:
            whole = tuple(c << -power for c in whole)
            scaled <<= -power
        (positive if square > 0 else negative).append((whole, scaled))
    return Split(tuple(positive), tuple(negative))


def _scaling(A: np.ndarray) -> np.ndarray:
    """eᵢ such that Aᵢᵢ ≈ 4^eᵢ: what dividing row and column by 2^eᵢ leaves is near 1."""
    diagonal = np.abs(np.diagonal(A))
    size = np.where(diagonal > 0, diagonal, np.abs(A).max(axis=1))
    return np.where(size > 0, np.frexp(size)[1] // 2, 0).astype(int)


def _whole(A: np.ndarray, exponents: list[int]) -> tuple[np.ndarray, int]:
    """Whole numbers M and a shift with Aᵢⱼ = Mᵢⱼ 2^(eᵢ + eⱼ − shift)."""
    mantissas, powers = np.frexp(A)
    scale = np.array(exponents)
    powers = np.where(A != 0, powers - 53 - scale[:, None] - scale[None, :], 0)
    shift = -int(powers.min())
    # Python's whole numbers have no end; NumPy's would overflow.
    digits = np.ldexp(mantissas, 53).astype(np.int64).astype(object)
    return np.left_shift(digits, (powers + shift).astype(object)), shift


def _surely_definite(B: np.ndarray) -> bool:
    """A Cholesky factorization of B − c I, c above the rounding of the factorization itself.

    If it runs through, B ⪰ 0: RᵀR = B − cI + Δ with ‖Δ‖ ≤ γ/(1 − γ) · tr B for
    γ = (n + 1)u/(1 − (n + 1)u), whatever the order of the sums.
    """
    n, u = len(B), 2.0**-53
    diagonal = np.diagonal(B)
    if (diagonal <= 0).any():
        return False
    # Twice the bound covers the rounding of c, of B − cI and of the trace, and what underflows.
    c = 4 * (n + 2) * u * float(diagonal.sum())
    shifted = B.copy()
    np.fill_diagonal(shifted, diagonal - c)
    try:
        return bool(np.isfinite(np.linalg.cholesky(shifted)).all())
    except np.linalg.LinAlgError:
        return False


def _direction(parts: Split) -> list[Fraction]:
    """w with wᵀL₊ = 0 and wᵀL₋ = (1, 0, …): the form is negative there."""
    (first, _), *others = parts.negative
    rows = [
        list(map(Fraction, column)) for column, _ in (*parts.positive, *((c, 1) for c, _ in others))
    ]
    n = len(first)
    target = [Fraction(0)] * len(rows) + [Fraction(1)]
    return _solve([*rows, list(map(Fraction, first))], target, n)


def _solve(rows: list[list[Fraction]], target: list[Fraction], n: int) -> list[Fraction]:
    """One solution of independent equations."""
    system = [row + [t] for row, t in zip(rows, target, strict=True)]
    chosen: list[int] = []
    for r, row in enumerate(system):
        column = next(j for j in range(n) if row[j])
        system[r] = row = [v / row[column] for v in row]
        chosen.append(column)
        for other in range(len(system)):
            if other != r and system[other][column]:
                factor = system[other][column]
                system[other] = [a - factor * b for a, b in zip(system[other], row, strict=True)]
    solution = [Fraction(0)] * n
    for column, row in zip(chosen, system, strict=True):
        solution[column] = row[n]
    return solution


def _witness(A: np.ndarray, w: list[Fraction]) -> FrozenArray | None:
    """w as a sum of up to four float64 vectors, if wᵀAw < 0 for that sum, exactly."""
    top = max(abs(v) for v in w)
    # From here on the largest entry is near 1, so that every part of w fits float64.
    w = [v / Fraction(2) ** (top.numerator.bit_length() - top.denominator.bit_length()) for v in w]
    M, _ = _whole(A, [0] * len(A))
    parts: list[list[float]] = []
    total = [Fraction(0)] * len(w)
    for _ in range(4):
        parts.append([float(v - t) for v, t in zip(w, total, strict=True)])
        total = [t + Fraction(p) for t, p in zip(total, parts[-1], strict=True)]
        bits = max(v.denominator for v in total)  # a power of two
        whole = np.array([int(v * bits) for v in total], dtype=object)
        if whole @ M @ whole < 0:
            return FrozenArray.of(np.array(parts))
    return None


@lru_cache(maxsize=64)
def factors(matrix: FrozenArray) -> tuple[Factor, Factor]:
    """x ↦ L₊ᵀx and x ↦ L₋ᵀx with A = L₊L₊ᵀ − L₋L₋ᵀ; an L without columns is left empty."""
    parts = split(matrix)
    if parts is not None:
        return _exact(parts.positive, len(matrix.array)), _exact(parts.negative, len(matrix.array))
    A = matrix.array
    exponents = _scaling(A)
    values, vectors = np.linalg.eigh(np.ldexp(A, -exponents[:, None] - exponents[None, :]))
    # What is dropped is below the error of the eigenvalues; the scaling has made them comparable.
    tiny = 8 * len(values) * np.finfo(float).eps * np.abs(values).max()
    up, down = (
        np.ldexp(vectors[:, kept] * np.sqrt(np.abs(values[kept])), exponents[:, None])
        for kept in (values > tiny, values < -tiny)
    )
    return Factor(FrozenArray.of(up)), Factor(FrozenArray.of(down))


def _exact(columns: tuple[Column, ...], n: int) -> Factor:
    import mpmath

    rounded = np.zeros((n, len(columns)))
    with mpmath.workprec(120):
        for j, (column, square) in enumerate(columns):
            root = mpmath.sqrt(square)
            rounded[:, j] = [float(mpmath.mpf(c) / root) for c in column]
    return Factor(FrozenArray.of(rounded), columns)
