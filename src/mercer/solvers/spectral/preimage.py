"""The example whose φ is nearest to a combination Σᵢ αᵢ φ(xᵢ), a mean of φ above all.

For k = g(‖x − z‖²) the gradient of ‖φ(x) − Σᵢ αᵢφ(xᵢ)‖² is zero where

    x = Σᵢ αᵢ g'(‖x − xᵢ‖²) xᵢ / Σᵢ αᵢ g'(‖x − xᵢ‖²),

which is iterated from the best of the examples; a step that makes it worse is shortened. For
k = x·z it is Σᵢ αᵢxᵢ. For other kernels, on strings and graphs too, it is the best of the examples.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer._arrays import host, is_sparse
from mercer._examples import count, take
from mercer.formula import derive, simplify
from mercer.formula.inputs import numeric
from mercer.formula.nodes import ROOT, statistics
from mercer.gram import HOST, solver_gram
from mercer.kernels import Kernel, Linear, as_kernel
from mercer.tuning import PREIMAGE_STEP, PREIMAGE_STEPS


def preimage(kernel: Any, X: Any, coef: Any = None) -> Any:
    """argmin over x of ‖φ(x) − Σᵢ αᵢ φ(xᵢ)‖: a row, or where x cannot move, one of the examples.

    Parameters
    ----------
    kernel : Kernel, str or callable
        The kernel whose φ is meant.
    X : array or list
        The examples xᵢ.
    coef : array of shape (n_examples,) or None
        The coefficients α; None takes 1/N for all, the mean of φ.

    Returns
    -------
    ndarray of shape (n_features,) or one of the examples
        The input whose φ is nearest.

    Examples
    --------
    >>> import numpy as np
    >>> import mercer
    >>> X = np.array([[0.0, 0.0], [2.0, 0.0], [1.0, 3.0]])
    >>> mercer.preimage("linear()", X)
    array([1., 1.])
    >>> mercer.preimage("gaussian(5)", X).round(2)
    array([1.  , 0.97])
    >>> mercer.preimage("spectrum(2)", ["gattaca", "gatta", "tac"])
    'gatta'
    """
    k = as_kernel(kernel).fitted(X)
    if k.takes_matrix:
        raise ValueError("a pre-image is an example, and a precomputed matrix holds none")
    n = count(X)
    alpha = np.full(n, 1.0 / n) if coef is None else np.asarray(coef, dtype=np.float64)
    if alpha.shape != (n,) or not np.isfinite(alpha).all():
        raise ValueError(f"{n} examples need as many finite coefficients, got {np.shape(coef)}")
    if isinstance(k, Linear):
        return np.asarray(alpha @ np.asarray(numeric(host(X)), dtype=np.float64))
    image = host(solver_gram(k, X) @ alpha)
    own = host(k.diag(X))
    best = int(np.argmin(own - 2.0 * image))
    rows = host(X)
    if not k.radial() or is_sparse(rows) or not isinstance(numeric(rows), np.ndarray):
        return take(X, [best])[0] if not hasattr(X, "iloc") else X.iloc[best]
    return _descended(k, np.asarray(numeric(rows), dtype=np.float64), alpha, best)


def _descended(k: Kernel, X: np.ndarray, alpha: np.ndarray, best: int) -> np.ndarray:
    """The fixed point, from the best example; every step lowers the distance."""
    formula = simplify(k.lower(ROOT))
    slope = simplify(derive(formula, statistics(formula)[0]))
    spread = float(np.ptp(X, axis=0).max()) or 1.0

    def closeness(x: np.ndarray) -> float:
        """−‖φ(x) − Σ αφ‖² but for a constant: k(x, x) is the same for all x."""
        return float((HOST.make(formula, x[None], X) @ alpha)[0])

    # At the example itself the derivative may be infinite, or pull on nothing but it.
    x, value = X[best].copy(), closeness(X[best])
    for _ in range(PREIMAGE_STEPS):
        with np.errstate(all="ignore"):
            w = alpha * HOST.make(slope, x[None], X).dense()[0]
        total = w.sum()
        if not np.isfinite(total) or total == 0:
            break
        step = w @ X / total - x
        while np.abs(step).max() > PREIMAGE_STEP * spread and closeness(x + step) < value:
            step = 0.5 * step
        if np.abs(step).max() <= PREIMAGE_STEP * spread:
            break
        x, value = x + step, closeness(x + step)
    return x
