"""Ridge regression without some of its examples, for all new x at once, from one factorization.

f(x) = h(x)ᵀy is linear in the targets. Leaving out the examples F changes it as if their targets
were what f without them says there, so with P = A⁻¹ (less the part of a free intercept), α = Py,

    y_F − f₋F(x_F) = (P_FF)⁻¹ α_F = r_F,      f₋F(x) = f(x) − Σ_{i∈F} hᵢ(x) rᵢ.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.linalg import LinAlgError

from mercer._linalg import add_to_diagonal, cholesky, mirror
from mercer._machine.cholesky import invert
from mercer.gram import Gram


class Deletions:
    """f without each of some sets of examples (`folds`, indices); each alone if there are none.

    >>> import numpy as np
    >>> from mercer import Linear
    >>> x, y = np.array([[1.0], [2.0], [3.0]]), np.array([1.0, 2.5, 2.0])
    >>> without = Deletions(Linear().gram(x), y, 0.5)
    >>> without.residuals.round(4)  # without the first, the slope is 11/13.5
    array([ 0.1852,  1.1667, -1.2727])
    >>> without.predictions(Linear()([[10.0]], x)).round(4)
    array([[ 8.1481,  6.6667, 10.9091]])
    """

    def __init__(
        self,
        gram: Gram,
        y: np.ndarray,
        alpha: float,
        intercept: bool = False,
        folds: Sequence[np.ndarray] | None = None,
    ) -> None:
        A = gram.in_double()
        add_to_diagonal(A, alpha)
        L = cholesky(A)
        if L is None:
            raise LinAlgError(f"K + λI is not positive definite (λ = {alpha:.3g}): raise alpha")
        invert(L, lower=0)
        self.P = mirror(L.T)
        self.shift: np.ndarray = np.zeros(len(y))
        if intercept:
            u = self.P.sum(axis=1)
            self.shift = u / u.sum()
            self.P -= np.outer(u, self.shift)
        self.y, self.folds = y, folds
        coef = self.P @ y
        if folds is None:
            self.residuals: np.ndarray = coef / self.P.diagonal()
        else:
            self.residuals = np.empty(len(y))
            for fold in folds:
                self.residuals[fold] = np.linalg.solve(self.P[np.ix_(fold, fold)], coef[fold])

    def predictions(self, rows: np.ndarray) -> np.ndarray:
        """f(x) without each set, (n_rows, n_sets), for rows of k(x, xᵢ)."""
        h = np.asarray(rows, dtype=np.float64) @ self.P + self.shift
        whole = h @ self.y
        change = h * self.residuals
        if self.folds is not None:
            change = np.stack([change[:, fold].sum(axis=1) for fold in self.folds], axis=1)
        return np.asarray(whole[:, None] - change)
