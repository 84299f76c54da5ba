"""Gram: the matrix K of k(x, z) for all rows of X and Z, as an operator that never has to exist.

A solver sees a Gram and targets. What it may use is declared here and implemented once for every
place where data can be: `HostGram` for arrays in memory, others in packages under `mercer.engines`
that register themselves (`mercer.gram.dispatch`).
"""

from __future__ import annotations

import numbers
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from mercer._arrays import is_sparse, numpy_namespace
from mercer._config import get_config
from mercer._tiles import Scratch, Tiling
from mercer.formula import Formula, at_diagonal, evaluate, simplify
from mercer.formula.derive import derive_by_name
from mercer.formula.nodes import ROOT, Input
from mercer.kernels.core import Kernel

if TYPE_CHECKING:
    from mercer.gram.accuracy import Method
    from mercer.gram.plan import Cost

#: What `Gram.sweep` calls for every tile: body(rows, columns, tile, scratch).
Body = Callable[[slice, slice, Any, Scratch], None]


class Gram(ABC):
    """K = k(X, Z), lazily: ``G @ V``, ``G.block(rows, columns)``, ``G.diagonal()``, ``G.dense()``.

    Made by ``kernel.gram(X, Z)``, which picks the class that fits the data.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import Gaussian
    >>> G = Gaussian().gram(np.array([[0.0], [1.0]]))
    >>> G.shape
    (2, 2)
    >>> (G @ np.ones(2)).round(4)
    array([1.6065, 1.6065])
    >>> (2 * G + 1).trace(), G.max()
    (6.0, 1.0)
    """

    kernel: Kernel | Formula
    formula: Formula
    shape: tuple[int, int]
    dtype: np.dtype
    #: Whether this is K(X, X).
    square: bool
    #: How each squared distance is computed, for `explain`.
    methods: Mapping[Input, Method] = MappingProxyType({})
    #: The engine that made it, and whose solvers it offers.
    engine: ClassVar[str] = "cpu"
    #: Whether every row can be reached at any time; streamed rows only pass by in order.
    resident: ClassVar[bool] = True
    #: Whether one process has all rows; pieces of them may be elsewhere.
    together: ClassVar[bool] = True

    # --- where it lives --------------------------------------------------------------------

    @property
    def xp(self) -> Any:
        """The array namespace (array API standard) of the place where the rows are."""
        return numpy_namespace()

    def asarray(self, values: Any, dtype: Any = None) -> Any:
        """An array in that place."""
        return np.asarray(values, dtype=dtype)

    @property
    def limit_bytes(self) -> int:
        """The memory that may be used in that place."""
        return get_config().memory_bytes

    @property
    @abstractmethod
    def symmetric(self) -> bool:
        """Whether k(x, z) = k(z, x) for all x and z by construction."""

    @property
    @abstractmethod
    def cost(self) -> Cost:
        """The work of computing all of K once."""

    @property
    def is_small(self) -> bool:
        """Whether K is so little work that `dense` is the quickest way to everything."""
        return False

    @property
    @abstractmethod
    def bytes_per_row(self) -> int:
        """Memory of one prepared row of Z."""

    def facing_host(self) -> Gram:
        """K as a Gram that takes NumPy arrays and returns NumPy arrays."""
        return self

    # --- views -----------------------------------------------------------------------------

    @property
    @abstractmethod
    def T(self) -> Gram:
        """k(z, x): the transpose."""

    @abstractmethod
    def take(self, rows: Any = None, columns: Any = None) -> Gram:
        """The Gram of some rows and columns (slices or indices); nothing is prepared again."""

    @abstractmethod
    def points(self, index: Any = None) -> Any:
        """The examples X at these indices, as the kernel takes them."""

    @abstractmethod
    def others(self) -> Any:
        """The examples Z, or None for K(X, X)."""

    def grad(self, name: str) -> Gram:
        """∂K/∂p for a parameter p, named as in `kernel.get_params`: a Gram again.

        One of several lengths has its index behind the name: ``grad("sigma[2]")``.

        >>> import numpy as np
        >>> from mercer import Gaussian
        >>> G = Gaussian(2.0).gram(np.array([[0.0], [2.0]]))
        >>> (G.grad("sigma") @ np.array([0.0, 1.0])).round(4)
        array([0.3033, 0.    ])
        """
        return self.of(derive_by_name(formula_of(self.kernel), name))

    @abstractmethod
    def of(self, kernel: Kernel | Formula) -> Gram:
        """The Gram of another kernel on the same examples."""

    # --- numbers ---------------------------------------------------------------------------

    @abstractmethod
    def __matmul__(self, V: Any) -> Any:
        """K V for a vector or a matrix V, tile by tile."""

    def times(self, V: Any, relative: bool = False) -> Any:
        """K V; with `relative`, sums of tiny values have all their digits, too.

        Otherwise an error that is small beside the largest value of k is small enough.
        """
        return self @ V

    @abstractmethod
    def dense(self, out: Any = None) -> Any:
        """The whole matrix, in `out` if given."""

    @abstractmethod
    def block(self, rows: Any, columns: Any) -> Any:
        """A dense block, by slices or indices."""

    @abstractmethod
    def diagonal(self) -> Any:
        """k(x, x) for every row."""

    @abstractmethod
    def in_double(self, index: Any = None) -> Any:
        """K(X, X), or K between some rows and themselves, computed in float64."""

    def as_linear_operator(self) -> Any:
        """A SciPy LinearOperator, for its iterative solvers."""
        from scipy.sparse.linalg import LinearOperator

        return LinearOperator(
            self.shape,
            matvec=lambda v: self @ np.ravel(v),
            rmatvec=lambda v: self.T @ np.ravel(v),
            matmat=lambda V: self @ V,
            rmatmat=lambda V: self.T @ V,
            dtype=self.dtype,
        )

    # --- loops over K ----------------------------------------------------------------------

    @abstractmethod
    def tile(
        self, rows: slice, columns: slice, out: Any = None, scratch: Scratch | None = None
    ) -> Any:
        """One tile, computed on the calling thread without planning, for loops that walk K.

        The diagonal is not set exactly; `block` does that. Several threads may call it at once if
        each brings a `scratch` of its own and `prepare_tiles` was called before.
        """

    @property
    def tile_shape(self) -> tuple[int, int]:
        """Rows and columns of a tile that stays in the cache, and within the memory limit."""
        raise TypeError(f"{type(self).__name__} has no tiles of its own: see `sweep`")

    def prepare_tiles(self) -> None:  # noqa: B027
        """Settle how `tile` works, for all parts that are taken from now on, too.

        To be called before several threads ask for tiles at once.
        """

    @abstractmethod
    def sweep(
        self,
        body: Body,
        *,
        out: Any = None,
        tiling: Tiling | None = None,
        triangle: bool = False,
        exact_diagonal: bool = False,
        what: str = "kernel",
    ) -> None:
        """``body(rows, columns, tile, scratch)`` for every tile of K, within the memory limit.

        `out`: an array in which each tile is made in its place; otherwise a tile is overwritten by
        the next one. `tiling`: which tiles, if not those of the plan. `triangle`: only tiles on or
        above the diagonal. `exact_diagonal`: set k(x, x) exactly where a product rounds it.
        """

    @abstractmethod
    def describe(self) -> tuple[Any, str]:
        """How K is computed (a plan, or words), and the source that was generated for it."""

    def series_in_words(self) -> str:
        """How K V is computed where no pairs are; nothing where they are."""
        return ""

    def products_in_words(self) -> dict[Input, str]:
        """The inputs whose products are made in a way of their own, and how."""
        return {}

    def sample(self) -> Gram:
        """A resident part of K that stands for all of it where K is explained."""
        return self

    # --- arithmetic: sums and multiples of Grams are Grams, of a kernel made so ----------------

    def __add__(self: Any, other: Any) -> Any:
        if np.isscalar(other):
            return self.of(self.kernel + other)
        if not isinstance(other, Gram):
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

    def __radd__(self, other: Any) -> Any:
        return self + other

    def __rmul__(self, factor: Any) -> Any:
        return self * factor

    def trace(self) -> float:
        """Σᵢ k(xᵢ, xᵢ).

        >>> from mercer import Linear
        >>> Linear().gram([[1.0], [3.0]]).trace()
        10.0
        """
        return float(self.diagonal().sum())

    def sum(self, axis: int | None = None) -> Any:
        """The sum of K, of its columns (`axis` 0) or of its rows (`axis` 1), tile by tile."""
        if axis not in (None, 0, 1):
            raise ValueError(f"axis must be None, 0 or 1, got {axis!r}")
        gram = (self.T if axis == 0 else self).facing_host()
        sums = gram @ np.ones(gram.shape[1], gram.dtype)
        return sums if axis is not None else float(sums.sum())

    def max(self) -> float:
        """The largest entry of K, tile by tile."""
        largest, lock = [], threading.Lock()

        def look(rows: slice, columns: slice, tile: Any, scratch: Any) -> None:
            top = float(tile.max())
            with lock:
                largest.append(top)

        self.sweep(look, exact_diagonal=self.square)
        return max(largest)

    def solve(self, B: Any, alpha: float = 0.0) -> np.ndarray:
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

    # --- answers about k -------------------------------------------------------------------

    @property
    def refuted(self) -> bool:
        """Whether a rule says that k is not positive semi-definite, whatever the examples are."""
        return isinstance(self.kernel, Kernel) and self.kernel.claim().holds is False

    def solver(self, name: str, default: Any) -> Any:
        """The engine's solver of a problem by its name, else `default`."""
        from mercer.gram.dispatch import engine_named

        return engine_named(self.engine).solver(name, default)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        if copy is False:
            raise ValueError("K is computed when it is asked for: np.asarray(gram, copy=False)")
        values = np.asarray(self.facing_host().dense())
        return values if dtype is None else values.astype(dtype, copy=False)

    def __repr__(self) -> str:
        return f"Gram({self.kernel!r}, shape={self.shape}, dtype={self.dtype.name})"


