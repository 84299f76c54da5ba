"""Kernels that are not formulas: they prepare a set of examples once and then give blocks.

They compose with everything else: a block is one more statistic of the pair.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, ClassVar

import numpy as np

from mercer._arrays import is_sparse
from mercer._examples import take
from mercer._lazy import record
from mercer._parameters import Declared, Flag, declare
from mercer.formula import nodes
from mercer.formula.inputs import Warped, check_finite, numeric
from mercer.formula.nodes import Formula, Input, dot
from mercer.kernels.catalog import check_function, kernel, name_of, resolve
from mercer.kernels.claims import Rule
from mercer.kernels.core import Examples, Kernel


class OpaqueKernel(Kernel):
    """What a kernel on strings, graphs, images or a black box has to say: four short methods.

    Examples
    --------
    >>> from mercer import Spectrum
    >>> from mercer.kernels import OpaqueKernel
    >>> isinstance(Spectrum(2), OpaqueKernel)
    True
    """

    @property
    def is_opaque(self) -> bool:
        return True

    def lower(self, rows: Input, path: str = "") -> Formula:
        return nodes.opaque(self, rows)

    def prepare(self, X: Any) -> Any:
        """Whatever makes blocks cheap (counts, histograms); by default the examples themselves."""
        return X

    def prepare_pair(self, X: Any, Z: Any) -> tuple[Any, Any]:
        """The states of both sides; Z is None where it is X again."""
        state = self.prepare(X)
        return state, state if Z is None else self.prepare(Z)

    def select(self, state: Any, index: Any) -> Any:
        """The state of some of the examples (a slice or an array of positions)."""
        return take(state, index)

    def block(self, state_x: Any, state_z: Any) -> np.ndarray:
        """k for all pairs, as a matrix."""
        raise NotImplementedError

    def diag_of(self, state: Any) -> np.ndarray:
        """k(x, x) for every example."""
        raise NotImplementedError

    def count(self, state: Any) -> int:
        return int(state.shape[0]) if hasattr(state, "shape") else len(state)

    def bytes_per_pair(self) -> int:
        """Memory a block needs for each pair: its result, before it is put in place."""
        return 8


class ByTrying:
    """True, False, or "auto": whether a function takes sets of examples is found by trying it."""

    words = "True, False or 'auto'"

    def __call__(self, value: Any) -> Any:
        return value if isinstance(value, str) and value == "auto" else Flag()(value)

    def bad(self) -> Iterable[Any]:
        return ("yes", 2, None)

    def chosen(self, word: str, kernel: Any, X: Any, weight: Any = None) -> bool:
        """Whether the function gives a 2 × 3 matrix for two and three of these examples."""
        state = kernel.prepare(X)
        some = [i % kernel.count(state) for i in range(3)]
        parts = [kernel.select(state, index) for index in (some[:2], some)]
        try:
            return np.shape(resolve(kernel.function)(*parts)) == (2, 3)
        except Exception:  # a function of two examples may raise anything when given more
            return False

    def stand_in(self, number: float) -> str:
        return "auto"


@kernel
class Similarity(OpaqueKernel):
    """Any function of two examples; with ``blocks=True`` of two sets of them, giving a matrix.

    With ``blocks="auto"``, which a function given as ``kernel=`` has, `fitted` tries which it is.

    Parameters
    ----------
    function : callable or name of a registered function
        Of two examples, or of two sets of them.
    blocks : bool or "auto", default False
        Whether the function takes sets and gives a matrix.

    Examples
    --------
    >>> from mercer.kernels import Similarity
    >>> k = Similarity(lambda a, b: float(len(set(a) & set(b))))
    >>> k(["cat", "car"])
    array([[3., 2.],
           [2., 3.]])
    """

    function: Any
    blocks: bool | str = False
    parameters: ClassVar[Declared] = declare(blocks=ByTrying())
    symmetric = False
    takes = "anything"
    examples: ClassVar[Examples] = (lambda: Similarity(_common_items),)
    proof: ClassVar[Rule] = Rule(None, "black box", "a function can only be tried, not proved")

    def _check_together(self) -> None:
        check_function(self.function, "Similarity")

    def prepare(self, X: Any) -> Any:
        if isinstance(X, np.ndarray) and X.dtype.kind in "biuf":
            return numeric(X)
        if isinstance(X, (str, bytes)):
            raise TypeError("a set of examples was expected, got one string; wrap it in a list")
        if self.blocks is True or is_sparse(X) or hasattr(X, "iloc"):
            return X
        if isinstance(X, Sequence) and len(X) and isinstance(X[0], (list, tuple, np.ndarray)):
            # Rows of numbers reach the function as vectors, as they do from an array.
            try:
                array = np.asarray(X, dtype=float)
            except (TypeError, ValueError):
                return list(X)
            return array if array.ndim == 2 else list(X)
        return X if hasattr(X, "shape") else list(X)

    def block(self, state_x: Any, state_z: Any) -> np.ndarray:
        f = resolve(self.function)
        if self._takes_sets(state_x):
            shape = (self.count(state_x), self.count(state_z))
            result = f(state_x, state_z)
            result = np.asarray(result.toarray() if is_sparse(result) else result, dtype=float)
            if result.shape != shape:
                raise ValueError(
                    f"Similarity(blocks=True): the function gave shape {result.shape} for "
                    f"{shape[0]} and {shape[1]} examples; expected {shape}"
                )
            return self._checked(result)
        left, right = _examples(state_x), _examples(state_z)
        values = np.empty((len(left), len(right)))
        for i, x in enumerate(left):
            for j, z in enumerate(right):
                value = f(x, z)
                try:
                    values[i, j] = value
                except (TypeError, ValueError):
                    raise self._no_number(value) from None
        return self._checked(values)

    def _no_number(self, value: Any) -> ValueError:
        shape = getattr(value, "shape", ())
        what = f"an array of shape {shape}" if shape else repr(value)[:60]
        return ValueError(
            f"{self!r} gave {what} for a pair of examples: one number is needed. A function of two "
            "sets of examples of any sizes is Similarity(function, blocks=True)"
        )

    def _takes_sets(self, state: Any) -> bool:
        if self.blocks == "auto":
            return bool(ByTrying().chosen("auto", self, state)) if self.count(state) else False
        return bool(self.blocks)

    def _checked(self, values: np.ndarray) -> np.ndarray:
        if not np.isfinite(values).all():
            i, j = np.argwhere(~np.isfinite(values))[0]
            raise ValueError(
                f"{self!r} gave {values[i, j]} for a pair of examples; it must give a finite number"
            )
        return values

    def diag_of(self, state: Any) -> np.ndarray:
        f = resolve(self.function)
        if self._takes_sets(state):
            one = [slice(i, i + 1) for i in range(self.count(state))]
            parts = [self.select(state, s) for s in one]
            return np.asarray([self.block(p, p)[0, 0] for p in parts], dtype=float)
        return np.asarray([f(x, x) for x in _examples(state)], dtype=float)

    def __repr__(self) -> str:
        blocks = f", blocks={self.blocks!r}" if self.blocks else ""
        return f"Similarity({name_of(self.function)}{blocks})"


def _common_items(x: Any, z: Any) -> float:
    """How many items are in both: the example of a function of two examples."""
    return float(len(set(x) & set(z)))


def _examples(state: Any) -> Sequence[Any]:
    if hasattr(state, "iloc"):
        return [row for _, row in state.iterrows()] if state.ndim == 2 else list(state)
    if is_sparse(state):
        return [state[i] for i in range(state.shape[0])]
    return state  # type: ignore[no-any-return]


@kernel
class FromFeatures(Kernel):
    """k(x, z) = φ(x)·φ(z) for a map φ of sets of rows: valid by construction.

    Parameters
    ----------
    phi : callable or name of a registered function
        Takes rows and gives an array with a row of features for each.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import FromFeatures
    >>> k = FromFeatures(lambda X: np.hstack([X, np.square(X)]))
    >>> k(np.array([[1.0], [-1.0]]))
    array([[2., 0.],
           [0., 2.]])
    """

    phi: Any
    tex = r"\varphi(x) \cdot \varphi(z)"
    examples: ClassVar[Examples] = ("from_features('square')",)
    proof: ClassVar[Rule] = Rule(True, "inner product of features", "φ is given", generic=False)

    def _check_together(self) -> None:
        check_function(self.phi, "FromFeatures")

    @property
    def _step(self) -> Warped:
        return Warped(resolve(self.phi), name_of(self.phi))

    def lower(self, rows: Input, path: str = "") -> Formula:
        return dot(rows.then(self._step))

    def features(self, X: Any) -> np.ndarray:
        rows = numeric(self._step(X))
        return rows.toarray() if is_sparse(rows) else rows

    def n_dims(self, n_features: int) -> int | float:
        return int(self._step(np.zeros((1, n_features))).shape[1])

    def __repr__(self) -> str:
        return f"FromFeatures({name_of(self.phi)})"


@record
class _GivenRows:
    """Rows of a given matrix, each with its own index in it (None: new rows)."""

    values: np.ndarray
    indices: np.ndarray | None

    @property
    def shape(self) -> tuple[int, ...]:
        return self.values.shape

    def __getitem__(self, index: Any) -> _GivenRows:
        indices = None if self.indices is None else self.indices[index]
        return _GivenRows(self.values[index], indices)


@kernel
class Precomputed(OpaqueKernel):
    """The data is the matrix: X holds rows of K, Z the positions of the columns that are used.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import Precomputed
    >>> K = np.array([[2.0, 1.0], [1.0, 3.0]])
    >>> Precomputed()(K)
    array([[2., 1.],
           [1., 3.]])
    >>> Precomputed()(K, [1])
    array([[1.],
           [3.]])
    """

    symmetric = False
    takes = "matrix"
    takes_matrix = True
    proof: ClassVar[Rule] = Rule(None, "given matrix", "only its eigenvalues can tell")

    def prepare_pair(self, X: Any, Z: Any) -> tuple[Any, Any]:
        K = numeric(X)
        if is_sparse(K):
            K = K.toarray()
        check_finite(K, "the precomputed matrix")
        square = K.shape[0] == K.shape[1]
        rows = _GivenRows(K, np.arange(len(K)) if square else None)
        if Z is None:
            check_square(K.shape)
            return rows, rows
        return rows, check_columns(Z, K.shape[1])

    def prepare(self, X: Any) -> Any:
        return self.prepare_pair(X, None)[0]

    def block(self, state_x: Any, state_z: Any) -> np.ndarray:
        if isinstance(state_z, _GivenRows):
            state_z = state_z.indices
        if not isinstance(state_x, _GivenRows):
            raise TypeError("a precomputed kernel has given rows on its left side only")
        return np.ascontiguousarray(state_x.values[:, state_z])

    def diag_of(self, state: Any) -> np.ndarray:
        if not isinstance(state, _GivenRows) or state.indices is None:
            raise ValueError("k(x, x) of new rows is not in a precomputed kernel matrix")
        return state.values[np.arange(len(state.values)), state.indices]


def check_square(shape: tuple[int, ...]) -> None:
    """An error where a precomputed matrix has no column for every row."""
    if shape[0] != shape[1]:
        raise ValueError(
            f"a precomputed kernel matrix must be square, got shape {shape}; "
            "for new rows give the positions of the columns as Z"
        )


def check_columns(Z: Any, columns: int) -> np.ndarray:
    """Positions of columns of a precomputed matrix, checked."""
    indices = np.asarray(Z)
    if indices.ndim != 1 or indices.dtype.kind not in "iu":
        raise TypeError(
            "for a precomputed kernel, Z is a list of column positions, "
            f"not an array of shape {indices.shape} and dtype {indices.dtype}"
        )
    if indices.size and (indices.min() < 0 or indices.max() >= columns):
        raise ValueError(
            f"the model uses column {indices.max()}, but the precomputed matrix has "
            f"{columns} columns: one for each training example is needed"
        )
    return indices
