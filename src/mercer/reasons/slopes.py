"""Integrated gradients: f along the line from a baseline, its change shared out among the columns.

    φⱼ = (xⱼ − bⱼ) ∫₀¹ ∂f/∂xⱼ(b + t(x − b)) dt

They add up to f(x) − f(b). The derivative is that of the formula; the integral is Gauss and
Legendre's, with twice as many nodes until the sums are right to `ENOUGH`, or `MOST` nodes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mercer._arrays import is_sparse
from mercer.expansion import KernelExpansion
from mercer.formula import derive, simplify, statistics
from mercer.formula.inputs import Columns, Matrix, Scale, numeric
from mercer.formula.nodes import ROOT, Input, rows_of
from mercer.gram.host import HostGram
from mercer.gram.rows.validate import matrix
from mercer.reasons.factors import NotFactored

#: The gap to f(x) − f(b) that is left, beside the largest score; nodes to begin with, and at most.
ENOUGH, FEW, MOST = 1e-9, 8, 512


def along_lines(f: KernelExpansion, X: Any, baseline: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """φ of shape (rows, columns, outputs), and f of the baseline without its intercept."""
    X = np.asarray(numeric(X), dtype=np.float64)
    pairs = HostGram(f.kernel, np.vstack([X, baseline]), f.points)
    scores = np.asarray(pairs @ f.coef)
    change, nodes = scores[:-1] - scores[-1], FEW
    while True:
        total = np.zeros((*X.shape, f.coef.shape[1]))
        for t, w in zip(*np.polynomial.legendre.leggauss(nodes), strict=True):
            point = baseline + 0.5 * (1.0 + t) * (X - baseline)
            total += 0.5 * w * gradient(f, point)
        total *= (X - baseline)[:, :, None]
        gap = np.abs(total.sum(axis=1) - change).max()
        if gap <= ENOUGH * np.abs(scores).max() or nodes >= MOST:
            return total, scores[-1]
        nodes *= 2


def gradient(f: KernelExpansion, X: np.ndarray) -> np.ndarray:
    """∂f/∂x of shape (rows, columns, outputs), by the chain rule over the statistics of k."""
    formula, total = simplify(f.kernel.lower(ROOT)), np.zeros((*X.shape, f.coef.shape[1]))
    for node in statistics(formula):
        if node.op == "sqnorm" and node.value[0] == "z":
            continue
        rule = SLOPES.get(node.op)
        if rule is None:
            raise NotFactored(f"{node.op} has no derivative in x here")
        rows = rows_of(node)
        own, points = (_dense(matrix(side, rows, "X")) for side in (X, f.points))
        try:
            slope = HostGram(derive(formula, node), X, f.points)
        except NotImplementedError as error:
            raise NotFactored(str(error)) from None
        total += _pulled_back(rule(slope, own, points, f.coef), rows, X.shape[1])
    return total


def _dense(values: Any) -> np.ndarray:
    return np.asarray(values.toarray() if is_sparse(values) else values, dtype=np.float64)


def _toward(slope: Any, points: np.ndarray, coef: np.ndarray) -> np.ndarray:
    """Σᵢ αᵢ (∂k/∂s) zᵢ, for all rows, columns and outputs."""
    wide = (points[:, :, None] * coef[:, None, :]).reshape(len(points), -1)
    return np.asarray(slope @ wide).reshape(-1, points.shape[1], coef.shape[1])


def _of_distance(slope: Any, own: np.ndarray, points: np.ndarray, coef: np.ndarray) -> np.ndarray:
    return 2.0 * (_of_norm(slope, own, points, coef) / 2.0 - _toward(slope, points, coef))


def _of_norm(slope: Any, own: np.ndarray, points: np.ndarray, coef: np.ndarray) -> np.ndarray:
    return 2.0 * own[:, :, None] * np.asarray(slope @ coef)[:, None, :]


#: Σᵢ αᵢ (∂k/∂s) ∂s/∂u by the statistic s of the mapped rows u.
SLOPES: dict[str, Callable[..., np.ndarray]] = {
    "dot": lambda slope, own, points, coef: _toward(slope, points, coef),
    "sqdist": _of_distance,
    "sqnorm": _of_norm,
}


def _pulled_back(slopes: np.ndarray, rows: Input, width: int) -> np.ndarray:
    """From the rows after an input map to those before it."""
    widths = [width]
    for step in rows.steps:
        wide = {Columns: lambda s: len(s.names), Matrix: lambda s: s.matrix.shape[1]}
        widths.append(wide.get(type(step), lambda s: widths[-1])(step))  # type: ignore[no-untyped-call]
    for step, before in zip(reversed(rows.steps), reversed(widths[:-1]), strict=True):
        if isinstance(step, Scale):
            slopes = slopes / step.lengths.array[:, None]
        elif isinstance(step, Matrix):
            slopes = np.einsum("njc,ij->nic", slopes, step.matrix.array)
        elif isinstance(step, Columns):
            places = np.eye(before)[[step.position(c, before) for c in step.names]]
            slopes = np.einsum("njc,ji->nic", slopes, places)
        elif not step.by_column:
            raise NotFactored(f"{step} has no derivative here")
    return slopes
