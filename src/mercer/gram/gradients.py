"""∇ₓ Σⱼ αⱼ k(x, zⱼ), tile by tile, for every kernel that has a formula.

By the chain rule over the statistics s of the formula, with S = ∂k/∂s a formula again:

    s = x·z      Σⱼ αⱼ Sᵢⱼ vⱼ                       S times α∘V: one product
    s = ‖x − z‖²  2 uᵢ Σⱼ αⱼ Sᵢⱼ − 2 Σⱼ αⱼ Sᵢⱼ vⱼ      S times [α, α∘V]: one product
    s = ‖x‖²     2 uᵢ Σⱼ αⱼ Sᵢⱼ
    others       Σⱼ αⱼ Sᵢⱼ ∂s/∂uᵢ                     column by column, on tiles of S

where u and v are the rows after the input maps, whose transposed derivatives come last. Where k has
a kink the slope is 0: of |x − z| at 0, and of a root or a fractional power at 0.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import singledispatch
from typing import Any

import numpy as np

import mercer.tuning as tuning
from mercer._arrays import host, is_sparse
from mercer._config import get_config
from mercer._examples import count, take
from mercer._machine.jit import njit
from mercer._tiles import Scratch, Tiling
from mercer.formula import derive, evaluate, simplify
from mercer.formula.inputs import (
    Categories,
    Columns,
    Matrix,
    NonNegative,
    Scale,
    Step,
    Unit,
    Warped,
    numeric,
)
from mercer.formula.nodes import X_J, Z_J, Formula, Input, rows_of, set_size, statistics
from mercer.gram.base import Gram, formula_of
from mercer.gram.dispatch import make_gram
from mercer.gram.row_values import over_sets
from mercer.gram.rows import as_rows, matrix
from mercer.kernels.catalog import FUNCTIONS
from mercer.kernels.core import Kernel


def weighted_gradient(kernel: Kernel, X: Any, Z: Any, coef: np.ndarray) -> np.ndarray:
    """∇ₓ Σⱼ αⱼₜ k(x, zⱼ) at every row x of X: an array (rows, outputs, columns of X).

    >>> from mercer import Linear
    >>> weighted_gradient(Linear(), [[1.0, 1.0]], [[2.0, 0.0], [0.0, 3.0]], np.ones((2, 1)))
    array([[[2., 3.]]])
    """
    if kernel.is_opaque:
        raise TypeError(f"{kernel!r} is no formula of numbers: it has no gradient in x")
    X, Z = as_rows(host(X)), as_rows(host(Z))
    gradient = np.zeros((count(X), coef.shape[1], _columns_of(X)))
    for node, gram, U, V in _slopes(kernel, X, Z):
        by_product = node.op in ("dot", "sqdist", "sqnorm")
        part = (_by_product if by_product else _by_columns)(node, gram, U, V, coef)
        gradient += _pulled_back(rows_of(node), X, part)
    return gradient


def slopes_in_rows(kernel: Kernel, X: Any, Z: Any, G: np.ndarray) -> np.ndarray:
    """Σⱼ Gᵢⱼ ∂k(xᵢ, zⱼ)/∂xᵢ for every row xᵢ.

    >>> from mercer import Linear
    >>> slopes_in_rows(Linear(), [[1.0, 1.0]], [[2.0, 0.0], [0.0, 3.0]], np.ones((1, 2)))
    array([[2., 3.]])
    """
    X, Z = as_rows(host(X)), as_rows(host(Z))
    total = np.zeros(X.shape)
    for node, gram, U, V in _slopes(kernel, X, Z):
        W = G * np.asarray(gram.dense(), dtype=np.float64)
        sums = W.sum(axis=1, keepdims=True)
        if node.op == "dot":
            part = W @ V
        elif node.op in ("sqnorm", "sqdist"):
            part = 2.0 * (sums * U if node.op == "sqnorm" else sums * U - W @ V)
        else:
            each = slopes_by_column(node, U, V)
            none = np.zeros(len(U))
            part = np.stack([none if p is None else (W * p).sum(axis=1) for p in each], axis=1)
        total += _pulled_back(rows_of(node), X, part[:, None, :])[:, 0]
    return total


def _slopes(
    kernel: Kernel, X: Any, Z: Any
) -> Iterator[tuple[Formula, Gram, np.ndarray, np.ndarray]]:
    """The statistics s of k that x changes, each with ∂k/∂s between X and Z, and their rows
    after its input map."""
    formula = simplify(formula_of(kernel))
    for node in statistics(formula):
        slope = simplify(derive(formula, node))
        of_z = node.op in ("sqnorm", "rowfn") and node.value[0] == "z"
        if of_z or (slope.op == "const" and slope.value == 0):
            continue
        if node.op == "rowfn":
            raise TypeError(f"{node!r} is a Python function: it has no gradient in x")
        U, V = (_dense(matrix(rows, rows_of(node), name)) for rows, name in ((X, "X"), (Z, "Z")))
        if node.op == "sqdist":  # only the difference counts: near 0 it keeps its digits
            center = V.mean(axis=0)
            U, V = U - center, V - center
        yield node, make_gram(slope, X, Z).facing_host(), U, V


def outer_product(
    kernel: Kernel,
    X: Any,
    Z: Any,
    coef: np.ndarray,
    weights: np.ndarray | None = None,
    diagonal: bool = False,
) -> np.ndarray:
    """The weighted mean of ∇f ∇fᵀ over the rows of X, summed over outputs; or its diagonal.

    As many rows at a time as the memory limit allows.
    """
    n, width, total = count(X), _columns_of(X), 0.0
    w = np.full(n, 1.0 / n) if weights is None else weights / weights.sum()
    step = max(
        1,
        int(tuning.COPY_SHARE * get_config().memory_bytes)
        // (8 * tuning.SLOPE_ARRAYS * coef.shape[1] * width),
    )
    for start in range(0, n, step):
        some = np.arange(start, min(start + step, n))
        slopes = weighted_gradient(kernel, take(X, some), Z, coef)
        slopes *= np.sqrt(w[some])[:, None, None]
        flat = slopes.reshape(-1, width)
        total = total + (np.einsum("ij,ij->j", flat, flat) if diagonal else flat.T @ flat)
    return np.asarray(total)


def _columns_of(X: Any) -> int:
    return int(X.shape[1]) if hasattr(X, "shape") else int(np.shape(X)[1])


def _dense(values: Any) -> np.ndarray:
    return np.asarray(values.toarray() if is_sparse(values) else values, dtype=np.float64)


def _by_product(
    node: Formula, gram: Gram, U: np.ndarray, V: np.ndarray, coef: np.ndarray
) -> np.ndarray:
    """S times [α, α∘V], for as many outputs at a time as the memory limit allows."""
    op, (n, d), m = node.op, U.shape, len(V)
    out = np.empty((n, coef.shape[1], d))
    step = int(max(1, tuning.COPY_SHARE * get_config().memory_bytes // (8 * (n + m) * (d + 1))))
    for start in range(0, coef.shape[1], step):
        some = coef[:, start : start + step].astype(np.float64)
        t = some.shape[1]
        across = (some[:, :, None] * V[:, None, :]).reshape(m, -1)
        both = np.hstack([some, across]) if op != "sqnorm" else some
        product = np.asarray(host(gram @ both.astype(gram.dtype, copy=False)), dtype=np.float64)
        centered = product[:, :t, None] * U[:, None, :]
        rest = product[:, t:].reshape(n, t, -1)
        if op == "dot":
            out[:, start : start + step] = rest
        else:
            out[:, start : start + step] = 2.0 * (centered - rest if op == "sqdist" else centered)
    return out


# --- statistics whose slope in a column is no product -------------------------------------------


def _by_columns(
    node: Formula, gram: Gram, U: np.ndarray, V: np.ndarray, coef: np.ndarray
) -> np.ndarray:
    """Tiles of S, each multiplied with ∂s/∂u of one column after the other."""
    n, d = U.shape
    out, alpha = np.zeros((n, coef.shape[1], d)), np.ascontiguousarray(coef, dtype=np.float64)

    def body(rows: slice, columns: slice, tile: Any, scratch: Scratch) -> None:
        weights = np.ascontiguousarray(host(tile), dtype=np.float64)
        u, v, a = U[rows], V[columns], alpha[columns]
        if node.op == "l1":
            add_signs(weights, u, v, a, out[rows])
            return
        for j, part in enumerate(slopes_by_column(node, u, v)):
            if part is not None:
                out[rows, :, j] += (weights * part) @ a

    # Tiles of one width, however many threads there are: sums then round alike.
    room = (
        tuning.COPY_SHARE
        * get_config().memory_bytes
        / (8 * tuning.COLUMN_ARRAYS * d * tuning.SMALL_BLOCK_ROWS * tuning.GRADIENT_THREADS)
    )
    tiling = Tiling(
        gram.shape, (tuning.SMALL_BLOCK_ROWS, int(np.clip(room, 16, 2048))), get_config().n_threads
    )
    gram.sweep(body, tiling=tiling, what="gradients")
    return out


def slopes_by_column(node: Formula, u: np.ndarray, v: np.ndarray) -> list[Any]:
    """∂s(uᵢ, vⱼ)/∂uᵢ as one matrix per column; None where it is 0."""
    return _SLOPES[node.op if node.op != "reduce" else ""](node, u, v)


@njit(nogil=True, fastmath={"contract"})
def add_signs(S: Any, u: Any, v: Any, alpha: Any, out: Any) -> None:
    """out[i, t, d] += Σⱼ S[i, j] alpha[j, t] sign(u[i, d] − v[j, d])."""
    for i in range(S.shape[0]):
        for j in range(S.shape[1]):
            for t in range(alpha.shape[1]):
                w = S[i, j] * alpha[j, t]
                row = out[i, t]
                for d in range(u.shape[1]):
                    a, b = u[i, d], v[j, d]
                    row[d] += w if a > b else (-w if a < b else 0.0)


def _farthest(node: Formula, u: np.ndarray, v: np.ndarray) -> list[np.ndarray]:
    """Slopes of max |u − v|: the sign in the column of the maximum, the first of several."""
    gap = u[:, None] - v[None]
    first = np.abs(gap).argmax(axis=2)
    return [np.sign(gap[:, :, j]) * (first == j) for j in range(u.shape[1])]


def _of_reduction(node: Formula, u: np.ndarray, v: np.ndarray) -> list[np.ndarray | None]:
    """Slopes of Σ, Π, max, the mean or sets over the columns of a body."""
    how, body = node.value[0], node.args[0]
    rise = derive(body, X_J)
    if not any(inner is X_J for inner in body.walk()):
        return [None] * u.shape[1]
    shape = (len(u), len(v))

    def at(formula: Formula, j: int) -> np.ndarray:
        values = {X_J: u[:, j, None], Z_J: v[None, :, j]}
        with np.errstate(all="ignore"):
            return np.broadcast_to(np.asarray(evaluate(formula, values), dtype=float), shape)

    each = [at(rise, j) for j in range(u.shape[1])]
    if how in ("sum", "mean"):
        return [one / (len(each) if how == "mean" else 1) for one in each]
    values = [at(body, j) for j in range(u.shape[1])]
    if how == "max":
        first = np.stack(values).argmax(axis=0)
        return [one * (first == j) for j, one in enumerate(each)]
    size = set_size(how) or len(values)
    return [one * _sets(values[:j] + values[j + 1 :], size - 1) for j, one in enumerate(each)]


def _sets(values: list[np.ndarray], size: int) -> Any:
    """The sum over all sets of `size` arrays of their products."""
    if size == len(values):
        return np.prod(values, axis=0) if values else 1.0
    return over_sets(values, size) if size else 1.0


_SLOPES: dict[str, Callable[..., list[Any]]] = {
    "l1": lambda node, u, v: [np.sign(u[:, j, None] - v[:, j]) for j in range(u.shape[1])],
    "linf": _farthest,
    "": _of_reduction,
}


# --- input maps, backwards ----------------------------------------------------------------------


def _pulled_back(rows: Input, X: Any, slopes: np.ndarray) -> np.ndarray:
    """∇ₓ from the slopes in u = what the steps make of x."""
    before = [X]
    for step in rows.steps[:-1]:
        before.append(step(before[-1]))
    for step, x in zip(reversed(rows.steps), reversed(before), strict=False):
        slopes = _transposed(step, x, slopes)
    return slopes


@singledispatch
def _transposed(step: Step, x: Any, slopes: np.ndarray) -> np.ndarray:
    """Slopes in the rows x before a step, from those after it."""
    raise TypeError(f"{step} has no derivative: no gradient in x")


@_transposed.register(NonNegative)
@_transposed.register(Categories)
def _same(step: Step, x: Any, slopes: np.ndarray) -> np.ndarray:
    return slopes


@_transposed.register
def _(step: Columns, x: Any, slopes: np.ndarray) -> np.ndarray:
    width = _columns_of(x)
    names = list(getattr(x, "columns", ()))
    spread = np.zeros((*slopes.shape[:2], width))
    for j, name in enumerate(step.names):
        index = names.index(name) if name in names else step.position(name, width)
        spread[:, :, index] += slopes[:, :, j]
    return spread


@_transposed.register
def _(step: Scale, x: Any, slopes: np.ndarray) -> np.ndarray:
    return slopes / step.lengths.array


@_transposed.register
def _(step: Matrix, x: Any, slopes: np.ndarray) -> np.ndarray:
    return slopes @ step.matrix.array.T


@_transposed.register
def _(step: Unit, x: Any, slopes: np.ndarray) -> np.ndarray:
    x = _dense(numeric(x))
    length = np.linalg.norm(x, axis=1)
    length = np.where(length > 0, length, np.inf)[:, None, None]
    unit = x[:, None, :] / length
    return (slopes - (slopes * unit).sum(axis=2, keepdims=True) * unit) / length


@_transposed.register
def _(step: Warped, x: Any, slopes: np.ndarray) -> np.ndarray:
    rise = next((_RISES[name] for name in _RISES if FUNCTIONS[name] is step.phi), None)
    if rise is None:
        raise TypeError(f"{step} is a Python function without a known derivative: no gradient in x")
    return slopes * rise(_dense(numeric(x)))[:, None, :]


#: The derivatives of the functions that `warp` knows by name.
_RISES: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "log1p": lambda x: 1.0 / (1.0 + x),
    "sqrt": lambda x: np.where(x > 0, 0.5 / np.sqrt(np.where(x > 0, x, 1.0)), 0.0),
    "square": lambda x: 2.0 * x,
    "abs": np.sign,
    "tanh": lambda x: 1.0 - np.tanh(x) ** 2,
}
