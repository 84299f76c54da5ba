"""Lengths in feature space: the radius of the data, the margin of a separator; labels as signs.

Throughout, ρ = min yᵢ f*(xᵢ) / ‖w*‖ is the half width of the gap between the classes; the full
width δ = 2ρ is reported beside it, because one of the lectures means that one by "margin".
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.expansion import KernelExpansion
from mercer.kernels import Kernel, as_kernel


def radius(kernel: Kernel | str, X: Any) -> float:
    """R = max √k(x, x): the largest length in feature space.

    Parameters
    ----------
    kernel : Kernel or str
        A kernel, or an expression such as "gaussian(2)".
    X : array or list
        The examples.

    Returns
    -------
    float
        The length R.

    Examples
    --------
    >>> from mercer import Linear, theory
    >>> theory.radius(Linear(), [[3.0, 4.0], [1.0, 0.0]])
    5.0
    """
    diagonal = as_kernel(kernel).diag(X)
    if diagonal.min() < 0:
        raise ValueError("k(x, x) is negative for some row: there is no length in feature space")
    return float(np.sqrt(diagonal.max(), dtype=np.float64))


def margin(separator: KernelExpansion, X: Any, y: Any) -> float:
    """ρ = min yᵢ f(xᵢ) / ‖w‖, labels ±1; negative where f does not separate the classes.

    Parameters
    ----------
    separator : KernelExpansion
        The function f.
    X : array or list
        The examples.
    y : array of shape (n,)
        Two classes.

    Returns
    -------
    float
        The distance ρ of the closest example, with its sign.

    Examples
    --------
    >>> from mercer import data, theory
    >>> X, y = data.blobs(40)
    >>> found = theory.separability("linear()", X, y)
    >>> round(theory.margin(found.separator, X, y) / found.margin, 3)
    1.0
    """
    return float(separator.margins(X, signs(y)).min())


def signs(y: Any) -> np.ndarray:
    """Write labels as ±1; the larger of two other labels becomes 1.

    Parameters
    ----------
    y : array of shape (n,)
        Two classes.

    Returns
    -------
    ndarray of float
        With −1 and 1.

    Examples
    --------
    >>> from mercer import theory
    >>> theory.signs(["ham", "spam", "ham"])
    array([-1.,  1., -1.])
    """
    y = np.asarray(y)
    kinds = np.unique(y)
    if len(kinds) > 2:
        raise ValueError(f"two classes are needed, got {len(kinds)}: {kinds[:5].tolist()}…")
    if np.isin(kinds, (-1, 1)).all():
        return y.astype(np.float64)
    if len(kinds) < 2:
        raise ValueError(f"two classes are needed, got only {kinds.tolist()}")
    return np.where(y == kinds[1], 1.0, -1.0)
