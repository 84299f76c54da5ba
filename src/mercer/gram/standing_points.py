"""Points that stay: what a fitted model, or a map, keeps of them from one question to the next."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer._arrays import are_float_rows, is_sparse
from mercer.gram.dispatch import make_gram
from mercer.gram.prepared_points import PreparedPoints, prepared_points
from mercer.gram.rows.sparse import dense_bytes
from mercer.kernels.core import Kernel

#: Bytes of a dense copy of sparse rows at most.
DENSE = 32_000_000


class StandingPoints:
    """The points of a model, prepared for every precision in which rows were compared with them.

    >>> from mercer import Gaussian
    >>> points = StandingPoints(Gaussian(), np.array([[0.0], [1.0]]))
    >>> points.gram(np.array([[0.0]])).dense().round(4)
    array([[1.    , 0.6065]])
    """

    def __init__(self, kernel: Kernel, points: Any) -> None:
        self.kernel, self.points = kernel, points
        self._known: dict[np.dtype, PreparedPoints | None] = {}

    def prepared(self, X: Any, dtype: np.dtype | None = None) -> PreparedPoints | None:
        """As rows like X are compared with them; None where only `make_gram` can do it.

        Without a `dtype` it is that of a `Gram`.
        """
        if not (_are_rows(X) and _are_rows(self.points) and X.shape[1] == self.points.shape[1]):
            return None
        dtype = np.result_type(X.dtype, self.points.dtype) if dtype is None else dtype
        if dtype not in self._known:
            self._known[dtype] = prepared_points(self.kernel, self.points, dtype)
        return self._known[dtype]

    def gram(self, X: Any) -> Any:
        """K between X and the points."""
        found = self.prepared(X)
        known = None if found is None else found.gram(X)
        return make_gram(self.kernel, X, self.points) if known is None else known

    def times_upper(self, X: Any, T: np.ndarray) -> np.ndarray | None:
        """K T for an upper triangular T; None where `gram` has to make K.

        >>> from mercer import Linear
        >>> points = StandingPoints(Linear(), np.eye(2))
        >>> points.times_upper(np.array([[1.0, 2.0]]), np.array([[1.0, 3.0], [0.0, 2.0]]))
        array([[1., 7.]])
        """
        found = self.prepared(X)
        if found is None:
            return None
        return found.times_upper(X, np.ascontiguousarray(T, dtype=found.dtype))


def _are_rows(rows: Any) -> bool:
    """Numbers that can be compared by products: an array, or a small CSR matrix."""
    if not are_float_rows(rows):
        return False
    return dense_bytes(rows) <= DENSE if is_sparse(rows) else bool(rows.flags.c_contiguous)
