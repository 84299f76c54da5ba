"""Integrated gradients: f along the line from a baseline, its change shared out among the columns.

    φⱼ = (xⱼ − bⱼ) ∫₀¹ ∂f/∂xⱼ(b + t(x − b)) dt

They add up to f(x) − f(b). The derivative is that of the formula; the integral is Gauss and
Legendre's, with twice as many nodes until the sums are right to `ENOUGH`, or `MOST_NODES` nodes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.expansion import KernelExpansion
from mercer.formula.inputs import numeric
from mercer.gram import make_gram
from mercer.reasons.factors import NotFactored

#: The gap to f(x) − f(b) that is left, beside the largest score; nodes to begin with, and at most.
ENOUGH, FEW_NODES, MOST_NODES = 1e-9, 8, 512


def along_lines(f: KernelExpansion, X: Any, baseline: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """φ of shape (rows, columns, outputs), and f of the baseline without its intercept."""
    X = np.asarray(numeric(X), dtype=np.float64)
    pairs = make_gram(f.kernel, np.vstack([X, baseline]), f.points)
    scores = np.asarray(pairs @ f.coef)
    change, nodes = scores[:-1] - scores[-1], FEW_NODES
    while True:
        total = np.zeros((*X.shape, f.coef.shape[1]))
        for t, w in zip(*np.polynomial.legendre.leggauss(nodes), strict=True):
            point = baseline + 0.5 * (1.0 + t) * (X - baseline)
            total += 0.5 * w * gradient(f, point)
        total *= (X - baseline)[:, :, None]
        gap = np.abs(total.sum(axis=1) - change).max()
        if gap <= ENOUGH * np.abs(scores).max() or nodes >= MOST_NODES:
            return total, scores[-1]
        nodes *= 2


def gradient(f: KernelExpansion, X: np.ndarray) -> np.ndarray:
    """∂f/∂x of shape (rows, columns, outputs)."""
    try:
        return f.gradient(X).swapaxes(1, 2)
    except (NotImplementedError, TypeError) as error:
        raise NotFactored(str(error)) from None
