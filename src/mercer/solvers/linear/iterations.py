"""A X = B for symmetric positive definite A, by products with A only: conjugate gradients.

Each column is a sequence of its own; they share the products, and leave as they converge. Written
over the array namespace of B.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from mercer._arrays import namespace
from mercer._lazy import record
from mercer._machine.threads import single_threaded_blas
from mercer._progress import progress
from mercer._steps import ConjugateStep, listener
from mercer.tuning import STALLED_GAIN, STALLED_STEPS

#: product(P, columns): of the columns that are still running, and which ones those are.
Product = Callable[[Any, Any], Any]


@record
class Iterations:
    """The solution, the relative residual ‖AX − B‖/‖B‖ of each column, and why it ended."""

    X: Any
    residuals: Any
    n_iter: int
    stopped: str = ""


class NotDefinite(ArithmeticError):
    """pᵀAp ≤ 0 was met: the matrix is not positive definite."""


def conjugate_gradients(
    multiply: Product,
    B: Any,
    precondition: Product,
    tol: float = 1e-6,
    max_iter: int = 1000,
    patience: int = STALLED_STEPS,
) -> Iterations:
    """Solve until all residuals are at most `tol`, or until rounding leaves nothing to gain."""
    columns = _Columns(B, precondition, tol)
    stopped, tell = "", listener()
    with progress("conjugate gradients", None) as bar, single_threaded_blas():
        try:
            while len(columns.running):
                if columns.n_iter >= max_iter:
                    stopped = "max_iter"
                    break
                if not columns.step(multiply):
                    stopped = "rounding"
                    break
                X, worst = columns.X, columns.worst
                if tell is not None:
                    tell(ConjugateStep(columns.n_iter, 1.0 * X, 0.0 * X[0], worst))
                bar.advance(note=f"residual {worst:.1e}")
                if columns.lead_nowhere(patience):
                    stopped = "rounding"
                    break
                columns.turn()
        except KeyboardInterrupt:
            stopped = "interrupt"
    return Iterations(columns.X, columns.residuals(), columns.n_iter, stopped)


class _Columns:
    """The columns of X and R = B − AX, of which `running` go on, each along its column of P."""

    def __init__(self, B: Any, precondition: Product, tol: float) -> None:
        self.xp, self.precondition, self.tol = namespace(B), precondition, tol
        norms = self._norms(B)
        self.norms = self.xp.where(norms == 0, 1.0, norms)
        self.X, self.R = 0.0 * B, 1.0 * B
        self.running = self.xp.nonzero(norms > tol * self.norms)[0]
        self.P, self.rz = self._preconditioned()
        self.relative, self.worst, self.n_iter = norms, math.inf, 0
        #: What each column has gained in all, and since its residual last fell.
        self.gained, self.recently = 0.0 * self.norms, 0.0 * self.norms
        self.best, self.stalled = math.inf, 0

    def _norms(self, R: Any) -> Any:
        return self.xp.linalg.vector_norm(R, axis=0)

    def residuals(self) -> Any:
        return self._norms(self.R) / self.norms

    def _preconditioned(self) -> tuple[Any, Any]:
        """Z = M⁻¹R of the columns that run, and RᵀZ of each."""
        R = self.R[:, self.running]
        Z = self.precondition(R, self.running)
        return Z, self.xp.sum(R * Z, axis=0)

    def step(self, multiply: Product) -> bool:
        """Go along P to where the residual is least; False where pᵀAp is nothing but rounding."""
        xp, running = self.xp, self.running
        AP = multiply(self.P, running)
        curvature = xp.sum(self.P * AP, axis=0)
        if not bool(xp.all(curvature > 0)):
            if self.n_iter and bool(xp.any(xp.abs(curvature) < 1e-10 * xp.abs(self.rz))):
                return False
            raise NotDefinite(f"pᵀAp = {float(xp.min(curvature)):.3g} ≤ 0")
        length = self.rz / curvature
        self.X[:, running] += length * self.P
        self.R[:, running] -= length * AP
        self.gained[running] += length * self.rz
        self.recently[running] += length * self.rz
        self.n_iter += 1
        self.relative = self._norms(self.R[:, running]) / self.norms[running]
        self.worst = float(xp.max(self.relative))
        return True

    def lead_nowhere(self, patience: int) -> bool:
        """Whether residuals have not fallen for long, and nothing else was gained meanwhile."""
        running = self.running
        self.stalled = 0 if self.worst < 0.9 * self.best else self.stalled + 1
        self.best = min(self.best, self.worst)
        if self.stalled > patience:
            if bool(self.xp.all(self.recently[running] <= STALLED_GAIN * self.gained[running])):
                return True
            self.stalled = 0
        if not self.stalled:
            self.recently[:] = 0.0
        return False

    def turn(self) -> None:
        """Leave the columns that have converged, and turn the others to their next directions."""
        going = self.relative > self.tol
        self.running, P, rz = self.running[going], self.P[:, going], self.rz[going]
        if len(self.running):
            Z, self.rz = self._preconditioned()
            self.P = Z + (self.rz / rz) * P
