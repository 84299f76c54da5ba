"""Sets of examples, whatever holds them: an array, CSR, a DataFrame, a tensor, a list."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mercer.formula.inputs import is_sparse
from mercer.gram.dispatch import is_tensor
from mercer.gram.rows.validate import count


def take(X: Any, index: Any) -> Any:
    """Some of the examples, by slice or positions."""
    if hasattr(X, "iloc"):
        return X.iloc[index]
    if hasattr(X, "shape") or isinstance(index, slice):
        return X[index]
    return [X[i] for i in index]


def joined(parts: Sequence[Any]) -> Any:
    """Several sets of examples as one.

    >>> joined([["a"], ["b", "c"]])
    ['a', 'b', 'c']
    """
    parts = [p for p in parts if count(p)] or list(parts[:1])
    if len(parts) == 1:
        return parts[0]
    if hasattr(parts[0], "iloc"):
        import pandas as pd

        return pd.concat(parts, ignore_index=True)
    if any(is_sparse(p) for p in parts):
        import scipy.sparse as sp

        return sp.vstack([sp.csr_array(p) for p in parts], format="csr")
    if all(is_tensor(p) for p in parts):
        import torch

        return torch.cat(list(parts))
    if all(isinstance(p, np.ndarray) for p in parts):
        return np.concatenate(parts)
    return [example for part in parts for example in part]
