"""q(x·z) = Σₙ aₙ (x·z)ⁿ as an inner product of weighted monomials.

(x·z)ⁿ = Σ n!/(m₁!·m₂!·…) (x₁^m₁ x₂^m₂ …)(z₁^m₁ z₂^m₂ …), a sum over all exponents that add up to
n. So φ(x) holds every monomial of degree n, times √(aₙ · n!/(m₁! m₂! …)), for each n with aₙ > 0.

The monomials of one degree are ordered like `itertools.combinations_with_replacement`. Then those
of degree n that begin with x_j are x_j times a *contiguous* run of those of degree n − 1, namely
all whose first factor is x_j or later. The whole level is one product of slices per column.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, lru_cache, reduce
from itertools import combinations_with_replacement, groupby
from math import comb
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer.formula.nodes import Formula, Input

# Rows are expanded in batches of about this many numbers: small enough that a level is still in
# the cache when the next one reads it, large enough that Python's share of the time is small.
_BATCH = 1 << 18
# While the weights are built, this many arrays as long as one row of output exist at a time.
_ARRAYS = 6
#: The largest degree that is looked for: of more, two columns alone have hundreds of monomials.
HIGHEST = 16


def n_monomials(n_features: int, degree: int) -> int:
    """C(d + m − 1, d), the number of monomials of degree exactly d in m variables.

    >>> n_monomials(100, 6)
    1609344100
    """
    return comb(n_features + degree - 1, degree) if degree else 1


def power_coefficients(degree: int, offset: float) -> list[float]:
    """The aₙ of (x·z + offset)^degree, for an offset ≥ 0.

    >>> power_coefficients(2, 3.0)
    [9.0, 6.0, 1.0]
    """
    if offset == 0.0:
        return [0.0] * degree + [1.0]
    try:
        return [comb(degree, n) * offset ** (degree - n) for n in range(degree + 1)]
    except OverflowError:
        raise ValueError(f"the weights of the monomials of degree {degree} overflow") from None


def _added(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The coefficients of the sum of two polynomials."""
    short, long = sorted((a, b), key=len)
    return long + np.pad(short, (0, len(long) - len(short)))


#: From a node and the coefficients of its arguments to its own.
_RULES: dict[str, Callable[[Formula, Sequence[np.ndarray]], np.ndarray]] = {
    "const": lambda node, parts: np.array([node.value]),
    "dot": lambda node, parts: np.array([0.0, 1.0]),
    "add": lambda node, parts: reduce(_added, parts),
    "mul": lambda node, parts: reduce(np.convolve, parts),
    "pow": lambda node, parts: reduce(np.convolve, node.value * [parts[0]]),
}


@lru_cache(maxsize=1024)
def powers_of_dot(formula: Formula) -> tuple[Input, tuple[float, ...]] | None:
    """The input of the dot product, and a₀, a₁, …; None for a formula of another form.

    >>> from mercer.formula.nodes import ROOT, dot
    >>> powers_of_dot((dot(ROOT) + 3.0) ** 2)[1]
    (9.0, 6.0, 1.0)
    """
    parts: dict[int, np.ndarray] = {}
    rows: set[Input] = set()
    for node in formula.walk():
        whole = node.op != "pow" or 1 <= node.value <= HIGHEST
        if node.op not in _RULES or not whole:
            return None
        with np.errstate(over="ignore", invalid="ignore"):
            parts[id(node)] = _RULES[node.op](node, [parts[id(a)] for a in node.args])
        if len(parts[id(node)]) > HIGHEST + 1:
            return None
        rows |= {node.value} if node.op == "dot" else set()
    coefficients = parts[id(formula)]
    if len(rows) != 1 or len(coefficients) < 2 or not np.isfinite(coefficients).all():
        return None
    return rows.pop(), tuple(coefficients.tolist())


