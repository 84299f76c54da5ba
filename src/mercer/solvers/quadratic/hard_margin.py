"""The hard margin: w* = 2(p − q)/‖p − q‖², p and q the nearest points of the classes' hulls.

With C = ∞ the dual of the soft margin is unbounded on classes that overlap. Looking for the nearest
points instead always ends: either they are apart, and give the widest margin, or they coincide,
and their convex weights prove that no surface separates the classes.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from mercer.gram.panels import RowPanels
from mercer.solvers.quadratic.decomposition import Options, resume, solve
from mercer.solvers.quadratic.problem import nearest_points
from mercer.solvers.quadratic.row_cache import Workspace
from mercer.solvers.quadratic.tasks import Solution

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
    panels: RowPanels, signs: np.ndarray, options: Options, workspace: Workspace
) -> Solution:
    """The nearest points to a gap of `tol` after scaling to margin 1; not scaled here."""
    problem = nearest_points(signs)
    scale = float(np.abs(panels.diagonal).max())
    tol = 0.1 * scale
    found = None
    while True:
        loose = replace(options, tol=tol)
        if found is None:
            found = solve(panels, problem, loose, workspace)
        else:
            again = resume(panels, problem, found.a, loose, workspace)
            found = replace(again, n_iter=again.n_iter + found.n_iter)
        net = found.a.sum(axis=0)
        square = float(net @ found.image)
        if square <= TOUCHING * scale:
            rows = np.flatnonzero(net)
            order = np.argsort(-np.abs(net[rows]), kind="stable")
            distance = float(np.sqrt(max(square, 0.0)))
            raise NotSeparableError(panels.columns[rows[order]], net[rows[order]], distance)
        enough = options.tol * square / 2
        if found.gap <= enough or not found.converged or options.stopped():
            return replace(found, converged=found.gap <= enough)
        tol = min(tol / 4, 0.9 * enough)
