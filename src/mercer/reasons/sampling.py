"""Rows mixed of others, and Shapley values estimated by walks from a background row to x."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from mercer._config import get_config
from mercer._examples import count
from mercer._tiles import cut

#: What a number of a mixed row takes: the number, its index, and what the model makes of it.
WALK_BYTES = 48


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
    begin = n + np.resize(random.permutation(count(table) - n), walks)
    rank = np.argsort(random.random((walks, parts)), axis=1)  # when each part changes
    ranks = np.stack([rank, parts - 1 - rank], axis=1).reshape(2 * walks, parts)
    order, start = np.argsort(ranks, axis=1)[:, :, None], np.repeat(begin, 2)
    per_walk = WALK_BYTES * (parts + 1) * len(owner)
    some = list(cut(0, 2 * walks, max(1, get_config().memory_bytes // 4 // per_walk)))
    found, errors, base = [], [], np.zeros(0)
    for x in range(n):
        scores = np.concatenate([
            ask(mixed(table, _walked(ranks[part], list(owner), x, start[part]))) for part in some
        ]).reshape(2 * walks, parts + 1, -1)  # fmt: skip
        values = np.empty_like(scores[:, 1:])
        np.put_along_axis(values, order, np.diff(scores, axis=1), axis=1)
        pairs = values.reshape(walks, 2, parts, -1).mean(axis=1)
        found.append(pairs.mean(axis=0))
        errors.append(pairs.std(axis=0, ddof=1) / np.sqrt(walks))
        base = scores[:, 0].mean(axis=0)  # the same for all rows
    return np.stack(found), base, np.stack(errors)


def _walked(ranks: np.ndarray, owner: list[int], x: int, start: np.ndarray) -> np.ndarray:
    """The row that each column comes from, step by step of every walk."""
    parts = ranks.shape[1]
    changed = ranks[:, None, :] < np.arange(parts + 1)[None, :, None]  # (walk, step, part)
    rows = np.where(changed[:, :, owner], x, start[:, None, None])
    return np.asarray(rows.reshape(-1, len(owner)))