class Monomials:
    """The weighted monomials of `n_features` variables that make Σ aₙ (x·z)ⁿ.

    >>> m = Monomials(2, [0.0, 0.0, 1.0])
    >>> m.names(["a", "b"])
    ['a^2', 'a b', 'b^2']
    >>> m.dense(np.array([[1.0, 2.0]]))
    array([[1.        , 2.82842712, 4.        ]])
    """

    def __init__(self, n_features: int, coefficients: Sequence[float]):
        self.n_features = n_features
        self.coefficients: list[float] = [float(a) for a in coefficients]
        self.top: int = len(self.coefficients) - 1
        # Where each kept degree begins in the output.
        self.begin: dict[int, int] = {}
        self.n_out: int = 0
        for degree, a in enumerate(self.coefficients):
            if a > 0.0:
                self.begin[degree] = self.n_out
                self.n_out += n_monomials(n_features, degree)

    def n_bytes(self, n_rows: int, itemsize: int) -> int:
        """The bytes that `dense` takes for `n_rows` rows."""
        return max(n_rows, _ARRAYS) * self.n_out * itemsize

    def starts(self, degree: int) -> list[int]:
        """The number of monomials of this degree that begin before x_v, for each variable v."""
        m = self.n_features
        total = n_monomials(m, degree)
        return [total - n_monomials(m - v, degree) for v in range(m)] + [total]

    @cached_property
    def weights(self) -> NDArray[np.float64]:
        """√(aₙ · multinomial) for every output, built up one factor at a time."""
        weights = np.empty(self.n_out)
        for degree, _, _, multinomial in self._levels():
            if degree in self.begin:
                here = self.begin[degree]
                weights[here : here + len(multinomial)] = self.coefficients[degree] * multinomial
        if not np.isfinite(weights).all():
            raise ValueError(f"the weights of the monomials of degree {self.top} overflow")
        return np.sqrt(weights, out=weights)

    def _levels(self) -> Iterator[tuple[int, NDArray[Any], NDArray[Any], NDArray[Any]]]:
        """Degree by degree: its number, the first variable, the rest's index, the multinomial."""
        first = np.array([-1])
        parent = np.array([0])
        multiplicity = np.array([0])
        multinomial = np.ones(1)
        yield 0, first, parent, multinomial
        before = self.starts(0)
        for degree in range(1, self.top + 1):
            starts = np.array(self.starts(degree))
            variable = np.repeat(np.arange(self.n_features), np.diff(starts))
            shift = starts[:-1] - np.array(before[:-1], dtype=starts.dtype)
            parent = np.arange(starts[-1]) - shift[variable]
            # x_v times a monomial that begins with x_v makes its first power one higher.
            again = first[parent] == variable
            multiplicity = np.where(again, multiplicity[parent] + 1, 1)
            with np.errstate(over="ignore"):
                multinomial = multinomial[parent] * degree / multiplicity
            first, before = variable, starts.tolist()
            yield degree, variable, parent, multinomial

    def dense(self, X: NDArray[Any], zeroth: NDArray[Any] | None = None) -> NDArray[Any]:
        """φ(x) for the rows of X. `zeroth` (one number per row) multiplies all of φ(x).

        It takes the place of the monomial 1, from which the others are made: a factor that
        underflows then gives zeros, and not 0 · ∞.
        """
        n = len(X)
        out = np.empty((n, self.n_out), dtype=X.dtype)
        weights = self.weights.astype(X.dtype)
        starts = [self.starts(degree) for degree in range(self.top + 1)]
        step = max(8, _BATCH // max(1, self.n_out))
        for i in range(0, n, step):
            rows = slice(i, i + step)
            self._expand(X[rows], None if zeroth is None else zeroth[rows], out[rows], starts)
            out[rows] *= weights
        return out

    def _expand(
        self,
        X: NDArray[Any],
        zeroth: NDArray[Any] | None,
        out: NDArray[Any],
        starts: list[list[int]],
    ) -> None:
        """All levels, unweighted; the kept ones straight into `out`."""
        last = np.ones((len(X), 1), X.dtype) if zeroth is None else zeroth[:, None]
        if 0 in self.begin:
            out[:, :1] = last
        for degree in range(1, self.top + 1):
            start, before = starts[degree], starts[degree - 1]
            if degree in self.begin:
                here = self.begin[degree]
                level = out[:, here : here + start[-1]]
            else:
                level = np.empty((len(X), start[-1]), X.dtype)
            for v in range(self.n_features):
                np.multiply(
                    last[:, before[v] :], X[:, v : v + 1], out=level[:, start[v] : start[v + 1]]
                )
            last = level

    def sparse_nnz(self, X: Any) -> int:
        """How many numbers `sparse(X)` will hold."""
        sizes, rows = np.unique(np.diff(X.indptr), return_counts=True)
        return sum(
            Monomials(r, self.coefficients).n_out * n
            for r, n in zip(sizes.tolist(), rows.tolist(), strict=True)
        )

    def sparse(self, X: Any, zeroth: NDArray[Any] | None = None) -> Any:
        """φ(x) for CSR rows, in time and memory of the non-zero monomials only.

        A row with r non-zeros has the monomials of r variables, so rows with equally many are
        expanded together as a small dense block; only the column numbers need the real width.
        """
        from scipy.sparse import csr_array, csr_matrix, issparse, sparray

        assert issparse(X)
        X = X.copy()
        X.sum_duplicates()  # also sorts, which the order of the monomials relies on
        X.eliminate_zeros()
        n_in_row = np.diff(X.indptr)
        locals_ = {r: Monomials(r, self.coefficients) for r in np.unique(n_in_row).tolist()}
        indptr = np.zeros(len(n_in_row) + 1, dtype=np.int64)
        np.cumsum([locals_[r].n_out for r in n_in_row.tolist()], out=indptr[1:])
        data = np.empty(indptr[-1], dtype=X.dtype)
        indices = np.empty(indptr[-1], dtype=np.int64)
        for r, block in locals_.items():
            rows = np.flatnonzero(n_in_row == r)
            source = X.indptr[rows][:, None] + np.arange(r)
            target = indptr[rows][:, None] + np.arange(block.n_out)
            values = block.dense(X.data[source], None if zeroth is None else zeroth[rows])
            data[target] = values
            indices[target] = self._columns(block, X.indices[source].astype(np.int64))
        kind = csr_array if isinstance(X, sparray) else csr_matrix
        return kind((data, indices, indptr), shape=(X.shape[0], self.n_out))

    def _columns(self, block: Monomials, variables: NDArray[np.int64]) -> NDArray[np.int64]:
        """The output column of each monomial of `block`, whose i-th variable is `variables[:, i]`.

        The recursion of `_levels` read backwards: x_v times monomial number p of the degree below
        is number start(v) + (p − start_below(v)).
        """
        columns = np.empty((len(variables), block.n_out), dtype=np.int64)
        number = np.zeros((len(variables), 1), dtype=np.int64)
        before = np.array(self.starts(0), dtype=np.int64)
        for degree, local, parent, _ in block._levels():
            if degree:
                starts = np.array(self.starts(degree), dtype=np.int64)
                v = variables[:, local]
                number = starts[v] + number[:, parent] - before[v]
                before = starts
            if degree in self.begin:
                here = block.begin[degree]
                columns[:, here : here + len(local)] = number + self.begin[degree]
        return columns

    def _factors(self) -> Iterator[tuple[int, ...]]:
        for degree in self.begin:
            yield from combinations_with_replacement(range(self.n_features), degree)

    def names(self, variables: Sequence[str]) -> list[str]:
        """`x0^2`, `x0 x1`, …; the monomial of degree 0 is `1`."""
        powers = ([(variables[v], len([*g])) for v, g in groupby(f)] for f in self._factors())
        return [" ".join(x if p == 1 else f"{x}^{p}" for x, p in mono) or "1" for mono in powers]

    def powers(self) -> NDArray[np.int64]:
        """The exponents: one row per monomial, one column per variable."""
        exponents = np.zeros((self.n_out, self.n_features), dtype=np.int64)
        for row, factors in zip(exponents, self._factors(), strict=True):
            np.add.at(row, list(factors), 1)
        return exponents
