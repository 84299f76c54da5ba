"""What is fitted at each query: a polynomial of z − x, or given features φ(z).

A basis makes the sums that the normal equations of all queries are read from, one row per query:

    | sums without targets, Σ w first | Σ w φ t, for each output | Σ w t², if asked for |
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import lru_cache
from itertools import combinations_with_replacement
from math import comb
from typing import Any, Final

import numpy as np

import mercer.tuning as tuning
from mercer._arrays import is_sparse
from mercer._config import check_memory, get_config
from mercer._lazy import record
from mercer._machine.jit import may_compile
from mercer.formula.inputs import numeric
from mercer.solvers.local.weights import Weights

#: A monomial in the list and the index of `monomial_table`: bytes, for up to six columns.
MONOMIAL_BYTES: Final = 200
LESS = "Take a lower degree, or fewer columns."


class Basis(ABC):
    """`size` coefficients per output; `moments`: how many sums there are without targets."""

    size: int
    moments: int
    #: Whether the first coefficient is that of a constant, which is then not penalized.
    has_constant: bool

    @abstractmethod
    def at(self, rows: np.ndarray) -> Basis:
        """The same for some of the queries."""

    @abstractmethod
    def sums(self, weights: Weights, t: np.ndarray, v: np.ndarray, squares: bool) -> np.ndarray:
        """The sums over all examples, each of weight w v, for every query."""

    @abstractmethod
    def matrix(self, sums: np.ndarray) -> np.ndarray:
        """Σ w φφᵀ of every query."""

    @abstractmethod
    def queries(self, X: Any) -> np.ndarray:
        """What `design` needs to know of each query."""

    @abstractmethod
    def design(self, query: np.ndarray, examples: np.ndarray) -> np.ndarray:
        """φ of some examples, one row each, for one query."""

    @abstractmethod
    def value(self, coefficients: np.ndarray) -> np.ndarray:
        """βᵀφ at the queries themselves."""


@record
class MonomialTable:
    """All monomials of the columns up to twice a degree; the first `size` go up to the degree.

    `parent[a]` and `column[a]`: monomial a is monomial parent[a] times that column.
    `pair[a, b]`: the index of the product of two of the first `size` monomials.
    """

    size: int
    parent: np.ndarray
    column: np.ndarray
    pair: np.ndarray


@lru_cache(maxsize=64)
def monomial_table(columns: int, degree: int) -> MonomialTable:
    """In order of degree, so that the constant comes first and the columns follow.

    >>> monomial_table(2, 1).pair
    array([[0, 1, 2],
           [1, 3, 4],
           [2, 4, 5]])
    """
    listed = [
        powers
        for total in range(2 * degree + 1)
        for powers in combinations_with_replacement(range(columns), total)
    ]
    index = {powers: i for i, powers in enumerate(listed)}
    first = [powers for powers in listed if len(powers) <= degree]
    parent = np.array([index[powers[:-1]] if powers else 0 for powers in listed], dtype=np.int64)
    column = np.array([powers[-1] if powers else 0 for powers in listed], dtype=np.int64)
    pair = np.array([[index[tuple(sorted(a + b))] for b in first] for a in first], dtype=np.int64)
    return MonomialTable(len(first), parent, column, pair)


class Polynomial(Basis):
    """All monomials of z − x up to a degree: β₀ is the fit at x, the next D are its gradient."""

    has_constant = True

    def __init__(self, Z: Any, degree: int) -> None:
        rows = numeric(Z)
        if is_sparse(rows):
            raise TypeError("local polynomials need dense rows: their differences are not sparse")
        self.z: np.ndarray = np.ascontiguousarray(rows.T, dtype=np.float64)
        size, moments = (comb(len(self.z) + d, d) for d in (degree, 2 * degree))
        n_bytes = 8 * size**2 + MONOMIAL_BYTES * moments
        check_memory(1, size, n_bytes, LESS, "local coefficients")
        self.table: MonomialTable = monomial_table(len(self.z), degree)
        self.size, self.moments = self.table.size, len(self.table.parent)

    def at(self, rows: np.ndarray) -> Polynomial:
        return self

    def sums(self, weights: Weights, t: np.ndarray, v: np.ndarray, squares: bool) -> np.ndarray:
        add: Any = add_moments
        if may_compile() and weights.shape[0] * weights.shape[1] > tuning.NUMPY_PAIRS:
            from mercer.solvers.local.loops import add_moments as add
        table, x, z = self.table, np.ascontiguousarray(self.queries(weights.X)), self.z
        if weights.near is not None:
            order = weights.near.columns
            x, z, v, t = x[weights.near.rows], z[:, order], v[order], t[order]
        values = np.ascontiguousarray(t.T)
        width = self.moments + len(values) * self.size
        out = np.zeros((len(x), width + squares * len(values)))
        weighted = bool((v != 1).any())

        def body(rows: slice, columns: slice, w: np.ndarray) -> None:
            if weighted:
                w *= v[columns].astype(w.dtype)
            here, targets, part = z[:, columns], values[:, columns], out[rows]
            add(w, x[rows], here, targets, table.parent, table.column, self.size, part)
            if squares:
                part[:, width:] += w @ (t[columns] ** 2)

        weights.sweep(body)
        return weights.in_order(out)

    def matrix(self, sums: np.ndarray) -> np.ndarray:
        return sums[:, self.table.pair]

    def queries(self, X: Any) -> np.ndarray:
        return np.asarray(numeric(X), dtype=np.float64)

    def design(self, query: np.ndarray, examples: np.ndarray) -> np.ndarray:
        differences = self.z[:, examples].T - query
        values = np.ones((len(differences), self.size))
        for a in range(1, self.size):
            factor = differences[:, self.table.column[a]]
            values[:, a] = values[:, self.table.parent[a]] * factor
        return values

    def value(self, coefficients: np.ndarray) -> np.ndarray:
        return coefficients[:, 0].copy()


def add_moments(
    w: Any, x: Any, z: Any, t: Any, parent: Any, column: Any, size: int, out: Any
) -> None:
    """Do what `mercer.solvers.local.loops.add_moments` does, in NumPy: for few pairs."""
    total = len(parent)
    for weight, here, sums in zip(w, x, out, strict=True):
        gaps, chain = z - here[:, None], np.empty((total, len(weight)))
        chain[0] = weight
        for a in range(1, total):
            np.multiply(chain[parent[a]], gaps[column[a]], out=chain[a])
        sums[:total] += chain.sum(axis=1)
        sums[total : total + size * len(t)] += (t @ chain[:size].T).ravel()


class Features(Basis):
    """Given features: φ(x) of the queries and φ(z) of the examples, a row each."""

    has_constant = False

    def __init__(self, at_x: np.ndarray, at_z: np.ndarray) -> None:
        self.at_x, self.at_z, self.size = at_x, at_z, at_z.shape[1]
        self.upper = np.triu_indices(self.size)
        self.moments: int = 1 + len(self.upper[0])

    def at(self, rows: np.ndarray) -> Features:
        return Features(self.at_x[rows], self.at_z)

    def sums(self, weights: Weights, t: np.ndarray, v: np.ndarray, squares: bool) -> np.ndarray:
        """In several products where they are many columns."""
        phi, (a, b), v = self.at_z, self.upper, v[:, None]
        most = max(16, int(0.25 * get_config().memory_bytes / (8 * len(phi))))
        parts = [weights.product(v)]
        for start in range(0, len(a), most):
            part = slice(start, start + most)
            parts.append(weights.product(v * phi[:, a[part]] * phi[:, b[part]]))
        parts += [weights.product(v * phi * output[:, None]) for output in t.T]
        if squares:
            parts.append(weights.product(v * t**2))
        return np.hstack(parts)

    def matrix(self, sums: np.ndarray) -> np.ndarray:
        matrix, (a, b) = np.empty((len(sums), self.size, self.size)), self.upper
        matrix[:, a, b] = matrix[:, b, a] = sums[:, 1 : self.moments]
        return matrix

    def queries(self, X: Any) -> np.ndarray:
        return self.at_x

    def design(self, query: np.ndarray, examples: np.ndarray) -> np.ndarray:
        return self.at_z[examples]

    def value(self, coefficients: np.ndarray) -> np.ndarray:
        return np.asarray(np.einsum("ik,iko->io", self.at_x, coefficients))
