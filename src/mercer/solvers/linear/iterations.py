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

#: Steps without a smaller residual after which it is asked whether they still lead anywhere, and
#: the share of ½ xᵀAx − bᵀx that they must have gained. Residuals alone do not tell: where A is
#: badly conditioned they grow for hundreds of steps, and the solution gets better with each.
PATIENCE, GAIN = 100, 1e-10

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
    patience: int = PATIENCE,
) -> Iterations:
    """Ends where all residuals are at most `tol`, or where rounding leaves nothing to gain."""
    xp = namespace(B)
    norms = xp.linalg.vector_norm(B, axis=0)
    norms = xp.where(norms == 0, 1.0, norms)
    X, R = 0.0 * B, 1.0 * B
    running = xp.nonzero(xp.linalg.vector_norm(R, axis=0) > tol * norms)[0]
    Z = precondition(R[:, running], running)
    P, rz = Z, xp.sum(R[:, running] * Z, axis=0)
    gained, recently = 0.0 * norms, 0.0 * norms
    best, stalled, stopped, step, tell = math.inf, 0, "", 0, listener()
    with progress("conjugate gradients", None) as bar, single_threaded_blas():
        try:
            while len(running) and step < max_iter:
                AP = multiply(P, running)
                curvature = xp.sum(P * AP, axis=0)
                if not bool(xp.all(curvature > 0)):
                    if step and bool(xp.any(xp.abs(curvature) < 1e-10 * xp.abs(rz))):
                        stopped = "rounding"
                        break
                    raise NotDefinite(f"pᵀAp = {float(xp.min(curvature)):.3g} ≤ 0")
                length = rz / curvature
                X[:, running] += length * P
                R[:, running] -= length * AP
                gained[running] += length * rz
                recently[running] += length * rz
                step += 1
                relative = xp.linalg.vector_norm(R[:, running], axis=0) / norms[running]
                worst = float(xp.max(relative))
                if tell is not None:
                    tell(ConjugateStep(step, 1.0 * X, 0.0 * X[0], worst))
                bar.advance(note=f"residual {worst:.1e}")
                stalled = 0 if worst < 0.9 * best else stalled + 1
                best = min(best, worst)
                if stalled > patience:
                    if bool(xp.all(recently[running] <= GAIN * gained[running])):
                        stopped = "rounding"
                        break
                    stalled = 0
                if not stalled:
                    recently[:] = 0.0
                going = relative > tol
                running, P, rz = running[going], P[:, going], rz[going]
                if not len(running):
                    break
                Z = precondition(R[:, running], running)
                new = xp.sum(R[:, running] * Z, axis=0)
                P, rz = Z + (new / rz) * P, new
            else:
                stopped = "max_iter" if len(running) else ""
        except KeyboardInterrupt:
            stopped = "interrupt"
    return Iterations(X, xp.linalg.vector_norm(R, axis=0) / norms, step, stopped)
