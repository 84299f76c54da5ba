"""Answers of a fitted model for rows in chunks: lazy for Dask's collections, at once for others."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from mercer.engines.cluster.chunks import Chunks, is_dask
from mercer.engines.cluster.pool import Call, gather, run


def answers(model: Any, method: str, X: Any, *args: Any, **options: Any) -> Any:
    """Answers of ``model.method(rows, …)`` for the rows of every chunk, in their order."""
    ask = partial(_ask, model, method, args, options)
    if not is_dask(X):
        parts = gather([Call(ask, (piece,)) for piece in Chunks.of(X).pieces], method)
        return np.concatenate(parts)
    if hasattr(X, "to_dask_array"):
        X = _known_columns(model, X).to_dask_array()
    if X.ndim != 2:
        raise ValueError(f"expected 2-D rows, got shape {X.shape}")
    if X.shape[1] != model.n_features_in_:
        raise ValueError(
            f"X has {X.shape[1]} features, but {type(model).__name__} is expecting "
            f"{model.n_features_in_} features as input"
        )
    like = ask(np.zeros((1, X.shape[1]), X.dtype))
    if not isinstance(like, np.ndarray):
        raise TypeError(f"{method} with these options gives no single array: ask array by array")
    X = X.rechunk({1: -1})
    task = partial(_task, ask)
    if like.ndim == 1:
        return X.map_blocks(task, dtype=like.dtype, drop_axis=1, meta=like[:0])
    return X.map_blocks(task, dtype=like.dtype, chunks=(X.chunks[0], like.shape[1:]), meta=like[:0])


def _known_columns(model: Any, frame: Any) -> Any:
    """The columns that `fit` saw, in its order."""
    names = getattr(model, "feature_names_in_", None)
    if names is None:
        return frame
    missing = [name for name in names if name not in frame.columns]
    if missing:
        raise ValueError(f"X has no column {missing[0]!r}, which fit saw")
    return frame[list(names)]


def _ask(model: Any, method: str, args: tuple[Any, ...], options: dict[str, Any], rows: Any) -> Any:
    if not len(rows):  # an empty chunk: the shape of an answer, without rows
        one = np.zeros((1, model.n_features_in_))
        return _ask(model, method, args, options, one)[:0]
    rows, names = np.asarray(rows), getattr(model, "feature_names_in_", None)
    if names is not None:
        import pandas as pd

        rows = pd.DataFrame(rows, columns=names)
    return getattr(model, method)(rows, *args, **options)


def _task(ask: Any, rows: Any) -> Any:
    return run(Call(ask, (rows,)))
