"""The graph of k: edges k(x, z) between different examples, and its smoothest functions.

The largest eigenvectors u of D^(−½)(K − diag K)D^(−½), D the row sums, give e = D^(−½)u: each
example is, up to λ, where the mean of its neighbors is, so that new examples can be put there, too:

    e(x) = Σᵢ k(xᵢ, x) eᵢ / (λ Σᵢ k(xᵢ, x))

With centers, K ≈ FFᵀ is of low rank, and the eigenvectors are those of a small matrix FᵀD⁻¹F; the
diagonal stays in K then.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import eigh

from mercer._arrays import host
from mercer._lazy import record
from mercer._linalg import inverse_lower
from mercer.gram import Gram
from mercer.maps.centers import center_matrix, independent
from mercer.solvers.linear.matrix import matrix_fits, scaled_matrix
from mercer.solvers.linear.nystrom import draw_centers
from mercer.solvers.linear.panels import panels_of
from mercer.solvers.spectral import krylov
from mercer.solvers.spectral.components import check_basis, pairs_by_blocks, signs
from mercer.tuning import EXACT_ROWS, SPECTRAL_DENSE_ROWS, SPECTRAL_DENSE_SHARE


@record
class Embedding:
    """λ, e(xᵢ) as `rows`, and what puts new examples there: `coef` over the examples at `index`.

    The last column of `coef` gives the degree Σ k(xᵢ, x).
    """

    values: np.ndarray
    rows: np.ndarray
    coef: np.ndarray
    index: np.ndarray | None = None
    n_iter: int = 0
    stopped: str = ""


def embedding(
    gram: Gram,
    count: int,
    solver: str,
    n_centers: int | None,
    how: Any,
    random: np.random.RandomState,
) -> Embedding:
    """The `count` smoothest functions on the graph."""
    n = gram.shape[0]
    if solver == "auto":
        special = n_centers is not None or not isinstance(how, str) or how != "uniform"
        solver = "nystrom" if n > EXACT_ROWS or special else "blocks"
        if solver == "blocks" and (n <= SPECTRAL_DENSE_ROWS or count > SPECTRAL_DENSE_SHARE * n):
            solver = "dense"
    if solver == "nystrom":
        return _by_centers(gram, count, n_centers, how, random)
    if solver == "dense" or 2 * krylov.fewest(count) > n:
        return _dense(gram, count)
    check_basis(gram, count)
    own = host(gram.diagonal()).astype(np.float64)
    panels = panels_of(gram)
    kept = panels.keep(0.5, triangle=True)
    ones = panels.asarray(np.ones((n, 1)))
    degree = _checked(host(panels.product(ones))[:, 0] - own, gram)
    s, d = panels.asarray(1.0 / np.sqrt(degree))[:, None], panels.asarray(own)[:, None]

    def multiply(V: Any) -> Any:
        V = s * V
        return s * (panels.product(V) - d * V)

    found = pairs_by_blocks(gram, panels, multiply, count, kept)
    rows = host(found.vectors) / np.sqrt(degree)[:, None]
    return _whole(found.values, rows, found.n_iter, found.stopped)


def _dense(gram: Gram, count: int) -> Embedding:
    n = gram.shape[0]
    if not matrix_fits(1, n, 8, count):
        raise MemoryError(
            f"the graph of {n} examples does not fit into the memory limit: take solver='blocks' "
            "or 'nystrom', or raise the limit with mercer.set_config(memory=…)."
        )
    A = scaled_matrix(gram, double=True)
    A.flat[:: n + 1] = 0.0
    degree = _checked(A.sum(axis=1), gram)
    root = np.sqrt(degree)
    A /= root
    A /= root[:, None]
    values, U = eigh(A, overwrite_a=True, check_finite=False, subset_by_index=(n - count, n - 1))
    return _whole(values[::-1], U[:, ::-1] / root[:, None])


def _whole(values: np.ndarray, rows: np.ndarray, n_iter: int = 0, stopped: str = "") -> Embedding:
    rows = rows * signs(rows)
    away = np.where(np.abs(values) > 1e-12, values, 1.0)
    coef = np.column_stack([rows / away, np.ones(len(rows))])
    return Embedding(values.copy(), rows, coef, None, n_iter, stopped)


def _by_centers(
    gram: Gram, count: int, n_centers: int | None, how: Any, random: np.random.RandomState
) -> Embedding:
    """The same for K ≈ K_nm K_mm⁻¹ K_mn, whose eigenvectors m centers give."""
    wanted = draw_centers(gram, n_centers, random, how=how)
    if wanted.positions is None:
        raise ValueError("centers of a graph are examples of it: give their indices")
    kept, F = independent(host(center_matrix(gram, wanted.positions)), gram.dtype)
    index, basis = wanted.positions[kept], inverse_lower(F[kept])  # L⁻¹, K_mm = LLᵀ
    panels = panels_of(gram.take(columns=index))
    panels.keep(0.4)
    n = gram.shape[0]
    ones = panels.asarray(np.ones((n, 1)))
    # Row sums of FFᵀ, F = K_nm L⁻ᵀ; and FᵀD⁻¹F = (D^(−½)F)ᵀ(D^(−½)F).
    total = basis.T @ (basis @ host(panels.transposed_product(ones)))
    degree = _checked(host(panels.product(panels.asarray(total)))[:, 0], gram)
    normal = panels.normal(np.zeros((n, 0)), 1.0 / degree)
    values, V = np.linalg.eigh(basis @ host(normal.H) @ basis.T)
    values, V = values[::-1][:count], V[:, ::-1][:, :count]
    if len(values) < count:
        raise ValueError(f"{len(index)} centers are independent, and {count} are needed: take more")
    # e = D^(−½)u = D⁻¹F v / √λ; the degree of a new example is that of the approximation.
    coef = basis.T @ (V / np.sqrt(np.maximum(values, 1e-300)))
    rows = host(panels.product(panels.asarray(coef))) / degree[:, None]
    sign = signs(rows)
    return Embedding(values.copy(), rows * sign, np.column_stack([coef * sign, total]), index)


def _checked(degree: np.ndarray, gram: Gram) -> np.ndarray:
    """Row sums; an example without edges is its own graph, and negative edges are refused."""
    if (degree < -1e-8 * np.abs(degree).max()).any():
        raise ValueError(
            f"{gram.kernel!r} has rows with a negative sum: edges of a graph have weights k ≥ 0; "
            "use gaussian(), laplacian() or another such kernel"
        )
    return np.where(degree > 1e-300, degree, 1.0)
