"""Diagonals, distances and gradients of a kernel, each from a Gram made for the purpose."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from mercer._arrays import as_tensor, host, is_tensor, like
from mercer._examples import count, widened
from mercer.formula import at_diagonal, simplify
from mercer.formula.derive import names_of
from mercer.formula.nodes import sqdist
from mercer.formula.ranking import linear_part
from mercer.gram.base import formula_of, simplified_diagonal
from mercer.gram.dispatch import keeper_of, make_gram, solver_gram
from mercer.gram.form import form_of
from mercer.gram.row_values import row_value
from mercer.gram.rows import Operand, Rows, check_not_empty, common_dtype
from mercer.kernels.core import Kernel


def diagonal(kernel: Kernel, X: Any) -> np.ndarray:
    """k(x, x) for every row of X."""
    if keeper_of(kernel, X) is not None:
        return make_gram(kernel, X).diagonal()
    formula = formula_of(kernel)
    rows = Rows(form_of(formula), X)
    side = Operand(rows.n, common_dtype(rows.dtypes), rows.matrices, {}, raw=rows.raw)
    return row_value(simplified_diagonal(formula), side, "X")


def distance(kernel: Kernel, X: Any, Z: Any = None) -> np.ndarray:
    """√(k(x,x) − 2k(x,z) + k(z,z)); in float64, because it cancels where x and z are close.

    For k = c x·z that is √c ‖x − z‖, from differences.
    """
    k = formula_of(kernel)
    linear, slope = linear_part(simplify(k))
    if linear is not None and slope > 0:
        root = np.sqrt(slope) * sqdist(linear.value).sqrt()
    else:
        root = (at_diagonal(k, "x") + at_diagonal(k, "z") - 2.0 * k).plus().sqrt()
    gram = make_gram(root, widened(X), None if Z is None else widened(Z))
    values: Any = gram.dense()
    if is_tensor(values):
        import torch

        wide = torch.promote_types(as_tensor(X).dtype, torch.float32)
        return (values.fill_diagonal_(0.0) if Z is None else values).to(wide)  # type: ignore[no-any-return]
    if Z is None:
        np.fill_diagonal(values, 0.0)
    return values.astype(np.float32) if _is_single(X) and (Z is None or _is_single(Z)) else values


def _is_single(X: Any) -> bool:
    if hasattr(X, "dtypes"):  # a DataFrame
        return all(dtype == np.float32 for dtype in np.atleast_1d(X.dtypes))
    return getattr(X, "dtype", None) == np.float32


def distance_to_mean(kernel: Kernel, X: Any, sample: Any) -> np.ndarray:
    """‖φ(x) − φ̄‖ = √(k(x,x) − (2/N) Σᵢ k(x, xᵢ) + (1/N²) Σᵢⱼ k(xᵢ, xⱼ)), φ̄ the mean of the sample.

    Parameters
    ----------
    kernel : Kernel
        The kernel k.
    X : array or list
        Examples whose distance is asked for.
    sample : array or list
        Examples that the mean is taken of.

    Returns
    -------
    ndarray of shape (n,)
        One distance per example of X.

    Examples
    --------
    >>> from mercer import Linear, distance_to_mean
    >>> distance_to_mean(Linear(), [[3.0, 4.0]], [[-1.0, 0.0], [1.0, 0.0]])
    array([5.])
    """
    check_not_empty(sample, "the sample")
    n = count(sample)
    ones = np.full(n, 1.0 / n)
    # In float64, as in `distance`: the three terms cancel where x is close to the mean.
    single = _is_single(X) and _is_single(sample)
    X, sample = widened(X), widened(sample)
    squares = host(diagonal(kernel, X))
    cross = solver_gram(kernel, X, sample) @ ones
    spread = float(ones @ (solver_gram(kernel, sample) @ ones))
    values = np.sqrt(np.maximum(squares - 2.0 * cross + spread, 0.0))
    if is_tensor(X):
        return like(values, X)  # type: ignore[no-any-return]
    return values.astype(np.float32) if single else values


def gradient(kernel: Kernel, X: Any, Z: Any = None) -> dict[str, np.ndarray]:
    """∂k/∂p for every number p that the formula names."""
    gram = make_gram(kernel, X, Z)
    return {name: gram.grad(name).dense() for name in names_of(formula_of(kernel))}


# k(x, z) of PyTorch's tensors as a tensor, and the first derivatives of it in both sets of rows.
# With G the slope of a loss in K, row i of the slope in X is Σⱼ Gᵢⱼ ∂k(xᵢ, zⱼ)/∂xᵢ (`gradients`).


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
            from mercer.gram.gradients import slopes_in_rows

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
