"""Rows mixed of others, and Shapley values estimated by walks from a background row to x."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from mercer._examples import count


def mixed(table: Any, index: np.ndarray) -> Any:
    """Rows whose column j comes from row ``index[i, j]`` of the table.

    >>> mixed(np.array([[1, 2], [3, 4]]), np.array([[0, 1]]))
    array([[1, 4]])
    """
    if not hasattr(table, "iloc"):
        return np.asarray(table)[index, np.arange(index.shape[1])]
    import pandas as pd

    columns = [table.iloc[own, j].reset_index(drop=True) for j, own in enumerate(index.T)]
    return pd.concat(columns, axis=1)


def sampled_values(
    ask: Callable[[Any], np.ndarray],
    table: Any,
    n: int,
    owner: Sequence[int],
    walks: int,
    seed: int,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(φ, v(∅), the standard errors of φ) of the first `n` rows of the table.

    The others are the background. Every walk goes from one of them to x, column after column in a
    random order, and back in the same order; what the answer changes by at a column is its value.
    """
    random, parts = np.random.default_rng(seed), max(owner) + 1
    rest = count(table) - n
    begin = n + np.resize(random.permutation(rest), walks)
    rank = np.argsort(random.random((walks, parts)), axis=1)  # when each part changes
    ranks = np.stack([rank, parts - 1 - rank], axis=1).reshape(2 * walks, parts)
    changed = ranks[:, None, :] < np.arange(parts + 1)[None, :, None]  # (walk, step, part)
    own = changed[:, :, list(owner)].reshape(-1, len(owner))
    start = np.repeat(begin, 2 * (parts + 1))[:, None]
    order = np.argsort(ranks, axis=1)
    found, errors = [], []
    for x in range(n):
        scores = ask(mixed(table, np.where(own, x, start)))
        steps = np.diff(scores.reshape(2 * walks, parts + 1, -1), axis=1)
        values = np.empty_like(steps)
        np.put_along_axis(values, order[:, :, None], steps, axis=1)
        pairs = values.reshape(walks, 2, parts, -1).mean(axis=1)
        found.append(pairs.mean(axis=0))
        errors.append(pairs.std(axis=0, ddof=1) / np.sqrt(walks))
    base = scores.reshape(2 * walks, parts + 1, -1)[:, 0].mean(axis=0)
    return np.stack(found), base, np.stack(errors)
