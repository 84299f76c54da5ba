"""k(x, z) of PyTorch's tensors as a tensor, and the first derivatives of it in both sets of rows.

With G the slope of a loss in K, row i of the slope in X is Σⱼ Gᵢⱼ ∂k(xᵢ, zⱼ)/∂xᵢ: the chain rule of
`gradients`, where W = G∘∂k/∂s stands for the matrix that is multiplied.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from mercer._arrays import host, is_tensor
from mercer.formula import derive, simplify
from mercer.formula.nodes import Formula, rows_of, statistics
from mercer.gram.base import formula_of
from mercer.gram.dispatch import make_gram
from mercer.gram.gradients import pulled_back, slopes_by_column
from mercer.gram.rows import as_rows, matrix
from mercer.kernels.core import Kernel


def tensor_block(kernel: Kernel, X: Any, Z: Any = None) -> Any:
    """K as a tensor where X or Z is one; its derivatives reach those that require a gradient."""
    import torch

    first = X if is_tensor(X) else Z
    X, Z = (one if one is None else torch.as_tensor(one, device=first.device) for one in (X, Z))
    learned = [one for one in (X, Z) if one is not None and one.requires_grad]
    if not learned or not torch.is_grad_enabled():
        return _values(kernel, X, Z)
    if kernel.is_opaque or not kernel.symmetric:
        raise TypeError(
            f"{kernel!r} is no formula of numbers: it has no gradient in x. "
            "Give rows that require none: X.detach()"
        )
    return _block().apply(kernel, X, Z)


def _values(kernel: Kernel, X: Any, Z: Any) -> Any:
    import torch

    rows = [one if one is None else one.detach() for one in (X, Z)]
    return torch.as_tensor(make_gram(kernel, *rows).dense(), device=X.device)


@cache
def _block() -> Any:
    import torch

    class Block(torch.autograd.Function):  # type: ignore[misc]
        """K, whose slopes in the rows are sums over formulas of this library."""

        @staticmethod
        def forward(context: Any, kernel: Kernel, X: Any, Z: Any) -> Any:
            """K between the rows of X and those of Z, or of X alone."""
            context.kernel = kernel
            context.save_for_backward(X, Z)
            return _values(kernel, X, Z)

        @staticmethod
        def backward(context: Any, slopes: Any) -> Any:
            """The slopes in X and in Z from those in K."""
            if torch.is_grad_enabled():
                raise RuntimeError("k has first derivatives only: leave out create_graph=True")
            X, Z = context.saved_tensors
            G = np.asarray(host(slopes), dtype=np.float64)
            kernel, wanted = context.kernel, context.needs_input_grad
            # In k(xᵢ, xⱼ) both arguments move; k is symmetric.
            first = (X, X, G + G.T) if Z is None else (X, Z, G)
            return (
                None,
                _like(slopes_in_rows(kernel, *first), X) if wanted[1] else None,
                _like(slopes_in_rows(kernel, Z, X, G.T), Z) if wanted[2] else None,
            )

    return Block


def _like(values: np.ndarray, X: Any) -> Any:
    import torch

    return torch.as_tensor(values, dtype=X.dtype, device=X.device)


def slopes_in_rows(kernel: Kernel, X: Any, Z: Any, G: np.ndarray) -> np.ndarray:
    """Σⱼ Gᵢⱼ ∂k(xᵢ, zⱼ)/∂xᵢ for every row xᵢ.

    >>> from mercer import Linear
    >>> slopes_in_rows(Linear(), [[1.0, 1.0]], [[2.0, 0.0], [0.0, 3.0]], np.ones((1, 2)))
    array([[2., 3.]])
    """
    X, Z = as_rows(host(X)), as_rows(host(Z))
    formula = simplify(formula_of(kernel))
    total = np.zeros(X.shape)
    for node in statistics(formula):
        slope = simplify(derive(formula, node))
        if (slope.op == "const" and slope.value == 0) or (
            node.op in ("sqnorm", "rowfn") and node.value[0] == "z"
        ):
            continue
        if node.op == "rowfn":
            raise TypeError(f"{node!r} is a Python function: it has no gradient in x")
        U, V = (np.asarray(matrix(rows, rows_of(node), "X"), dtype=np.float64) for rows in (X, Z))
        W = G * np.asarray(make_gram(slope, X, Z).facing_host().dense(), dtype=np.float64)
        total += pulled_back(rows_of(node), X, _of_statistic(node, W, U, V)[:, None, :])[:, 0]
    return total


def _of_statistic(node: Formula, W: np.ndarray, U: np.ndarray, V: np.ndarray) -> np.ndarray:
    """Σⱼ Wᵢⱼ ∂s(uᵢ, vⱼ)/∂uᵢ."""
    if node.op == "dot":
        return np.asarray(W @ V)
    if node.op == "sqnorm":
        return 2.0 * W.sum(axis=1, keepdims=True) * U
    if node.op == "sqdist":
        center = V.mean(axis=0)  # only the difference counts: near 0 it keeps its digits
        U, V = U - center, V - center
        return np.asarray(2.0 * (W.sum(axis=1, keepdims=True) * U - W @ V))
    parts = slopes_by_column(node, U, V)
    return np.stack([0.0 * U[:, 0] if p is None else (W * p).sum(axis=1) for p in parts], axis=1)