def _same(a: Any, b: Any) -> bool:
    """Whether two sets of examples are the same ones."""
    if a is b or a is None or b is None:
        return a is b
    if is_sparse(a) and is_sparse(b):
        return a.shape == b.shape and (a != b).nnz == 0
    if hasattr(a, "shape") and hasattr(b, "shape"):
        return a.shape == b.shape and bool((a == b).all())
    return bool(np.array_equal(a, b))


def formula_of(kernel: Kernel | Formula) -> Formula:
    """The formula of a kernel as it is written, parameters named."""
    if isinstance(kernel, Formula):
        return kernel
    try:
        return _lowered(kernel)
    except TypeError:  # a parameter that cannot be hashed
        return kernel.lower(ROOT)


@lru_cache(maxsize=1024)
def _lowered(kernel: Kernel) -> Formula:
    """Found again for every kernel that equals an earlier one: predictions ask again and again."""
    return kernel.lower(ROOT)


def simplified(kernel: Any) -> Formula:
    """The formula that an engine runs; an error for what is not a kernel."""
    if not isinstance(kernel, (Kernel, Formula)):
        raise TypeError(f"a Gram needs a Kernel, got {type(kernel).__name__}: {kernel!r:.80}")
    return simplify(formula_of(kernel))


@lru_cache(maxsize=1024)
def simplified_diagonal(formula: Formula) -> Formula:
    """The formula of k(x, x)."""
    return simplify(at_diagonal(formula))


