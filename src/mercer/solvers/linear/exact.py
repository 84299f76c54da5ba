"""a = (K + λW⁻¹)⁻¹(t − b): ridge regression through the N×N matrix, and leave-one-out."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from mercer._progress import progress
from mercer.gram import Gram
from mercer.solvers.linear.factor import (
    Factor,
    Inverse,
    Spectrum,
    shifted,
    squares_times,
    warn_condition,
)
from mercer.solvers.linear.matrix import matrix_fits, scaled_matrix
from mercer.solvers.linear.problem import RidgePath, RidgeProblem, RidgeSolution
from mercer.tuning import FEW_DIGITS

Parts = Iterator[tuple[np.ndarray, np.ndarray, Any]]
#: Coefficients in units of √w, intercepts, and the precision of the solution.
Solved = tuple[np.ndarray, np.ndarray, np.dtype]


def cholesky(
    gram: Gram, problem: RidgeProblem, triangle: np.ndarray | None = None
) -> RidgeSolution:
    """One factorization for each distinct λ; `triangle`: SKS, if it was made, to be overwritten."""
    count = len(problem.distinct)
    system = shifted(gram, problem.scale, once=count == 1)
    if triangle is not None and count == 1:
        system.triangle = triangle
    return for_each_alpha(
        lambda alpha, which: solved_by(system.factor(alpha), problem, which), problem, gram.dtype
    )


def eigh(gram: Gram, problem: RidgeProblem) -> RidgeSolution:
    """Any number of distinct λ from one eigendecomposition."""
    spectrum = _spectrum(gram, problem)

    def one(alpha: float, which: np.ndarray) -> Solved:
        if alpha == 0 and problem.intercept:
            return _least_norm(spectrum, problem, which)
        return solved_by(spectrum.at(alpha), problem, which)

    return for_each_alpha(one, problem, spectrum.vectors.dtype)


def solved_by(factor: Inverse, problem: RidgeProblem, which: np.ndarray) -> Solved:
    solved = factor.solve(problem.right_hand_sides(which))
    c, _, b = problem.unscaled(solved)
    return c, b, solved.dtype


def _least_norm(spectrum: Spectrum, problem: RidgeProblem, which: np.ndarray) -> Solved:
    """Least squares without a penalty; of all solutions that of least ‖f‖².

    b alone fits the part of the targets in the null space of K, if a constant has a part there.
    """
    Q, s = spectrum.vectors.astype(np.float64), problem.s
    null = Q[:, np.abs(spectrum.values) <= spectrum.rounding]
    reach = null.T @ s
    total = float(reach @ reach)
    if total <= len(s) * float(np.finfo(spectrum.vectors.dtype).eps) * float(s @ s):
        return solved_by(spectrum.at(0.0), problem, which)
    t = s[:, None] * problem.targets[:, which]
    b = reach @ (null.T @ t) / total
    c = spectrum.at(0.0).solve(t - np.outer(s, b))
    return c, b, c.dtype


def for_each_alpha(
    solve: Callable[[float, np.ndarray], Solved], problem: RidgeProblem, dtype: np.dtype
) -> RidgeSolution:
    coef = np.zeros(problem.targets.shape, dtype=dtype)
    b = np.zeros(problem.targets.shape[1])
    with progress("ridge", len(problem.distinct)) as bar:
        for alpha, mine in problem.each_alpha():
            c, b[mine], precision = solve(alpha, mine)
            coef = coef.astype(precision, copy=False)  # it may have gone on in double precision
            coef[:, mine] = problem.scaled(c)
            bar.advance()
    return RidgeSolution(coef, b)


def cholesky_path(gram: Gram, problem: RidgeProblem) -> RidgePath:
    """A few λ, one factorization and one triangular inverse each, in one N×N array."""
    system = shifted(gram, problem.scale)

    def parts() -> Parts:
        with progress("ridge path", len(problem.alphas)) as bar:
            for alpha in problem.alphas:
                factor: Factor = system.factor(float(alpha))
                solved = factor.solve(problem.right_hand_sides())
                yield solved, factor.inverse_diagonal(), None
                bar.advance()

    return problem.path(gram, parts())


def eigh_path(gram: Gram, problem: RidgeProblem) -> RidgePath:
    """Any number of λ from one eigendecomposition SKS = Q diag(ω) Qᵀ."""
    spectrum = _spectrum(gram, problem)
    Q = spectrum.vectors
    right = (Q.T @ problem.right_hand_sides().astype(Q.dtype)).astype(np.float64)
    inverse = spectrum.inverse(problem.alphas)
    whole = spectrum.inverse(problem.alphas, keep_null=True)
    null = bool((inverse != whole).any())
    diagonals = squares_times(Q, whole)

    def solved(inverse: np.ndarray) -> np.ndarray:
        return Q @ (inverse[:, None] * right).astype(Q.dtype)  # type: ignore[no-any-return]

    def parts() -> Parts:
        with progress("ridge path", len(inverse)) as bar:
            for i in range(len(inverse)):
                yield solved(inverse[i]), diagonals[:, i], solved(whole[i]) if null else None
                bar.advance()

    return problem.path(gram, parts())


def _spectrum(gram: Gram, problem: RidgeProblem) -> Spectrum:
    """In double precision where single gives the smallest ω + λ no certain digit."""
    least = float(problem.alphas.min())
    spectrum = Spectrum.of(scaled_matrix(gram, problem.scale))
    single = spectrum.vectors.dtype == np.float32
    unsure = single and spectrum.condition(least) * np.finfo(np.float32).eps > 0.05
    if unsure and matrix_fits(3, gram.shape[0], 8):
        del spectrum
        spectrum = Spectrum.of(scaled_matrix(gram, problem.scale, double=True))
    condition, dtype = spectrum.condition(least), spectrum.vectors.dtype
    if condition * np.finfo(dtype).eps > (FEW_DIGITS if dtype == np.float64 else 0.05):
        warn_condition(condition, least, "; directions that K leaves out get none")
    return spectrum
