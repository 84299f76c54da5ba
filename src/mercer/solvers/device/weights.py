"""W V on a device, W the weights of a local method, some entries of which may not count."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from mercer.formula import Formula
from mercer.gram.device import host
from mercer.gram.torch_engine import DeviceGram

#: Elements of W made at a time where the whole of it must be looked at.
BLOCK = 1 << 27


def weighted_product(
    formula: Formula, X: Any, Z: Any, V: np.ndarray, own: np.ndarray | None, certain: bool
) -> np.ndarray:
    """W V with W[i, own[i]] = 0; where W is not `certain` to be ≥ 0 it is checked."""
    gram = DeviceGram(formula, X, Z).facing_host()
    if own is None and certain:
        return np.asarray(gram @ V, dtype=np.float64)
    n, m = gram.shape
    right = torch.as_tensor(V, device=gram._x.device).to(gram._torch_dtype)
    mine = None if own is None else torch.as_tensor(own, device=right.device)
    result = np.empty((n, V.shape[1]))
    step = max(1, BLOCK // m)
    for start in range(0, n, step):
        rows = slice(start, min(start + step, n))
        w = gram._dense_tensor(rows, slice(0, m))
        if mine is not None:
            at = torch.arange(len(w), device=w.device)
            w[at, mine[rows]] = 0.0
        if not certain:
            w = _checked(w)
        result[rows] = host((w @ right).double())
    return result


def _checked(w: torch.Tensor) -> torch.Tensor:
    from mercer.solvers.weights import refuse_negative

    refuse_negative(float(w.min()), float(w.max()))
    return w.clamp_min(0.0)
