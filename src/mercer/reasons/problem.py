"""A model taken apart: its expansion, rows as the kernel takes them, and parts of columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._arrays import as_pandas, host, is_sparse, on_gpu
from mercer._config import get_config
from mercer._examples import count, joined, take
from mercer.expansion import KernelExpansion
from mercer.gram import HOST, Engine, engine_for
from mercer.reasons.factors import NotFactored, Parts
from mercer.reasons.sampling import mixed

#: Background rows where none are given: 200 rows of a machine of 1,000 support vectors and 30
#: columns then take less than a second.
BACKGROUND = 64
#: Relative difference up to which a model's answers are those of its expansion.
SAME = 1e-6


@dataclass(frozen=True)
class Problem:
    """f = Σᵢ αᵢ k(xᵢ, ·) + b with a column of coefficients per output; X, the rows to explain."""

    f: KernelExpansion
    X: Any
    background: Any
    parts: Parts
    #: What computes it, where the points that the model keeps are, and the device that it means.
    engine: Engine
    device: str
    #: Whether the outputs are made of pairs of classes, and no answers of the model itself.
    of_pairs: bool


def as_tables(X: Any, background: Any) -> tuple[Any, Any]:
    """Both as frames or as 2-D arrays on the host, with the same columns; no background is None."""
    X = _table(X, "X")
    if background is None:
        return X, None
    rest, framed = _table(background, "background"), hasattr(X, "iloc")
    if framed and not hasattr(rest, "iloc") and rest.shape[1] == X.shape[1]:
        rest = type(X)(rest, columns=X.columns)
    if rest.shape[1] != X.shape[1] or (framed and set(rest.columns) != set(X.columns)):
        raise ValueError(
            f"X and background must have the same columns; X has {X.shape[1]} columns, and "
            f"background {rest.shape[1]}"
        )
    return X, rest[list(X.columns)] if framed else np.asarray(rest)


def _table(X: Any, name: str) -> Any:
    X = as_pandas(host(X))
    X = X.toarray() if is_sparse(X) else X
    X = X if hasattr(X, "iloc") else np.asarray(X)
    if X.ndim != 2 or not X.shape[0] or not X.shape[1]:
        raise ValueError(
            f"{name} must have rows and columns to give reasons by; got shape {X.shape}. Give one "
            "row as X[:1]"
        )
    return X


def parts_of(table: Any, columns: Mapping[str, Any] | None) -> tuple[list[str], list[int]]:
    """The names of the parts, and the part of every column; groups stand at their first column."""
    framed = hasattr(table, "iloc")
    labels = list(table.columns) if framed else list(range(table.shape[1]))
    group: dict[int, str] = {}
    for name, members in (columns or {}).items():
        for member in [members] if isinstance(members, (str, int)) else members:
            if member not in labels:
                raise ValueError(
                    f"the group {name!r} names {member!r}; the columns are {labels[:20]}"
                )
            index = labels.index(member)
            if index in group:
                raise ValueError(
                    f"the column {member!r} is in the groups {group[index]!r} and {name!r}"
                )
            group[index] = str(name)
    shown = [str(label) if framed else f"x{label}" for label in labels]
    keys = [("group", group[j]) if j in group else ("", str(j)) for j in range(len(labels))]
    order = list(dict.fromkeys(keys))
    first = [keys.index(key) for key in order]
    names = [group.get(j, shown[j]) for j in first]
    return names, [order.index(key) for key in keys]


def taken_apart(model: Any, X: Any, background: Any, owner: Sequence[int]) -> Problem:
    """The problem of a fitted model: `background` None takes some of the points that it keeps."""
    from sklearn.pipeline import Pipeline

    steps = model if isinstance(model, Pipeline) else [model]
    learner = getattr(steps[-1], "estimator_", steps[-1])  # calibrated scores are made of these
    f = learner if isinstance(learner, KernelExpansion) else getattr(learner, "expansion_", None)
    if f is None or hasattr(learner, "inputs_") or f.kernel.takes_matrix or not len(f):
        raise NotFactored(
            f"{type(learner).__name__} is no sum of kernels over points that it keeps"
        )
    # Support vectors are counted per class by machines for pairs of classes.
    classes = len(getattr(learner, "n_support_", ())) if hasattr(learner, "classes_") else 0
    coef, intercept = outputs_of(f, classes)
    kernel, points, given = f.kernel, _as_numbers(host(f.points), f.kernel), background is not None
    if len(steps) > 1:
        table = joined([X, background]) if given else X
        mapped, owner = _mapped(model[:-1], table, owner, None if given else points)
        X, background = mapped[: count(X)], mapped[count(X) :]
    rows = _as_numbers(X, kernel)
    rest = _as_numbers(background, kernel) if given else take(points, some_of(count(points)))
    labels = list(rows.columns) if hasattr(rows, "iloc") else ()
    engine, device = HOST, get_config().device
    if not len(labels):
        engine = engine_for(kernel, f.points)
        device = str(f.points.device) if on_gpu(f.points) else device
    f = KernelExpansion(kernel, points, coef, intercept)
    return Problem(f, rows, rest, Parts(owner, labels), engine, device, classes > 2)


def some_of(n: int) -> np.ndarray:
    """At most `BACKGROUND` of so many rows, the same in every call."""
    return np.sort(np.random.default_rng(0).permutation(n)[:BACKGROUND])


def outputs_of(f: KernelExpansion, classes: int) -> tuple[np.ndarray, np.ndarray]:
    """A column of coefficients per output; of pairs of classes, the mean margin of each class."""
    coef = np.asarray(f.coef, dtype=np.float64).reshape(len(f), -1)
    intercept = np.broadcast_to(np.asarray(f.intercept, dtype=np.float64), coef.shape[1:])
    if classes <= 2:
        return coef, intercept
    first, second = np.triu_indices(classes, 1)
    each, share = np.arange(len(first)), 1.0 / (classes - 1)
    margins = np.zeros((len(first), classes))
    margins[each, first], margins[each, second] = share, -share
    return coef @ margins, intercept @ margins


def _as_numbers(rows: Any, kernel: Any) -> Any:
    """Numbers in double precision, where the kernel does not read names or words itself."""
    rows = rows.toarray() if is_sparse(rows) else rows
    if hasattr(rows, "iloc") and (kernel.picks_columns or kernel.takes_words or kernel.is_opaque):
        return rows
    array = np.asarray(rows)
    return array.astype(np.float64) if array.dtype.kind in "biuf" else rows


def _mapped(
    steps: Any, table: Any, owner: Sequence[int], points: Any
) -> tuple[np.ndarray, list[int]]:
    """The table after the steps before a learner, and the part that each of its columns is of.

    Every part is shuffled by itself to see which columns follow, and rows mixed at random must come
    out as the mixture of the mapped rows. `points` are the background where no rows were given.
    """

    def after(rows: Any) -> np.ndarray:
        made = steps.transform(rows)
        return np.asarray(made.toarray() if is_sparse(made) else made, dtype=np.float64)

    random, n, parts = np.random.default_rng(0), count(table), max(owner) + 1
    own, plain = np.asarray(owner), after(table)
    rows = np.arange(n)[:, None]
    found = np.full(plain.shape[1], -1)
    for part in range(parts):
        index = np.where(own == part, random.permutation(n)[:, None], rows)
        follow = (after(mixed(table, index)) != plain).any(axis=0)
        if (found[follow] >= 0).any():
            raise NotFactored("a step before the learner mixes columns")
        found[follow] = part
    unknown = found < 0
    if points is not None and (np.asarray(points) != plain[0])[:, unknown].any():
        raise ValueError(
            "these rows do not show which columns the learner's inputs come from: give "
            "background=, some rows of the training"
        )
    found[unknown] = 0  # constant in all rows: of no part, and of no effect
    draws = np.where(random.random((n, parts)) < 0.5, rows, random.permutation(n)[:, None])
    if not np.array_equal(after(mixed(table, draws[:, own])), mixed(plain, draws[:, found])):
        raise NotFactored("a step before the learner mixes columns")
    return plain, found.tolist()
