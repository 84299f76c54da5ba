"""Whether float32 holds enough digits inside a model that takes and gives float32.

f(x) = Σᵢ αᵢ k(xᵢ, x) + b cancels where α is large and of both signs: rounding each term by a unit u
leaves about u·√Σ(αᵢkᵢ)² in f. Where that, or the rounding of a squared distance, would show in
the fifth digit of the largest value, the pairs are computed in float64, and only what goes in and
out is float32.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer._examples import take, widened
from mercer.formula.nodes import Formula, statistics
from mercer.gram.host import HostGram
from mercer.onnx.pairs import dense, product_error

#: What rounding may do to f, relative to its largest value.
ALLOWED = 2e-6
#: So many points are looked at.
SAMPLE = 256


def working_dtype(formula: Formula, points: Any, coef: np.ndarray, intercept: Any, fed: str) -> str:
    """The precision of the pairs of an expansion that is fed `fed`."""
    if fed == "float64" or not len(coef):
        return fed
    coef = coef.reshape(len(coef), -1).astype(np.float64)
    some = np.unique(np.linspace(0, len(coef) - 1, SAMPLE).astype(int))
    K = np.asarray(
        HostGram(formula, widened(take(points, some)), widened(points)).dense(), dtype=float
    )
    values = np.abs(K @ coef + intercept).max(initial=0.0)
    if not values > 0:
        return "float64"
    unit = float(np.finfo(np.float32).eps)
    largest_k = np.abs(K).max(initial=0.0)
    terms = np.sqrt(np.square(K) @ np.square(coef)).max()
    noise = 2.0 * unit * (terms + largest_k * unit)
    for node in statistics(formula):
        if node.op == "sqdist":
            z = dense(points)
            for step in node.value.steps:
                z = step(z)
            z = np.asarray(dense(z), dtype=float)
            spread = float(np.square(z - z.mean(axis=0)).sum(axis=1).max())
            error = product_error(formula, node, spread, "float32")
            noise += error * largest_k * float(np.sqrt(np.square(coef).sum(axis=0)).max())
    return "float32" if noise <= ALLOWED * values else "float64"
