"""a ← a − η(K(p − y) + αKa), w₀ ← w₀ − η Σ(p − y): the gradient-descent rule of lecture 000.

Kept for teaching. The same optimum as Newton's, in thousands of steps instead of ten.
"""

from __future__ import annotations

import numpy as np

from mercer._progress import progress
from mercer.solvers.linear.power import operator_norm
from mercer.solvers.smooth.losses import Loss
from mercer.solvers.smooth.newton import LogisticSolution
from mercer.solvers.smooth.spaces import Kernels


def gradient_descent(
    K: Kernels,
    loss: Loss,
    alpha: float,
    *,
    intercept: bool = True,
    learning_rate: float | None = None,
    tol: float = 1e-6,
    max_iter: int = 1000,
) -> LogisticSolution:
    """From a = 0, w₀ = 0; ends where the gradient is `tol` times the first one."""
    n, columns = len(loss.weights), loss.columns
    eta = safe_rate(K, loss, alpha, intercept) if learning_rate is None else learning_rate
    a, b, values = np.zeros((n, columns)), np.zeros(columns), np.zeros((n, columns))
    objectives, first, stopped, steps = [loss.value(values)], np.inf, "max_iter", 0
    with progress("gradient descent", max_iter) as bar:
        try:
            while steps < max_iter:
                g = loss.residual(loss.probabilities(values + b))
                slope = K.times(g) + alpha * values
                slope_b = g.sum(axis=0) if intercept else np.zeros(columns)
                size = float(np.hypot(np.linalg.norm(slope), np.linalg.norm(slope_b)))
                first = size if steps == 0 else first
                if size <= tol * first:
                    stopped = ""
                    break
                a, b = a - eta * slope, b - eta * slope_b
                values = K.times(a)
                objective = loss.value(values + b) + 0.5 * alpha * float(np.vdot(a, values))
                if not objective <= 10 * objectives[0] + 1.0:
                    raise ValueError(
                        f"gradient descent diverges with learning_rate={eta:.3g}; "
                        f"{safe_rate(K, loss, alpha, intercept):.3g} is safe (learning_rate=None)"
                    )
                objectives.append(objective)
                steps += 1
                bar.advance(note=f"objective {objective:.6g}")
        except KeyboardInterrupt:
            stopped = "interrupt"
    return LogisticSolution(a, b, objectives[-1], steps, 2 * steps, stopped, objectives)


def safe_rate(K: Kernels, loss: Loss, alpha: float, intercept: bool) -> float:
    """1 over a bound of the curvature, w/4 (two classes) or w/2 times ‖(K, 1)‖², plus α‖K‖."""
    n = len(loss.weights)
    norm = 1.1 * operator_norm(K.times, np.ones((n, 1)), 20)  # from below, hence the tenth on top
    if norm == 0:
        return 1.0
    bend = float(loss.weights.max()) * (0.25 if loss.columns == 1 else 0.5)
    return 1.0 / (bend * (norm**2 + (n if intercept else 0)) + alpha * norm)
