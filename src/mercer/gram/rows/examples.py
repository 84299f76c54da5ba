"""Rows: the examples of one operand of K, whatever holds them, validated once.

A Gram makes Rows of what it is given. Whoever compares new rows with the same examples again and
again (a fitted expansion, a feature map) holds their Rows, and what was found of them stays: the
numbers in each precision, norms, the mean, the operand of each program.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from mercer._arrays import is_sparse
from mercer.gram.rows.prepared import squared_norms
from mercer.gram.rows.validate import as_rows, check_not_empty, dtype_of, matrix

if TYPE_CHECKING:
    from mercer.formula.nodes import Input
    from mercer.gram.form import Form


class Rows:
    """Examples, and the numbers that the inputs of a formula read of them.

    `dtypes`: of the numbers that k reads; of the examples themselves where k reads no numbers.

    >>> from mercer import Gaussian
    >>> from mercer.gram.form import form_of
    >>> Rows.of(form_of(Gaussian().formula()), [[1.0], [2.0]]).n
    2
    """

    #: Whether others than one Gram use them: what is found of them is worth keeping then.
    is_held = False

    def __init__(self, form: Form, raw: Any, name: str) -> None:
        self.raw = raw = raw if type(raw) is np.ndarray else as_rows(raw)
        self.n = check_not_empty(raw, name)
        self.matrices = {key: matrix(raw, key, name) for key in form.inputs}
        read: list[Any] = [dtype_of(raw, key, values) for key, values in self.matrices.items()]
        self.dtypes = read or [getattr(raw, "dtype", None)]
        self.is_sparse = False
        for values in self.matrices.values():
            self.is_sparse = self.is_sparse or is_sparse(values)
        self._kept: dict[Hashable, Any] = {}

    @classmethod
    def of(cls, form: Form, examples: Any, name: str = "X") -> Rows:
        """The Rows of some examples; Rows stay what they are."""
        return examples if isinstance(examples, Rows) else cls(form, examples, name)

    def owns(self, *matrices: Any) -> bool:
        """Whether these are kept here, so that what is found of them may be kept, too."""
        return all(id(m) in self._own for m in matrices)

    @cached_property
    def _own(self) -> set[int]:
        return {id(m) for m in self.matrices.values()}

    def numbers(self, dtype: np.dtype) -> dict[Input, Any]:
        """The numbers of every input for a K of this precision."""
        # Numbers that an input map widened stay so in float32.
        if dtype == np.float32:
            return self.matrices
        for values in self.matrices.values():
            if values.dtype != dtype:
                break
        else:
            return self.matrices
        if dtype not in self._kept:
            self._kept[dtype] = {k: m.astype(dtype, copy=False) for k, m in self.matrices.items()}
            self._own |= {id(m) for m in self._kept[dtype].values()}
        return self._kept[dtype]  # type: ignore[no-any-return]

    def dense(self, rows: Any) -> np.ndarray:
        """A matrix among the numbers, a sparse one as a dense copy."""
        if not is_sparse(rows):
            return rows  # type: ignore[no-any-return]
        copy: np.ndarray = self.once(("dense", id(rows)), rows.toarray)
        self._own.add(id(copy))
        return copy

    def norms(self, rows: Any, center: np.ndarray | None = None) -> np.ndarray:
        """‖x − c‖² for every row of a matrix; kept where the matrix is."""
        with np.errstate(over="ignore"):
            if not self.owns(rows):
                return squared_norms(rows, center)
            where = None if center is None else center.tobytes()
            return self.once(("norms", id(rows), where), lambda: squared_norms(rows, center))  # type: ignore[no-any-return]

    def once(self, key: Hashable, make: Callable[[], Any]) -> Any:
        """What `make` gives, called once per key."""
        if key not in self._kept:
            self._kept[key] = make()
        return self._kept[key]
