"""C = ∞: no slack is allowed, or a proof is given that there must be some.

The dual of the soft margin is unbounded on classes that overlap. The hard margin is found from the
nearest points p and q of the classes' convex hulls instead, w* = 2(p − q)/‖p − q‖², which always
ends: either they are apart, and give the widest margin, or they coincide, and their convex weights
prove that no surface separates the classes.

The hard tube of regression, |y − f(x)| ≤ ε everywhere, is the soft one with a C that no coefficient
reaches. It is looked for in growing C. Where there is no such f, the coefficients a soon combine
the examples to nothing, Σ aᵢφ(xᵢ) ≈ 0 with Σ aᵢ = 0 and Σ aᵢyᵢ > ε Σ |aᵢ|, which proves it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from mercer.solvers.quadratic.problem import Quadratic, Solution, Task, start_from

#: Solves a problem to a tolerance; gives the solution, and whether Ctrl-C came.
Solve = Callable[[Quadratic, float], tuple[Solution, bool]]

#: The first C of a hard tube, relative to the largest deviation over k(x, x), and how many times as
#: large the next one is.
C_GROWTH = 10.0
#: Nearest points closer than this, relative to the largest ‖φ(x)‖², have met.
TOUCHING = 1e-12


class NotSeparableError(ValueError):
    """No hard margin exists. `rows` and `weights` are the certificate: Σᵢ wᵢ φ(xᵢ) ≈ 0 with weights
    that sum to 1 over one class and to −1 over the other; `distance` is how far it is from 0."""

    def __init__(self, rows: np.ndarray, weights: np.ndarray, distance: float) -> None:
        self.rows, self.weights, self.distance = rows, weights, distance
        shown = ", ".join(
            f"{w:+.3g}·φ(row {r})" for r, w in zip(rows[:4], weights[:4], strict=True)
        )
        more = f" + … ({len(rows)} rows)" if len(rows) > 4 else ""
        super().__init__(
            "C=inf needs classes that a surface of this kernel separates, and these are not: a "
            "mixture of examples of one class equals a mixture of examples of the other. "
            f"Certificate: {shown}{more} has length {distance:.2g}; the positive weights sum to 1 "
            "and the negative ones to −1. Use a finite C, or a richer kernel."
        )


def hard_margin(
    solve: Solve, diagonal: np.ndarray, task: Task, tol: float
) -> tuple[Solution, bool]:
    """`nearest_points` to a gap of `tol` after scaling to margin 1; not scaled here."""
    scale, problem, steps = float(np.abs(diagonal).max()), task.problem, 0
    loose = 0.1 * scale
    while True:
        found, stopped = solve(problem, loose)
        steps += found.n_iter
        found = replace(found, n_iter=steps)
        net = found.a.sum(axis=0)
        square = float(net @ found.image)
        if square <= TOUCHING * scale:
            rows = np.flatnonzero(net)
            rows = rows[np.argsort(-np.abs(net[rows]), kind="stable")]
            raise NotSeparableError(task.rows[rows], net[rows], float(np.sqrt(max(square, 0.0))))
        enough = tol * square / 2
        if found.gap <= enough or not found.converged or stopped:
            return replace(found, converged=found.gap <= enough), stopped
        loose, problem = min(loose / 4, 0.9 * enough), problem.starting(found.a)


class NoTubeError(ValueError):
    """No function of this kernel comes within ε of every target. `rows` and `weights` w prove it:
    Σᵢ wᵢ φ(xᵢ) ≈ 0 and Σᵢ wᵢ = 0, but Σᵢ wᵢyᵢ > ε Σᵢ |wᵢ|."""

    def __init__(self, rows: np.ndarray, weights: np.ndarray) -> None:
        self.rows, self.weights = rows, weights
        super().__init__(
            "C=inf needs a function of this kernel within epsilon of every target, and there is "
            f"none: {len(rows)} examples contradict each other (such as rows {rows[:4].tolist()}). "
            "Use a finite C, a larger epsilon, or a richer kernel."
        )


def hard_tube(solve: Solve, diagonal: np.ndarray, task: Task, tol: float) -> tuple[Solution, bool]:
    """`epsilon_svr` without bounds, from soft ones whose C grows until nothing reaches it."""
    problem = task.problem
    scale = max(float(np.abs(diagonal).max()), 1e-300)
    C = C_GROWTH * max(float(np.ptp(problem.linear)), tol) / scale
    soft, found, steps = problem, None, 0
    while True:
        bounded = replace(
            problem, lower=np.maximum(problem.lower, -C), upper=np.minimum(problem.upper, C)
        )
        if found is not None:
            bounded = bounded.starting(start_from(found.a, soft, bounded))
        found, stopped = solve(bounded, tol)
        soft, steps = bounded, steps + found.n_iter
        found = replace(found, n_iter=steps)
        if np.abs(found.a).max() < C or not found.converged or stopped:
            return found, stopped
        net = found.a.sum(axis=0)
        size = float(np.abs(net).sum())
        beyond = -float((found.a * problem.linear).sum())
        if beyond > 0 and float(net @ found.image) <= TOUCHING * scale * size**2:
            rows = np.flatnonzero(net)
            rows = rows[np.argsort(-np.abs(net[rows]), kind="stable")]
            raise NoTubeError(task.rows[rows], net[rows] / size)
        C *= C_GROWTH
