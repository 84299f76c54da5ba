"""k(x, z) of PyTorch's tensors as a tensor, and the first derivatives of it in both sets of rows.

With G the slope of a loss in K, row i of the slope in X is Σⱼ Gᵢⱼ ∂k(xᵢ, zⱼ)/∂xᵢ (`gradients`).
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from mercer._arrays import host, is_tensor
from mercer.gram.dispatch import make_gram
from mercer.gram.gradients import slopes_in_rows
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
