"""(SKS + λI) C = ST by conjugate gradients: K is multiplied by, tile by tile, and never stored.

Each target may have a λ of its own; they share the products K @ P. K ≈ F Fᵀ from a few columns of K
makes them converge in a few steps. Both ways to it choose examples S and give F with
F Fᵀ = K₍ₙₛ₎ K₍ₛₛ₎⁻¹ K₍ₛₙ₎, so that F Fᵀ = K on the rows and columns of S: `nystrom` takes S at
random; `by_residual` takes each next one where K − FFᵀ is still large.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from mercer._config import get_config
from mercer._notices import NumericalWarning, warn
from mercer._steps import relayed
from mercer.gram import Gram
from mercer.maps.centers import LowRank, pivoted_cholesky
from mercer.solvers.linear import blas
from mercer.solvers.linear.factor import doubtful, warn_condition
from mercer.solvers.linear.iterations import Iterations, NotDefinite, conjugate_gradients
from mercer.solvers.linear.matrix import operator_norm
from mercer.solvers.linear.problem import RidgeProblem, RidgeSolution
from mercer.tuning import ROUGH_GAP


def ridge(
    gram: Gram,
    problem: RidgeProblem,
    *,
    preconditioner: str | None = "nystrom",
    rank: int | None = None,
    tol: float = 1e-6,
    max_iter: int = 1000,
    random: np.random.RandomState,
) -> RidgeSolution:
    """A free intercept is one more right-hand side per λ."""
    s, alphas = problem.s, problem.alphas
    distinct = np.unique(alphas) if problem.intercept else np.empty(0)
    B = np.column_stack([s[:, None] * problem.targets, *[s for _ in distinct]])
    shifts = np.concatenate([alphas, distinct])
    system = RidgeSystem(gram, s, shifts, preconditioner, rank, random)

    def model(X: np.ndarray) -> dict[str, Any]:
        """a and b from the columns of a solution."""
        C, b = X, np.zeros(len(alphas))
        if problem.intercept:
            D = C[:, len(alphas) :][:, np.searchsorted(distinct, alphas)]
            C = C[:, : len(alphas)]
            b = (s @ C) / (s @ D)
            C = C - D * b
        return {"coef": (s[:, None] * C).astype(gram.dtype), "intercept": b}

    with relayed(lambda step: replace(step, **model(step.coef))):
        run = system.solve(B, tol, max_iter)
    if run.stopped in ("rounding", "max_iter"):
        system.warn_few_digits()
    found = model(run.X)
    return RidgeSolution(
        **found, n_iter=run.n_iter, stopped=run.stopped, residual=float(run.residuals.max())
    )


class RidgeSystem:
    """SKS + λI with its preconditioner, ready to be solved for right-hand sides."""

    def __init__(
        self,
        gram: Gram,
        s: np.ndarray,
        shifts: np.ndarray,
        preconditioner: str | None,
        rank: int | None,
        random: np.random.RandomState,
    ) -> None:
        self.gram: Gram = gram
        self.s: np.ndarray = s
        self.shifts: np.ndarray = shifts
        self.woodbury: Woodbury | None = None
        if preconditioner is not None:
            size = default_rank(len(s), gram.dtype.itemsize) if rank is None else rank
            low_rank = CHOICES[preconditioner](gram, size, random)
            self.woodbury = Woodbury(low_rank, None if (s == 1).all() else s)

    def solve(self, B: np.ndarray, tol: float, max_iter: int) -> Iterations:
        try:
            run = conjugate_gradients(self._multiply, B, self._precondition, tol, max_iter)
            return self._checked(run, B, tol)
        except NotDefinite:
            warn(
                "K + λI is not positive definite, which conjugate gradients need: "
                "going on with MINRES, which does not",
                NumericalWarning,
            )
            return self._minres(B, tol, max_iter)

    def _checked(self, run: Iterations, B: np.ndarray, tol: float) -> Iterations:
        """The run with its true residuals, which need not fall as those that it kept do."""
        if run.stopped == "interrupt":
            return run
        residuals = self._residuals(run.X, B)
        stopped = run.stopped
        if not stopped and residuals.max() > max(10 * tol, ROUGH_GAP):
            stopped = "rounding"
        return Iterations(run.X, residuals, run.n_iter, stopped)

    def warn_few_digits(self) -> None:
        """Name the condition number, if that is what was in the way: K itself may be singular."""
        column = np.array([self.shifts.argmin()])
        least = float(self.shifts.min())
        largest = operator_norm(lambda v: self._multiply(v, column), self.s[:, None], 3)
        if doubtful(largest / least, self.gram.dtype):
            warn_condition(largest / least, least)

    def _residuals(self, X: np.ndarray, B: np.ndarray) -> np.ndarray:
        norms = np.linalg.norm(B, axis=0)
        norms[norms == 0] = 1.0
        return np.linalg.norm(B - self._multiply(X, np.arange(B.shape[1])), axis=0) / norms

    def _multiply(self, P: np.ndarray, columns: np.ndarray) -> np.ndarray:
        s = self.s[:, None]
        return s * (self.gram @ (s * P)).astype(np.float64) + self.shifts[columns] * P

    def _precondition(self, R: np.ndarray, columns: np.ndarray) -> np.ndarray:
        if self.woodbury is None:
            return R / self.shifts[columns]
        return self.woodbury.solve(R, self.shifts[columns])

    def _minres(self, B: np.ndarray, tol: float, max_iter: int) -> Iterations:
        from scipy.sparse.linalg import LinearOperator, minres

        n, X, steps = len(B), np.empty(B.shape), 0
        for j in range(B.shape[1]):

            def count(_: np.ndarray) -> None:
                nonlocal steps
                steps += 1

            def product(v: np.ndarray, j: int = j) -> np.ndarray:
                return self._multiply(v.reshape(-1, 1), np.array([j]))[:, 0]

            operator = LinearOperator((n, n), matvec=product, dtype=np.float64)
            X[:, j], _ = minres(operator, B[:, j], rtol=tol, maxiter=max_iter, callback=count)
        residuals = self._residuals(X, B)
        return Iterations(X, residuals, steps, "max_iter" if residuals.max() > 10 * tol else "")


# --- preconditioners ------------------------------------------------------------------------


def default_rank(n: int, itemsize: int) -> int:
    """10 √N columns, at most what a fifth of the memory limit holds."""
    fitting = int(0.2 * get_config().memory_bytes / (2 * itemsize * n))
    return max(1, min(n, round(10 * np.sqrt(n)), fitting))


def nystrom(gram: Gram, rank: int, random: np.random.RandomState) -> LowRank:
    """S is a uniform sample."""

    def pick(rest: np.ndarray, size: int) -> np.ndarray:
        left = np.flatnonzero(rest)
        return random.choice(left, min(size, len(left)), replace=False)

    return pivoted_cholesky(gram, rank, pick, rank)


def by_residual(gram: Gram, rank: int, random: np.random.RandomState) -> LowRank:
    """S grows in blocks, drawn with probability proportional to the diagonal of K − FFᵀ."""

    def pick(rest: np.ndarray, size: int) -> np.ndarray:
        return random.choice(len(rest), size=size, p=rest / rest.sum())

    return pivoted_cholesky(gram, rank, pick, max(1, min(64, rank // 8)))


class Woodbury:
    """(SFFᵀS + λI)⁻¹ for any λ: σ² + λ in the span of SF, λ outside it."""

    def __init__(self, low_rank: LowRank, scale: np.ndarray | None = None) -> None:
        F = low_rank.F if scale is None else scale[:, None].astype(low_rank.F.dtype) * low_rank.F
        squares, V = np.linalg.eigh((F.T @ F).astype(np.float64))
        good = squares > squares.max(initial=0.0) * 10 * len(V) * np.finfo(F.dtype).eps
        self.squares: np.ndarray = squares[good]
        self.U = F @ (V[:, good] / np.sqrt(self.squares)).astype(F.dtype)

    def solve(self, B: np.ndarray, shifts: np.ndarray) -> np.ndarray:
        """One λ for each column of B."""
        inside = blas.transposed_times(self.U, B)
        change = 1.0 / (self.squares[:, None] + shifts) - 1.0 / shifts
        return B / shifts + blas.times(self.U, change * inside)


CHOICES = {"nystrom": nystrom, "cholesky": by_residual}
