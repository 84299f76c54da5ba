"""min Σ wᵢ log-loss(f(xᵢ) + b) + (α/2)‖f‖² by Newton's method, each step by conjugate gradients.

The problem is convex and smooth; a step needs only products with K. Steps are as exact as they
have to be: roughly far from the optimum, more and more finely near it. Along a step the scores are
known, so that a line search costs no product.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from mercer._progress import progress
from mercer.solvers.logistic_loss import Loss
from mercer.solvers.logistic_space import Precondition, Space

#: The share of a Newton step's gain that conjugate gradients may leave, far from the optimum.
LOOSEST = 0.25


@dataclass
class Point:
    """f as coefficients, b, and the scores f(xᵢ) + b; `penalty` is ‖f‖²."""

    coef: np.ndarray
    intercept: np.ndarray
    values: np.ndarray
    penalty: float


@dataclass(frozen=True)
class LogisticSolution:
    """`coef` in the space's own coordinates; `objectives` after every step."""

    coef: np.ndarray
    intercept: np.ndarray
    objective: float
    n_iter: int
    n_products: int
    stopped: str = ""
    objectives: list[float] = field(default_factory=list)


def newton(
    space: Space,
    loss: Loss,
    alpha: float,
    *,
    intercept: bool = True,
    tol: float = 1e-6,
    max_iter: int = 100,
    start: tuple[np.ndarray, np.ndarray] | None = None,
) -> LogisticSolution:
    """Ends where the objective is within `tol`, relative, of its minimum, by Newton's own estimate.

    A step that promises to gain δ leaves about δ²/objective to gain.
    """
    solver = _Newton(space, loss, alpha, intercept)
    point = solver.start(start)
    objective = solver.objective(point)
    history, stopped, steps = [objective], "max_iter", 0
    with progress("logistic regression", None) as bar:
        try:
            while steps < max_iter:
                promised, point_next = solver.step(point, objective)
                lowered = objective - solver.objective(point_next)
                if not lowered > 0:
                    # No shorter step helps either: the products have no more digits to give.
                    stopped = "" if _left(promised, objective) <= tol * objective else "rounding"
                    break
                point, objective, steps = point_next, objective - lowered, steps + 1
                history.append(objective)
                bar.advance(note=f"objective {objective:.6g}")
                if _left(promised, objective) <= tol * objective:
                    stopped = ""
                    break
        except KeyboardInterrupt:
            stopped = "interrupt"
    return LogisticSolution(
        point.coef, point.intercept, objective, steps, solver.n_products, stopped, history
    )


def _left(promised: float, objective: float) -> float:
    return promised * min(LOOSEST, promised / max(objective, 1e-300))


class _Newton:
    def __init__(self, space: Space, loss: Loss, alpha: float, intercept: bool) -> None:
        self.space, self.loss, self.alpha, self.intercept = space, loss, alpha, intercept
        self.n_products = 0

    def start(self, given: tuple[np.ndarray, np.ndarray] | None) -> Point:
        shape = (self.space.size, self.loss.columns)
        n = len(self.loss.weights)
        if given is None:
            b = self.loss.start() if self.intercept else np.zeros(shape[1])
            return Point(np.zeros(shape), b, np.zeros((n, shape[1])) + b, 0.0)
        coef, b = given
        values = self._evaluate(coef)
        return Point(coef, b, values + b, self.space.inner(coef, coef, values))

    def objective(self, point: Point) -> float:
        return self.loss.value(point.values) + 0.5 * self.alpha * point.penalty

    def step(self, point: Point, objective: float) -> tuple[float, Point]:
        """What the step promises, and where it leads after the line search."""
        p = self.loss.probabilities(point.values)
        g = self.loss.residual(p)
        r = -(self.space.gradient(g) + self.alpha * point.coef)
        rb = -g.sum(axis=0) if self.intercept else np.zeros(g.shape[1])
        diagonal = self.loss.weights[:, None] * p * (1 - p)
        precondition = self.space.preconditioner(diagonal, self.alpha, self.intercept)
        d, db, values, promised = self._solve(p, r, rb, precondition, objective)
        return promised, self._search(point, d, db, values, promised, objective)

    def _solve(
        self,
        p: np.ndarray,
        r: np.ndarray,
        rb: np.ndarray,
        precondition: Precondition,
        objective: float,
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
        """H d = r by conjugate gradients in the inner product of the space.

        Gives d, its intercept, its values at the examples, and ⟨r, d⟩.
        """
        d, db, values = np.zeros_like(r), np.zeros_like(rb), np.zeros_like(p)
        q, qb, qv = np.zeros_like(r), np.zeros_like(rb), np.zeros_like(p)
        rz = gain = wanted = 0.0
        for turn in range(200):
            z, zb = self._centred(*precondition(r, rb))
            zf = self._evaluate(z)
            new = self.space.inner(r, z, zf) + float(rb @ zb)
            if turn == 0:
                q, qb, qv = z, zb, zf + zb
                # ⟨r, z⟩ is about twice the distance to the optimum: the nearer, the finer.
                wanted = min(LOOSEST, max(new, 0.0) / max(objective, 1e-300)) * new
            else:
                beta = new / rz
                q, qb, qv = z + beta * q, zb + beta * qb, zf + zb + beta * qv
            rz = new
            if gain and not rz > wanted:
                break
            curved = self.loss.curvature(p, qv)
            Hq = self.space.gradient(curved) + self.alpha * q
            Hb = curved.sum(axis=0) if self.intercept else np.zeros_like(rb)
            bend = float(np.vdot(qv, curved)) + self.alpha * self.space.inner(q, q, qv - qb)
            if not bend > 0:
                break
            length = rz / bend
            gain += length * rz
            d, db, values = d + length * q, db + length * qb, values + length * qv
            r, rb = r - length * Hq, rb - length * Hb
        return d, db, values, gain

    def _centred(self, z: np.ndarray, zb: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Scores that all classes share change no probability: keep their sum at zero."""
        if self.loss.columns == 1:
            return z, zb
        return z - z.mean(axis=1, keepdims=True), zb - zb.mean()

    def _search(
        self,
        point: Point,
        d: np.ndarray,
        db: np.ndarray,
        values: np.ndarray,
        promised: float,
        objective: float,
    ) -> Point:
        """The full step, or half of it, or half of that, …"""
        f = values - db
        cross, square = self.space.inner(point.coef, d, f), self.space.inner(d, d, f)
        length = 1.0
        for _ in range(40):
            penalty = point.penalty + 2 * length * cross + length**2 * square
            scores = point.values + length * values
            value = self.loss.value(scores) + 0.5 * self.alpha * penalty
            if value <= objective - 1e-4 * length * promised:
                break
            length /= 2
        return Point(
            point.coef + length * d, point.intercept + length * db, scores, max(penalty, 0.0)
        )

    def _evaluate(self, coef: np.ndarray) -> np.ndarray:
        self.n_products += 1
        return self.space.evaluate(coef)
