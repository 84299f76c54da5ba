"""Weighted least squares for many queries at once, from sums over tiles of weights.

The normal equations come from those sums. They square the condition number: a row where that could
cost more than a few digits is solved again from its weighted design, by singular values.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mercer._config import get_config
from mercer.formula.inputs import numeric
from mercer.solvers.local.loops import Monomials
from mercer.solvers.local.means import peak_of
from mercer.solvers.local.weights import Weights

#: Eigenvalues of the normal matrix below NONE of the largest are zero; those between NONE and SURE
#: are in doubt, and the row is solved by singular values.
NONE, SURE = 1e-14, 1e-7
#: A spread below this, of rows divided by h, is none: nearly all weight lies on one place.
TINY = 1e-100


@dataclass(frozen=True)
class Basis:
    """What is fitted: monomials of z − x, or features of z (`at_z`, and `at_x` for the queries)."""

    monomials: Monomials | None = None
    at_x: np.ndarray | None = None
    at_z: np.ndarray | None = None

    @property
    def size(self) -> int:
        if self.monomials is not None:
            return self.monomials.size
        assert self.at_z is not None
        return int(self.at_z.shape[1])

    def at(self, rows: np.ndarray) -> Basis:
        """The same for some of the queries."""
        return Basis(self.monomials, None if self.at_x is None else self.at_x[rows], self.at_z)


class WeightedLeastSquares:
    """One design and its targets: sums over tiles in, coefficients out."""

    def __init__(
        self,
        basis: Basis,
        t: np.ndarray,
        v: np.ndarray,
        z: np.ndarray | None,
        squares: bool = False,
    ) -> None:
        self.basis, self.t, self.v, self.z = basis, t, v, z
        self.outputs = t.shape[1]
        # Sums of w t² come last: with them the residuals need no second pass.
        self.squares = squares
        self.size = basis.size
        if basis.monomials is None:
            a, b = np.triu_indices(self.size)
            self.upper = (a, b)

    # --- sums ------------------------------------------------------------------------------

    def sums(self, weights: Weights) -> np.ndarray:
        if self.basis.monomials is None:
            return self._feature_sums(weights)
        from mercer.solvers.local.loops import add_moments

        m = self.basis.monomials
        assert self.z is not None
        x = np.ascontiguousarray(numeric(weights.X), dtype=np.float64)
        z, v, t = self.z, self.v, self.t
        if weights.near is not None:
            order = weights.near.columns
            x, z, v, t = x[weights.near.rows], z[:, order], v[order], t[order]
        values = np.ascontiguousarray(t.T)
        width = m.total + self.outputs * m.size
        out = np.zeros((len(x), width + self.squares * self.outputs))
        unweighted = bool((v == 1).all())

        def body(rows: slice, columns: slice, w: np.ndarray) -> None:
            if not unweighted:
                w *= v[columns].astype(w.dtype)
            part = out[rows]
            add_moments(
                w,
                x[rows],
                z[:, columns],
                values[:, columns],
                m.parent,
                m.column,
                m.size,
                part,
            )
            if self.squares:
                part[:, width:] += w @ (t[columns] ** 2)

        weights.sweep(body)
        return weights.in_order(out)

    def _feature_sums(self, weights: Weights) -> np.ndarray:
        """Weights times 1, φφᵀ, φ t and t²: in several products where they are many columns."""
        phi, v = self.basis.at_z, self.v[:, None]
        assert phi is not None
        a, b = self.upper
        most = max(16, int(0.25 * get_config().memory_bytes / (8 * len(phi))))
        parts = [weights.product(v)]
        for start in range(0, len(a), most):
            part = slice(start, start + most)
            parts.append(weights.product(v * phi[:, a[part]] * phi[:, b[part]]))
        parts += [weights.product(v * phi * self.t[:, o, None]) for o in range(self.outputs)]
        if self.squares:
            parts.append(weights.product(v * self.t**2))
        return np.hstack(parts)

    def own_terms(self, weights: Weights) -> np.ndarray | None:
        """What a query's own example adds: it stands at z − x = 0, so only to the constant."""
        m, peak = self.basis.monomials, peak_of(weights.formula)
        if weights.own is None or m is None or peak is None:
            return None
        place = weights.own
        v, t = peak * self.v[place], self.t[place]
        width = m.total + self.outputs * m.size
        terms = np.zeros((len(place), width + self.squares * self.outputs))
        terms[:, 0] = v
        for o in range(self.outputs):
            terms[:, m.total + o * m.size] = v * t[:, o]
        if self.squares:
            terms[:, width:] = v[:, None] * t**2
        return terms

    # --- normal equations --------------------------------------------------------------------

    def normal(self, sums: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The matrix Σ w φφᵀ and the right side Σ w φ t of every query, per unit of weight."""
        m, size = self.basis.monomials, self.size
        scale = np.where(sums[:, 0] > 0, sums[:, 0], 1.0)[:, None, None]
        if m is not None:
            matrix = sums[:, m.pair]
            right = sums[:, m.total : m.total + self.outputs * size]
        else:
            matrix = np.empty((len(sums), size, size))
            a, b = self.upper
            matrix[:, a, b] = matrix[:, b, a] = sums[:, 1 : 1 + len(a)]
            right = sums[:, 1 + len(a) : 1 + len(a) + self.outputs * size]
        right = right.reshape(len(sums), self.outputs, size).transpose(0, 2, 1)
        return matrix / scale, right / scale

    def inverse(self, matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The pseudo-inverse of each matrix, and which of them are in doubt."""
        free = self.basis.monomials is not None
        if free and self.size == 1:
            return np.where(matrix > 0, 1.0 / np.where(matrix > 0, matrix, 1.0), 0.0), np.zeros(
                len(matrix), dtype=bool
            )
        # The constant is projected out first: then least norm speaks of slopes only.
        inner = matrix
        if free:
            mean = matrix[:, 0, 1:]
            inner = matrix[:, 1:, 1:] - mean[:, :, None] * mean[:, None, :]
        scale = np.ones(inner.shape[:2])
        if free:
            scale = np.sqrt(np.einsum("ijj->ij", matrix)[:, 1:])
            scale = np.where(scale > TINY, scale, 1.0)
        values, vectors = np.linalg.eigh(inner / (scale[:, :, None] * scale[:, None, :]))
        share = values / np.maximum(1.0, values[:, -1:])
        doubt = ((share > NONE) & (share < SURE)).any(axis=1)
        kept = share > NONE
        root = np.where(kept, 1.0 / np.sqrt(np.where(kept, values, 1.0)), 0.0)[:, None, :]
        half = vectors * root / scale[:, :, None]
        small = half @ half.transpose(0, 2, 1)
        if not free:
            return small, doubt
        result = np.empty_like(matrix)
        slope = np.einsum("ijk,ik->ij", small, mean)
        result[:, 1:, 1:] = small
        result[:, 0, 1:] = result[:, 1:, 0] = -slope
        result[:, 0, 0] = 1.0 + np.einsum("ij,ij->i", slope, mean)
        return result, doubt

    def solve(self, sums: np.ndarray, weights: Weights) -> tuple[np.ndarray, np.ndarray | None]:
        """β for every query, and the local variance Σ w (t − βᵀφ)² / Σ w."""
        matrix, right = self.normal(sums)
        inverse, doubt = self.inverse(matrix)
        beta = inverse @ right
        variance = None
        if self.squares:
            total = sums[:, -self.outputs :] / np.where(sums[:, :1] > 0, sums[:, :1], 1.0)
            variance = np.maximum(total - np.einsum("iko,iko->io", beta, right), 0.0)
        rows = np.flatnonzero(doubt & (sums[:, 0] > 0))
        if len(rows):
            self._by_singular_values(weights, rows, beta, variance)
        return beta, variance

    def _by_singular_values(
        self, weights: Weights, rows: np.ndarray, beta: np.ndarray, variance: np.ndarray | None
    ) -> None:
        """Least squares from the weighted design itself, query by query."""
        part = weights.careful(rows) or weights.at(rows)
        for start in range(0, len(rows), 64):
            block = part.at(np.arange(start, min(start + 64, len(rows))))
            w = np.empty(block.shape)

            def body(r: slice, c: slice, tile: np.ndarray, w: np.ndarray = w) -> None:
                w[r, c] = tile

            block.sweep(body)
            w = block.in_order(w)
            if block.near is not None:
                w[:, block.near.columns] = w.copy()
            x = None if self.z is None else np.asarray(numeric(block.X), dtype=np.float64)
            for i, row in enumerate(rows[start : start + 64]):
                self._one(w[i] * self.v, None if x is None else x[i], row, beta, variance)

    def _one(
        self,
        w: np.ndarray,
        x: np.ndarray | None,
        row: int,
        beta: np.ndarray,
        variance: np.ndarray | None,
    ) -> None:
        seen = np.flatnonzero(w > 0)
        w, t = w[seen] / w[seen].sum(), self.t[seen]
        root = np.sqrt(w)[:, None]
        if self.basis.monomials is None:
            assert self.basis.at_z is not None
            phi = self.basis.at_z[seen]
            beta[row] = np.linalg.lstsq(root * phi, root * t, rcond=1e-13)[0]
        else:
            assert self.z is not None
            assert x is not None
            phi = self.basis.monomials.of(self.z[:, seen].T - x)
            mean, centre = w @ phi[:, 1:], w @ t
            scale = np.sqrt(w @ phi[:, 1:] ** 2)
            scale = np.where(scale > TINY, scale, 1.0)
            design = root * (phi[:, 1:] - mean) / scale
            slopes = np.linalg.lstsq(design, root * (t - centre), rcond=np.sqrt(NONE))[0]
            slopes = beta[row, 1:] = slopes / scale[:, None]
            beta[row, 0] = centre - mean @ slopes
        if variance is not None:
            variance[row] = w @ (t - phi @ beta[row]) ** 2

    def value(self, beta: np.ndarray) -> np.ndarray:
        if self.basis.monomials is not None:
            return beta[:, 0].copy()
        assert self.basis.at_x is not None
        return np.einsum("ik,iko->io", self.basis.at_x, beta)
