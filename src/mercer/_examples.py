"""Sets of examples, whatever holds them: an array, CSR, a DataFrame, a tensor, a list."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mercer._arrays import is_chunked, is_plain, is_sparse, is_tensor


def count(rows: Any) -> int:
    """How many examples there are."""
    if hasattr(rows, "shape"):
        if not len(rows.shape):
            raise ValueError("expected a set of examples, got a single number")
        return int(rows.shape[0])
    if isinstance(rows, (str, bytes)):
        raise TypeError("expected a set of examples, got one string; wrap it in a list")
    try:
        return len(rows)
    except TypeError:
        raise TypeError(
            f"expected an array or a list of examples, got {type(rows).__name__}"
        ) from None


def passes(estimator: Any, X: Any, *, reset: bool) -> bool:
    """Whether scikit-learn's checks would give X, an array or CSR, back as it is: its width, too.

    With `reset` the estimator remembers that width, as it does there.
    """
    numbers = X.data if type(X) is not np.ndarray and is_sparse(X) and X.format == "csr" else X
    if not is_plain(numbers) or X.ndim != 2:
        return False
    if reset:
        vars(estimator).pop("feature_names_in_", None)
        estimator.n_features_in_ = X.shape[1]
    unnamed = not hasattr(estimator, "feature_names_in_")
    return unnamed and X.shape[1] == getattr(estimator, "n_features_in_", None)


def take(X: Any, index: Any) -> Any:
    """Some of the examples, by slice or indices."""
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
    in_pieces = next(filter(is_chunked, parts), None)
    if in_pieces is not None:
        return in_pieces.joined(parts)
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


def widened(X: Any) -> Any:
    """Convert float32 numbers of examples to float64."""
    if is_tensor(X):
        return X.double()
    if hasattr(X, "iloc"):
        single = [c for c in X.columns if X[c].dtype == np.float32]
        return X.astype(dict.fromkeys(single, np.float64))
    return X.astype(np.float64) if getattr(X, "dtype", None) == np.float32 else X
