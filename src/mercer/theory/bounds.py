"""Bounds on the mistakes of a perceptron and on the error of what it learned."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mercer._deprecated import warn_of
from mercer.expansion import KernelExpansion
from mercer.theory.separation import margin, radius, signs


def mistake_bound(
    separator: KernelExpansion, X: Any, y: Any, fit_intercept: bool | None = None
) -> float:
    """(R/ρ)² without a bias, (b*² + 1)(R² + 1)/ρ² with one, for ‖w*‖ = 1.

    The most updates a perceptron can make on data that `separator` separates, in any order, over
    any number of passes. `fit_intercept` says which perceptron; by default the one whose
    hypotheses contain the separator. Infinite where the separator does not separate.

    Parameters
    ----------
    separator : KernelExpansion
        That separates the examples.
    X : array or list
        The examples.
    y : array of shape (n,)
        Two classes.
    fit_intercept : bool or None
        Whether the perceptron has a bias; None: if the separator has.

    Returns
    -------
    float
        The most updates.

    Examples
    --------
    >>> from mercer import data, theory
    >>> X, y = data.blobs(40)
    >>> separator = theory.separability("linear()", X, y).separator
    >>> theory.mistake_bound(separator, X, y) > 1
    True
    """
    intercept = float(separator.intercept)
    if fit_intercept is None:
        fit_intercept = intercept != 0.0
    if not fit_intercept and intercept != 0.0:
        raise ValueError("a separator with an intercept bounds only a perceptron that has one")
    rho = margin(separator, X, y)
    if rho <= 0:
        return math.inf
    R = radius(separator.kernel, X)
    if not fit_intercept:
        return (R / rho) ** 2
    b = intercept / math.sqrt(float(separator.squared_norm))
    return (b**2 + 1) * (R**2 + 1) / rho**2


def compression_bound(n_examples: int, n_stored: int, confidence: float = 0.95) -> float:
    """(ln C(n, m) + ln n + ln 1/δ) / (n − m): error of a model rebuilt from m of n examples.

    For a classifier without error on the n − m examples it did not store; holds with probability
    1 − δ = `confidence` over the draw of the data. At most 1, which says nothing.

    Parameters
    ----------
    n_examples : int
        Training examples n.
    n_stored : int
        Examples m from which the model can be rebuilt.
    confidence : float, default 0.95
        How sure the bound is.

    Returns
    -------
    float
        The bound on the error of new examples.

    Examples
    --------
    >>> from mercer import theory
    >>> round(theory.compression_bound(10_000, 50), 4)
    0.0326
    """
    n, m = int(n_examples), int(n_stored)
    if not 0 <= m <= n or n < 1:
        raise ValueError(f"{m} stored of {n} examples is not possible")
    if not 0 < confidence < 1:
        raise ValueError(f"confidence lies between 0 and 1, got {confidence!r}")
    if m == n:
        return 1.0
    subsets = math.lgamma(n + 1) - math.lgamma(m + 1) - math.lgamma(n - m + 1)
    return min(1.0, (subsets + math.log(n) - math.log1p(-confidence)) / (n - m))


def margin_bound(
    n_examples: int, radius: float, margin: float, misses: int = 0, confidence: float = 0.95
) -> float:
    """m/n + 2R/(ρ√n) + 3√(ln(2/δ)/2n): error of a separator of margin ρ, dimension left out.

    The bound by Rademacher averages (Bartlett and Mendelson 2002) on the error on new examples, for
    a margin ρ chosen beforehand; m of the n training examples have a smaller one. It is why a
    maximum margin is good "according to PAC theory" (D. Klein). At most 1, which says nothing.

    Parameters
    ----------
    n_examples : int
        Training examples n.
    radius : float
        The largest length R in feature space.
    margin : float
        The distance ρ.
    misses : int, default 0
        Training examples m that are closer than that.
    confidence : float, default 0.95
        How sure the bound is.

    Returns
    -------
    float
        The bound on the error of new examples.

    Examples
    --------
    >>> from mercer import theory
    >>> round(theory.margin_bound(10_000, radius=1.0, margin=0.5), 4)
    0.0807
    """
    if n_examples < 1 or not 0 <= misses <= n_examples:
        raise ValueError(f"{misses} of {n_examples} examples is not possible")
    if not (radius >= 0 and margin > 0 and 0 < confidence < 1):
        raise ValueError("radius must be ≥ 0, margin > 0 and confidence between 0 and 1")
    n = float(n_examples)
    spread = 3 * math.sqrt(math.log(2 / (1 - confidence)) / (2 * n))
    return min(1.0, misses / n + 2 * radius / (margin * math.sqrt(n)) + spread)


def deviation_bound(
    separator: KernelExpansion, X: Any, y: Any, gamma: float | None = None
) -> tuple[float, float]:
    """((R + D)/γ)², D² = Σ max(0, γ − yᵢ f(xᵢ)/‖w‖)²: Freund and Schapire, any data, one pass.

    Gives the bound and its γ; by default the γ that makes it smallest. The separator has no
    intercept: the theorem speaks of u·φ(x).

    Parameters
    ----------
    separator : KernelExpansion
        To compare with.
    X : array or list
        The examples of one pass.
    y : array of shape (n,)
        Two classes.
    gamma : float or None
        The margin γ aimed at; None takes the best.

    Returns
    -------
    tuple of float
        The bound on the mistakes, and its γ.

    Examples
    --------
    >>> from mercer import data, theory
    >>> X, y = data.blobs(40)
    >>> separator = theory.separability("linear()", X, y).separator
    >>> bound, gamma = theory.deviation_bound(separator, X, y)
    >>> bound > 1
    True
    """
    if float(separator.intercept) != 0.0:
        raise ValueError("the theorem needs a separator through the origin (intercept 0)")
    gaps = separator.margins(X, signs(y))
    R = radius(separator.kernel, X)

    def bound(g: float) -> float:
        D = math.sqrt(float((np.maximum(0.0, g - gaps) ** 2).sum()))
        return ((R + D) / g) ** 2

    if gamma is not None:
        if not gamma > 0:
            raise ValueError(f"gamma must be positive, got {gamma!r}")
        return bound(float(gamma)), float(gamma)
    from scipy.optimize import minimize_scalar

    # The bound has several dips where gaps are spread out: a grid first, then a closer look.
    top = max(float(gaps.max()), R * 1e-6) * 2
    grid = np.geomspace(top * 1e-6, top, 200)
    best = int(np.argmin([bound(g) for g in grid]))
    low, high = grid[max(best - 1, 0)], grid[min(best + 1, len(grid) - 1)]
    found = minimize_scalar(bound, bounds=(low, high), method="bounded")
    at = float(found.x) if found.fun < bound(grid[best]) else float(grid[best])
    return bound(at), at


def regret(comparator: Any, X: Any, y: Any, losses: Any) -> float:
    """Σ losses − Σ max(0, 1 − yᵢ f(xᵢ)): what was lost beyond the comparator's hinge loss.

    Parameters
    ----------
    comparator : callable
        A function f of examples, such as a KernelExpansion.
    X : array or list
        The examples.
    y : array of shape (n,)
        Two classes.
    losses : array of shape (n,)
        What the learner lost on each, before learning it.

    Returns
    -------
    float
        Above 0 where the comparator would have lost less.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import theory
    >>> theory.regret(lambda X: np.ravel(X), [[2.0], [-2.0]], [1, -1], [0.5, 0.25])
    0.75
    """
    if not callable(comparator):
        warn_of("regret(losses, comparator, X, y)", "regret(comparator, X, y, losses)")
        comparator, X, y, losses = X, y, losses, comparator
    hinge = np.maximum(0.0, 1.0 - signs(y) * comparator(X))
    return float(np.sum(losses) - hinge.sum())
