"""Σᵢⱼ Wᵢⱼ ∂k(xᵢ, zⱼ)/∂p for all parameters p, tile by tile: no derivative of K ever exists.

For lengths ℓ of the columns, ∂k/∂ℓⱼ = (∂k/∂s) · (−2/ℓⱼ)(uⱼ − vⱼ)², where s = ‖u − v‖² is that of
the scaled rows. With M = W∘∂K/∂s the sums over all pairs are M1·u², 1M·v² and uᵀMv: matrix products
that serve all columns at once.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer._arrays import host, is_sparse
from mercer._config import get_config
from mercer._tiles import Scratch, Tiling
from mercer.formula import derive
from mercer.formula.derive import lengths_of, parameters_of
from mercer.gram.base import Body, Gram, formula_of
from mercer.gram.rows import matrix
from mercer.tuning import GRADIENT_ENTRY_BYTES, SMALL_BLOCK_ROWS, WORK_SHARE


def weighted_slopes(gram: Gram, W: Any) -> dict[str, Any]:
    """A number per scalar parameter, an array per parameter with a length per column.

    W is in double precision and where K is; it is symmetric where K is K(X, X).

    >>> import numpy as np
    >>> from mercer import Gaussian
    >>> X = np.array([[0.0, 0.0], [1.0, 2.0]])
    >>> found = weighted_slopes(Gaussian(2.0).gram(X), np.ones((2, 2)))
    >>> {name: round(value, 3) for name, value in found.items()}
    {'sigma': 0.669}
    """
    formula = formula_of(gram.kernel)
    slopes: dict[str, Any] = {}
    for name, node in parameters_of(formula).items():
        slope, scale = gram.of(derive(formula, node)), lengths_of(node)
        if scale is None:
            slopes[name] = _total(slope, W)
        else:
            squares = _squares(slope, W, *_sides(gram, node.value))
            slopes[name] = -2.0 / scale.lengths.array * squares
    return slopes


def diagonal_slopes(gram: Gram, weights: np.ndarray) -> dict[str, Any]:
    """Σᵢ wᵢ ∂k(xᵢ, xᵢ)/∂p for the parameters of `weighted_slopes`; lengths change none."""
    formula = formula_of(gram.kernel)
    slopes: dict[str, Any] = {}
    for name, node in parameters_of(formula).items():
        varies = lengths_of(node) is None
        slopes[name] = _dot(weights, gram.of(derive(formula, node)).diagonal()) if varies else 0.0
    return slopes


def _dot(weights: np.ndarray, diagonal: Any) -> float:
    return float(np.sum(weights * host(diagonal), dtype=np.float64))


def _total(gram: Gram, W: Any) -> float:
    sums: list[float] = []

    def body(rows: slice, columns: slice, tile: Any, scratch: Scratch) -> None:
        sums.append(float(_weighted(gram, W, rows, columns, tile)[0].sum()))

    _sweep(gram, W, body)
    return float(np.sum(np.sort(sums)))


def _squares(gram: Gram, W: Any, U: Any, V: Any) -> np.ndarray:
    """Σᵢⱼ Wᵢⱼ Gᵢⱼ (uᵢ − vⱼ)² per column of U and V."""
    sums: list[np.ndarray] = []

    def body(rows: slice, columns: slice, tile: Any, scratch: Scratch) -> None:
        M, here = _weighted(gram, W, rows, columns, tile)
        u, v = U[rows], V[here]
        across = (u * (M @ v)).sum(0)
        sums.append(host(M.sum(1) @ (u * u) + M.sum(0) @ (v * v) - 2.0 * across))

    _sweep(gram, W, body)
    return np.sum(np.sort(np.stack(sums), axis=0), axis=0)


def _sweep(gram: Gram, W: Any, body: Body) -> None:
    """Every tile, in small ones where W takes much of the memory limit itself."""
    tiling = None
    if isinstance(W, np.ndarray) and W.nbytes > WORK_SHARE * gram.limit_bytes:
        threads = get_config().n_threads
        left = max(gram.limit_bytes - W.nbytes, gram.limit_bytes // 32)
        width = int(max(64, left // (GRADIENT_ENTRY_BYTES * SMALL_BLOCK_ROWS * threads)))
        tiling = Tiling(
            gram.shape, (SMALL_BLOCK_ROWS, min(width, gram.shape[1])), threads, gram.square
        )
    triangle = gram.square
    gram.sweep(body, tiling=tiling, triangle=triangle, exact_diagonal=True, what="derivatives")


def _weighted(gram: Gram, W: Any, rows: slice, columns: slice, tile: Any) -> tuple[Any, slice]:
    """W times a tile, without what is below the diagonal of a square K and counts for it twice."""
    if not gram.square:
        return W[rows, columns] * tile, columns
    first = max(rows.start, columns.start)
    here = slice(first, columns.stop)
    weighted = W[rows, here] * tile[:, first - columns.start :]
    weighted[:, max(rows.stop - first, 0) :] *= 2.0
    return weighted, here


def _sides(gram: Gram, rows: Any) -> tuple[Any, Any]:
    """The rows of X and Z after an input map, around the mean of X, in the place of K."""
    others = gram.others()
    U = _dense(matrix(host(gram.points()), rows, "X"))
    V = U if others is None else _dense(matrix(host(others), rows, "Z"))
    mean = U.mean(axis=0)
    return gram.asarray(U - mean), gram.asarray(V - mean)


def _dense(values: Any) -> np.ndarray:
    return np.asarray(values.toarray() if is_sparse(values) else values, dtype=np.float64)