@lru_cache(maxsize=1024)
def constant_diagonal(formula: Formula) -> float | None:
    """k(x, x) where it is the same for every x."""
    value = simplified_diagonal(formula)
    return float(evaluate(value, {})) if value.op == "const" else None


def indices_of(index: Any, n: int, what: str) -> Any:
    """Rows or columns as a slice or an array of indices; a clear error for anything else."""
    if isinstance(index, slice):
        return index
    indices = np.asarray(index)
    if indices.dtype == bool:
        if indices.shape != (n,):
            raise IndexError(f"a mask of length {n} is needed, got shape {indices.shape}")
        return np.flatnonzero(indices)
    if indices.ndim != 1 or (indices.size and indices.dtype.kind not in "iu"):
        raise IndexError(f"{what}s are chosen by a slice or a list of indices, got {index!r:.80}")
    indices = indices.astype(np.intp)
    if indices.size and (indices.min() < -n or indices.max() >= n):
        missing = indices.max() if indices.max() >= n else indices.min()
        raise IndexError(f"{what} {missing} does not exist; there are {n}")
    return np.where(indices < 0, indices + n, indices)


def check_factor(shape: tuple[int, int], factor: tuple[int, ...]) -> None:
    """An error unless K of this shape can multiply an array of that shape."""
    if len(factor) not in (1, 2) or factor[0] != shape[1]:
        raise ValueError(
            f"K has shape {shape}; it multiplies vectors of length {shape[1]}, "
            f"not an array of shape {tuple(factor)}"
        )


def check_has_diagonal(gram: Gram) -> None:
    if not gram.square:
        raise ValueError(f"K has shape {gram.shape}: only K(X, X) has a diagonal k(x, x)")
