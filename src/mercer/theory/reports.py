"""Bounds for a fitted perceptron next to what it did."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._escape.terminal import printable
from mercer.theory.bounds import compression_bound, deviation_bound, mistake_bound
from mercer.theory.separation import radius, separability


@dataclass(frozen=True)
class Report:
    """Bounds next to facts, printable as a table.

    Parameters
    ----------
    rows : tuple of (str, float, float or None)
        What is counted, what happened, and its bound.

    Examples
    --------
    >>> from mercer import KernelPerceptron, data, theory
    >>> X, y = data.blobs(20)
    >>> model = KernelPerceptron("linear()", shuffle=False).fit(X, y)
    >>> theory.report(model, X, y).rows[0][0]
    'radius R'
    """

    rows: tuple[tuple[str, float, float | None], ...]

    @printable
    def __str__(self) -> str:
        width = max(len(name) for name, _, _ in self.rows)
        lines = [f"{'':{width}}  {'theory':>12}  {'fact':>12}"]
        for name, bound, fact in self.rows:
            shown = "" if fact is None else f"{fact:.6g}"
            lines.append(f"{name:{width}}  {bound:>12.6g}  {shown:>12}")
        return "\n".join(lines)

    def __getitem__(self, name: str) -> tuple[float, float | None]:
        for row, bound, fact in self.rows:
            if row == name:
                return bound, fact
        raise KeyError(f"{name!r} is not in the report; it has {[r[0] for r in self.rows]}")


def report(model: Any, X: Any, y: Any, confidence: float = 0.95) -> Report:
    """Show bounds for a fitted binary `KernelPerceptron` on its training set, beside what it did.

    Parameters
    ----------
    model : KernelPerceptron
        Fitted, for two classes.
    X : array or list
        Its training examples.
    y : array of shape (n,)
        Two classes.
    confidence : float, default 0.95
        How sure the bound on new examples is.

    Returns
    -------
    Report
        That prints as a table.

    Examples
    --------
    >>> from mercer import KernelPerceptron, data, theory
    >>> X, y = data.blobs(20)
    >>> report = theory.report(KernelPerceptron("linear()", shuffle=False).fit(X, y), X, y)
    >>> len(report.rows) > 1
    True
    """
    kernel = model.expansion_.kernel
    y = np.asarray(y)
    positive = np.where(y == model.classes_[-1], 1, -1)
    separation = separability(kernel, X, positive, bool(model.fit_intercept))
    mistakes = float(model.n_mistakes_)
    separator, bound = separation.separator, math.inf
    if separator is not None:
        bound = mistake_bound(separator, X, positive, bool(model.fit_intercept))
    rows: list[tuple[str, float, float | None]] = [
        ("radius R", radius(kernel, X), None),
        ("half width ρ", separation.margin, None),
        ("full width δ = 2ρ", separation.width, None),
        ("mistakes", bound, mistakes),
    ]
    if separator is not None and model.fit_intercept:  # the bound is (b*² + 1)(R² + 1)/ρ²
        offset = float(separator.intercept) / math.sqrt(float(separator.squared_norm))
        rows.insert(3, ("offset b*, ‖w*‖ = 1", offset, None))
    centered = model.expansion_ if separator is None else separator
    if float(centered.intercept) == 0.0 and centered.coef.ndim == 1 and len(centered):
        bound, _ = deviation_bound(centered, X, positive)
        first = getattr(model, "history_", None)
        rows.append(("mistakes in one pass", bound, _first_pass(first, mistakes)))
    wrong = float(np.mean(model.predict(X) != y))
    stored = len(model.expansion_)
    bound = compression_bound(len(y), stored, confidence) if wrong == 0 else 1.0
    rows.append((f"test error (confidence {confidence:g})", bound, None))
    return Report(tuple(rows))


def _first_pass(history: Any, mistakes: float) -> float:
    """Mistakes of the first epoch, from a model's history; all of them where there is none."""
    try:
        first = history[0]
        return float(first["mistakes"] if isinstance(first, dict) else first)
    except (TypeError, KeyError, IndexError):
        return mistakes
