"""a = (K + λW⁻¹)⁻¹(t − b): ridge regression through the N×N matrix, and its leave-one-out errors.

With S = diag(√w) the weighted problem is symmetric again: c = (SKS + λI)⁻¹ S(t − b), a = Sc. An
unpenalised b asks for Σ aᵢ = 0: one more right-hand side, d = (SKS + λI)⁻¹ s, and b = sᵀc / sᵀd.

Leaving example i out changes its prediction by cᵢ / (sᵢ Cᵢᵢ), with C the inverse that gave c:
(SKS + λI)⁻¹, less ddᵀ/sᵀd where b is free. So all N refits are in the diagonal of one inverse.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import LinAlgError

from mercer._progress import progress
from mercer.gram.base import Gram
from mercer.solvers.linear.factor import (
    FEW_DIGITS,
    Factor,
    Spectrum,
    shifted,
    squares_times,
    warn_condition,
)
from mercer.solvers.linear.matrix import scaled_matrix
from mercer.solvers.requirements import Size, fits


@dataclass(frozen=True)
class RidgeSolution:
    """One column of `coef` and one `intercept` for each target."""

    coef: np.ndarray
    intercept: np.ndarray
    n_iter: int = 1


@dataclass(frozen=True)
class RidgePath:
    """The first axis of everything runs over `alphas`; `loo` holds leave-one-out predictions."""

    alphas: np.ndarray
    coef: np.ndarray
    intercept: np.ndarray
    loo: np.ndarray


def cholesky(
    gram: Gram,
    targets: np.ndarray,
    alphas: np.ndarray,
    weights: np.ndarray | None = None,
    intercept: bool = False,
) -> RidgeSolution:
    """Targets (N, T), with one λ for each; one factorisation for each distinct λ."""
    problem = Problem(targets, weights, intercept)
    distinct = np.unique(alphas)
    system = shifted(gram, problem.scale, once=len(distinct) == 1)
    coef = np.zeros(targets.shape, dtype=gram.dtype)
    b = np.zeros(targets.shape[1])
    with progress("ridge", len(distinct)) as bar:
        for alpha in distinct:
            mine = np.flatnonzero(alphas == alpha)
            solution = problem.solve(system.factor(float(alpha)), mine)
            if solution.coef.dtype != coef.dtype:  # it went on in double precision
                coef = coef.astype(solution.coef.dtype)
            coef[:, mine], b[mine] = solution.coef, solution.intercept
            bar.advance()
    return RidgeSolution(coef, b)


def cholesky_path(
    gram: Gram,
    targets: np.ndarray,
    alphas: np.ndarray,
    weights: np.ndarray | None = None,
    intercept: bool = False,
) -> RidgePath:
    """A few λ, one factorisation and one triangular inverse each, in one N×N array."""
    problem = Problem(targets, weights, intercept)
    system = shifted(gram, problem.scale)
    parts = []
    with progress("ridge path", len(alphas)) as bar:
        for alpha in alphas:
            factor = system.factor(float(alpha))
            c, d, b = problem.unscaled(factor.solve(problem.right_hand_sides()))
            loo = problem.leave_one_out(gram, c, d, b, factor.inverse_diagonal())
            parts.append((problem.scaled(c), b, loo))
            bar.advance()
    coef, b, loo = (np.stack(part) for part in zip(*parts, strict=True))
    return RidgePath(alphas, coef, b, loo)


def eigh_path(
    gram: Gram,
    targets: np.ndarray,
    alphas: np.ndarray,
    weights: np.ndarray | None = None,
    intercept: bool = False,
) -> RidgePath:
    """Any number of λ from one eigendecomposition SKS = Q diag(ω) Qᵀ."""
    problem = Problem(targets, weights, intercept)
    spectrum = _spectrum(gram, problem.scale, float(alphas.min()))
    Q = spectrum.vectors
    parts = (Q.T @ problem.right_hand_sides().astype(Q.dtype)).astype(np.float64)
    inverse = spectrum.inverse(alphas)
    whole = spectrum.inverse(alphas, keep_null=True)
    null = bool((inverse != whole).any())
    diagonals = squares_times(Q, whole)
    coef, bs, loos = [], [], []
    with progress("ridge path", len(alphas)) as bar:
        for i in range(len(alphas)):
            solved = Q @ (inverse[i][:, None] * parts).astype(Q.dtype)
            c, d, b = problem.unscaled(solved)
            coef.append(problem.scaled(c))
            bs.append(b)
            if null:
                c, d, b = problem.unscaled(Q @ (whole[i][:, None] * parts).astype(Q.dtype))
            loos.append(problem.leave_one_out(gram, c, d, b, diagonals[:, i]))
            bar.advance()
    return RidgePath(alphas, np.stack(coef), np.stack(bs), np.stack(loos))


def eigh(
    gram: Gram,
    targets: np.ndarray,
    alphas: np.ndarray,
    weights: np.ndarray | None = None,
    intercept: bool = False,
) -> RidgeSolution:
    """Targets (N, T), with one λ for each, from one eigendecomposition."""
    problem = Problem(targets, weights, intercept)
    spectrum = _spectrum(gram, problem.scale, float(alphas.min()))
    coef = np.empty(targets.shape, dtype=spectrum.vectors.dtype)
    b = np.zeros(targets.shape[1])
    for alpha in np.unique(alphas):
        mine = np.flatnonzero(alphas == alpha)
        solution = problem.solve(spectrum.at(float(alpha)), mine)
        coef[:, mine], b[mine] = solution.coef, solution.intercept
    return RidgeSolution(coef, b)


def _spectrum(gram: Gram, scale: np.ndarray | None, least: float) -> Spectrum:
    """In double precision where single gives the smallest ω + λ no certain digit."""
    spectrum = Spectrum.of(scaled_matrix(gram, scale))
    single = spectrum.vectors.dtype == np.float32
    unsure = single and spectrum.condition(least) * np.finfo(np.float32).eps > 0.05
    if unsure and fits("eigh", Size(gram.shape[0], 1, 0, 8)):
        del spectrum
        spectrum = Spectrum.of(scaled_matrix(gram, scale, double=True))
    condition, dtype = spectrum.condition(least), spectrum.vectors.dtype
    if condition * np.finfo(dtype).eps > (FEW_DIGITS if dtype == np.float64 else 0.05):
        warn_condition(condition, least, "; directions that K leaves out get none")
    return spectrum


class Problem:
    """Targets, weights and the free intercept, in terms of the symmetric problem."""

    def __init__(self, targets: np.ndarray, weights: np.ndarray | None, intercept: bool) -> None:
        self.targets = targets
        self.scale = None if weights is None else np.sqrt(weights)
        self.intercept = intercept
        self._s = np.ones(len(targets)) if self.scale is None else self.scale

    def right_hand_sides(self, which: np.ndarray | slice = slice(None)) -> np.ndarray:
        t = self._s[:, None] * self.targets[:, which]
        return np.column_stack([t, self._s]) if self.intercept else t

    def unscaled(self, solved: np.ndarray) -> tuple[np.ndarray, np.ndarray | None, np.ndarray]:
        """c with b taken out, d, and b."""
        if not np.isfinite(solved).all():
            raise LinAlgError("K + λI is singular: no coefficients could be found; raise alpha")
        if not self.intercept:
            return solved, None, np.zeros(solved.shape[1])
        d = solved[:, -1].astype(np.float64)
        c = solved[:, :-1].astype(np.float64)
        b = (self._s @ c) / (self._s @ d)
        return c - d[:, None] * b, d, b

    def scaled(self, c: np.ndarray) -> np.ndarray:
        return c if self.scale is None else self.scale[:, None].astype(c.dtype) * c

    def solve(self, factor: Factor, which: np.ndarray) -> RidgeSolution:
        solved = factor.solve(self.right_hand_sides(which))
        c, _, b = self.unscaled(solved)
        return RidgeSolution(self.scaled(c).astype(solved.dtype), b)

    def leave_one_out(
        self, gram: Gram, c: np.ndarray, d: np.ndarray | None, b: np.ndarray, diagonal: np.ndarray
    ) -> np.ndarray:
        """tᵢ − cᵢ / (sᵢ Cᵢᵢ)."""
        if d is not None:
            diagonal = diagonal - np.square(d) / (self._s @ d)
        zero = self._s == 0
        with np.errstate(divide="ignore", invalid="ignore"):
            loo = self.targets - c / (self._s * diagonal)[:, None]
        if zero.any():  # an example without weight is left out already
            coef = self.scaled(c)
            loo[zero] = gram.take(rows=np.flatnonzero(zero)) @ coef + b
        return loo
