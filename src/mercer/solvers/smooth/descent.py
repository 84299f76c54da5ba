"""a ← a − η(K(p − y) + αKa), w₀ ← w₀ − η Σ(p − y): the gradient-descent rule of Ritter's lecture.

Kept for teaching. The same optimum as Newton's, in thousands of steps instead of ten.
"""

from __future__ import annotations

import math

import numpy as np

from mercer._linalg import dot
from mercer._progress import progress
from mercer._steps import DescentStep, listener
from mercer.solvers.linear.matrix import operator_norm
from mercer.solvers.linear.panels import Panels
from mercer.solvers.smooth.losses import SmoothLoss
from mercer.solvers.smooth.newton import SmoothSolution


def gradient_descent(
    K: Panels,
    loss: SmoothLoss,
    alpha: float,
    *,
    intercept: bool = True,
    learning_rate: float | None = None,
    tol: float = 1e-6,
    max_iter: int = 1000,
) -> SmoothSolution:
    """From a = 0, w₀ = 0; ends where the gradient is `tol` times the first one."""
    eta = safe_rate(K, loss, alpha, intercept) if learning_rate is None else learning_rate
    a = 0.0 * loss.y
    b, values = 0.0 * a[0], 0.0 * a
    objectives, first, stopped, steps = [loss.value(values)], math.inf, "max_iter", 0
    tell = listener()
    with progress("gradient descent", max_iter) as bar:
        try:
            while steps < max_iter:
                g = loss.gradient(loss.link(values + b))
                slope = K.product(g) + alpha * values
                slope_b = loss.xp.sum(g, axis=0) if intercept else 0.0 * b
                size = math.sqrt(dot(slope, slope) + dot(slope_b, slope_b))
                first = size if steps == 0 else first
                if size <= tol * first:
                    stopped = ""
                    break
                a, b = a - eta * slope, b - eta * slope_b
                values = K.product(a)
                objective = loss.value(values + b) + 0.5 * alpha * dot(a, values)
                if not objective <= 10 * objectives[0] + 1.0:
                    raise ValueError(_diverges(eta, K, loss, alpha, intercept))
                objectives.append(objective)
                steps += 1
                if tell is not None:
                    tell(DescentStep(steps, a, b, objective))
                bar.advance(note=f"objective {objective:.6g}")
        except KeyboardInterrupt:
            stopped = "interrupt"
    return SmoothSolution(a, b, objectives[-1], steps, 2 * steps, stopped, objectives)


def _diverges(eta: float, K: Panels, loss: SmoothLoss, alpha: float, intercept: bool) -> str:
    said = f"gradient descent diverges with learning_rate={eta:.3g}; "
    if math.isfinite(loss.bound()):
        return f"{said}{safe_rate(K, loss, alpha, intercept):.3g} is safe (learning_rate=None)"
    return said + "take a smaller one"


def safe_rate(K: Panels, loss: SmoothLoss, alpha: float, intercept: bool) -> float:
    """1 over a bound of the curvature: that of the loss times ‖(K, 1)‖², plus α‖K‖."""
    if not math.isfinite(loss.bound()):
        raise ValueError(
            f"the curvature of {type(loss).__name__} has no bound, so that no learning rate is "
            "safe: give learning_rate=, or take solver='newton'"
        )
    n = K.shape[0]
    start = K.asarray(np.ones((n, 1)))
    norm = 1.1 * operator_norm(K.product, start, 20)  # from below, hence the tenth on top
    if norm == 0:
        return 1.0
    return 1.0 / (loss.bound() * (norm**2 + (n if intercept else 0)) + alpha * norm)
