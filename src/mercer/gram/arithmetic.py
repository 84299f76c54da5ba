"""Arithmetic of Gram matrices: G₁ + G₂, 2 G and G + α are Grams again, of a kernel made so."""

from __future__ import annotations

import numbers
import threading
from typing import Any

import numpy as np

from mercer._arrays import is_sparse
from mercer.formula import Formula


def _same(a: Any, b: Any) -> bool:
    """Whether two sets of examples are the same ones."""
    if a is b or a is None or b is None:
        return a is b
    if is_sparse(a) and is_sparse(b):
        return a.shape == b.shape and (a != b).nnz == 0
    if hasattr(a, "shape") and hasattr(b, "shape"):
        return a.shape == b.shape and bool((a == b).all())
    return bool(np.array_equal(a, b))


class Arithmetic:
    """Methods of every `Gram` that need its abstract ones only: sums, multiples, solutions."""

    def __add__(self: Any, other: Any) -> Any:
        if np.isscalar(other):
            return self.of(self.kernel + other)
        if not issubclass(type(other), Arithmetic):
            return NotImplemented
        mine, others = (self.points(), self.others()), (other.points(), other.others())
        if self.shape != other.shape or not all(map(_same, mine, others)):
            raise ValueError(
                f"K of shape {self.shape} and K of shape {other.shape} are on different examples: "
                "only Grams of the same rows are added; add their dense() for others"
            )
        if isinstance(self.kernel, Formula) or isinstance(other.kernel, Formula):
            return self.of(self.formula + other.formula)
        return self.of(self.kernel + other.kernel)

    def __mul__(self: Any, factor: Any) -> Any:
        return self.of(self.kernel * factor) if np.isscalar(factor) else NotImplemented

    def __radd__(self: Any, other: Any) -> Any:
        return self + other

    def __rmul__(self: Any, factor: Any) -> Any:
        return self * factor

    def trace(self: Any) -> float:
        """Σᵢ k(xᵢ, xᵢ).

        >>> from mercer import Linear
        >>> Linear().gram([[1.0], [3.0]]).trace()
        10.0
        """
        return float(self.diagonal().sum())

    def sum(self: Any, axis: int | None = None) -> Any:
        """The sum of K, of its columns (`axis` 0) or of its rows (`axis` 1), tile by tile."""
        if axis not in (None, 0, 1):
            raise ValueError(f"axis must be None, 0 or 1, got {axis!r}")
        gram = (self.T if axis == 0 else self).facing_host()
        sums = gram @ np.ones(gram.shape[1], gram.dtype)
        return sums if axis is not None else float(sums.sum())

    def max(self: Any) -> float:
        """The largest entry of K, tile by tile."""
        largest, lock = [], threading.Lock()

        def look(rows: slice, columns: slice, tile: Any, scratch: Any) -> None:
            top = float(tile.max())
            with lock:
                largest.append(top)

        self.sweep(look, exact_diagonal=self.square)
        return max(largest)

    def solve(self: Any, B: Any, alpha: float = 0.0) -> np.ndarray:
        """(K + alpha I)⁻¹ B, by Cholesky; by eigenvectors where K is not positive definite.

        Parameters
        ----------
        B : array of shape (n,) or (n, m)
            Right sides.
        alpha : float, default 0.0
            What is added to the diagonal.

        Returns
        -------
        array
            Of the shape of B.

        Examples
        --------
        >>> from mercer import Gaussian
        >>> G = Gaussian().gram([[0.0], [9.0]])
        >>> G.solve([1.0, 2.0], alpha=1.0)
        array([0.5, 1. ])
        """
        from mercer.gram.dispatch import HOST

        if not self.square:
            raise ValueError(f"K has shape {self.shape}: only K(X, X) can be solved with")
        B = np.asarray(B, dtype=np.float64)
        if B.ndim not in (1, 2) or len(B) != self.shape[0]:
            raise ValueError(f"B must have {self.shape[0]} rows, as K has; got shape {B.shape}")
        if not (isinstance(alpha, numbers.Real) and 0 <= alpha < np.inf):
            raise ValueError(f"alpha must be a number ≥ 0, got {alpha!r}")
        columns = B.reshape(len(B), -1)
        shifted = HOST.solver("shifted")(self.facing_host())
        return np.asarray(shifted.factor(float(alpha)).solve(columns)).reshape(B.shape)
