"""W V on a device, W the weights of a local method, some entries of which may not count."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from mercer._arrays import host
from mercer._examples import count
from mercer.engines.cuda.gram import CudaGram
from mercer.engines.cuda.memory import room_for
from mercer.engines.cuda.streamed import blocks
from mercer.formula import Formula

#: Elements of W made at a time where the whole of it must be looked at, and bytes for each.
BLOCK = 1 << 27
BYTES = 32


def weighted_product(
    formula: Formula, X: Any, Z: Any, V: np.ndarray, own: np.ndarray | None, certain: bool
) -> np.ndarray:
    """W V with W[i, own[i]] = 0; where W is not `certain` to be ≥ 0 it is checked.

    Host rows that are too large for the device pass over it in chunks, and so do the points.
    """
    result = np.zeros((count(X), V.shape[1]))
    with room_for(X, Z):
        for rows, columns, gram in blocks(formula, X, Z):
            right = torch.as_tensor(V[columns], device=gram.device).to(gram.torch_dtype)
            if own is None and certain:
                result[rows] += host(gram @ right)
            else:
                mine = None if own is None else own[rows] - columns.start
                result[rows] += _looked_at(gram, right, mine, certain)
    return result


def _looked_at(
    gram: CudaGram, right: torch.Tensor, own: np.ndarray | None, certain: bool
) -> np.ndarray:
    n, m = gram.shape
    result = np.empty((n, right.shape[1]))
    step = int(max(1, min(BLOCK, gram.limit_bytes // BYTES) // m))
    for start in range(0, n, step):
        rows = slice(start, min(start + step, n))
        w = gram.tensor(rows, slice(0, m))
        if own is not None:
            at = np.flatnonzero((own[rows] >= 0) & (own[rows] < m))
            w[tuple(torch.as_tensor(i, device=w.device) for i in (at, own[rows][at]))] = 0.0
        if not certain:
            w = _checked(w)
        result[rows] = host((w @ right).double())
    return result


def _checked(w: torch.Tensor) -> torch.Tensor:
    from mercer.solvers.local.weights import refuse_negative

    refuse_negative(float(w.min()), float(w.max()))
    return w.clamp_min(0.0)
