"""How `Dataset.of` makes a data set: examples looked at, targets taken out and read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from email.message import Message
from typing import Any

import numpy as np

from mercer._arrays import as_pandas, is_sparse, pandas
from mercer._suggest import suggest
from mercer.data.columns import find_types, listed, typed
from mercer.data.dataset import Dataset, Note, Pair
from mercer.data.schema import DataError, Schema, refuse_doubled
from mercer.data.targets import for_task, guess_task, read_targets, whole_numbers


def make(
    X: Any,
    y: Any = None,
    target: str | None = None,
    *,
    task: str | None = None,
    columns: str | Sequence[str] | None = None,
    source: str = "",
    kind: str | None = None,
    shape: tuple[int, int] | None = None,
    names: tuple[str, ...] = (),
    notes: Sequence[str] = (),
) -> Dataset:
    """`Dataset.of`; readers of files also say the kind, the shape of images, and names."""
    if isinstance(X, Pair):
        X, y = X.X if X.X.ndim > 1 else list(X.X), X.y if y is None else y
    if isinstance(X, Dataset):
        return X if y is None and task in (None, X.task) else with_targets(X, y, task)
    if isinstance(y, str):
        target, y = y, None
    if not is_frame(X):
        X, kind, shape = examples(X, kind, shape)
    if is_frame(X):
        return from_frame(as_frame(X), y, target, task, columns, source, notes)
    schema = Schema(kind or "vectors", target=target if y is not None else None, shape=shape,
                    sparse=is_sparse(X))  # fmt: skip
    found = Dataset(
        X, None, schema.kind, None, target, source, tuple(notes), shape, names, schema
    )  # fmt: skip
    return found if y is None else with_targets(found, y, task)


def with_targets(found: Dataset, y: Any, task: str | None) -> Dataset:
    """The same examples with these targets, or with its own for another task."""
    name = f"the target {found.target!r}" if found.target else "the target"
    name = f"{found.source}: {name}" if found.source else name
    if y is not None:
        y = read_targets(y, len(found), name)
    elif found.y is None:
        return found
    else:
        y = whole_numbers(found.y) if task == "classification" else found.y
    y, chosen = for_task(y, task)
    notes = [n for n in found.notes if not (isinstance(n, Note) and n.kind == "task")]
    if task is None:
        notes.append(Note("task", f"{chosen}: {guess_task(y)[1]}"))
    return replace(found, y=y, task=chosen, notes=tuple(notes))


# --- examples ------------------------------------------------------------------------------------


def is_frame(X: Any) -> bool:
    """Whether X is a table of pandas, Polars or Arrow."""
    return hasattr(X, "iloc") or hasattr(X, "to_pandas")


def as_frame(X: Any) -> Any:
    """A table as a pandas DataFrame."""
    X = as_pandas(X)
    return X if X.ndim == 2 else X.to_frame()


def examples(X: Any, kind: str | None, shape: Any) -> tuple[Any, str, Any]:
    """What is no table: rows, their kind, and the shape of images."""
    if is_sparse(X):
        return X.tocsr(), kind or "vectors", shape
    X = _listed(X)
    if isinstance(X, list):
        texts = all(isinstance(x, str) for x in X)
        return X, kind or ("strings" if texts else "mail"), shape
    if X.ndim == 3 and X.dtype.kind in "biuf":
        height, width = (int(size) for size in X.shape[1:])
        return X.reshape(len(X), -1), kind or "images", shape or (height, width)
    if X.ndim != 2:
        raise DataError(f"X must have rows and columns, got an array of shape {X.shape}")
    if X.dtype.kind in "OUSM":
        return pandas().DataFrame(X).infer_objects(), "table", shape
    return X, kind or "vectors", shape


def _listed(X: Any) -> Any:
    """Strings or messages as a list, anything else as an array."""
    if isinstance(X, np.ndarray):
        return list(X) if X.ndim == 1 and X.dtype.kind in "OUS" else X
    X = list(X)
    if X and isinstance(X[0], (str, bytes, Message)):
        return X
    try:
        made = np.asarray(X)
    except ValueError:
        made = np.empty(len(X), dtype=object)
    if made.dtype.kind != "O" or made.ndim != 1:
        return made
    if isinstance(X[0], (list, tuple, np.ndarray)) and all(np.ndim(v) == 0 for v in X[0]):
        raise DataError("the rows of X have different lengths")
    raise DataError(
        f"X holds objects of the type {type(X[0]).__name__}; rows are lists of numbers, strings or "
        "messages. Graphs, and whatever else a kernel takes, go to a learner with that kernel: "
        "KernelSVC(kernel).fit(X, y)"
    )


# --- tables --------------------------------------------------------------------------------------


def from_frame(
    frame: Any,
    y: Any,
    target: str | None,
    task: str | None,
    columns: str | Sequence[str] | None,
    source: str,
    notes: Sequence[str],
) -> Dataset:
    """A DataFrame as a data set: the target taken out, what is odd about the columns said."""
    said, title = list(notes), source or "the table"
    if not len(frame):
        raise DataError(f"{title} has no rows")
    names = [str(c) for c in frame.columns]
    refuse_doubled(names, title)
    frame = frame.set_axis(names, axis=1)
    if target is not None and y is None:
        frame, y = _taken_out(frame, target, said)
    if columns is not None:
        frame = frame[_chosen(frame, columns)]
    if not frame.shape[1]:
        raise DataError(f"{title} has no column beside the target")
    given = tuple(frame.columns)
    types = find_types(frame, said)
    frame = typed(frame, types, said)
    found = Dataset(frame, None, "table", None, target, source, tuple(said), given=given)
    found = _without_text(found, {c: types[c] for c in frame.columns})
    return found if y is None else with_targets(found, y, task)


def _taken_out(frame: Any, target: str, said: list[str]) -> tuple[Any, np.ndarray]:
    """The other columns, and the column of targets; rows without a target are left out."""
    _chosen(frame, target)
    missing = frame[target].isna()
    if missing.all():
        raise DataError(f"the target {target!r} is empty in every row")
    if missing.any():
        said.append(Note("target", f"{int(missing.sum())} rows without a target were left out"))
        frame = frame[~missing]
    return frame.drop(columns=[target]), whole_numbers(frame[target].to_numpy())


def _chosen(frame: Any, columns: str | Sequence[str]) -> list[str]:
    """Names of columns, all of which are there."""
    wanted = [columns] if isinstance(columns, str) else [str(c) for c in columns]
    names = list(frame.columns)
    for name in wanted:
        if name not in names:
            hint = suggest(name, names)
            if len(names) == 1:
                hint += " It has this one column only: is the separator one of , ; | or a tab?"
            raise DataError(f"there is no column {name!r}.{hint}")
    return wanted


#: Words that a cell of text has on average, if it is more than a name.
WORDS = 3.0


def _without_text(found: Dataset, types: dict[str, str]) -> Dataset:
    """Text of single words is left out where there is anything else; of nothing but text, the
    longest column is kept."""
    frame, notes = found.X, list(found.notes)
    free = [c for c, kind in types.items() if kind == "text"]
    free.sort(key=lambda c: float(frame[c].fillna("").str.len().mean()))
    others = [c for c in types if types[c] != "text"]
    if others:
        blanks = {c: float(frame[c].fillna("").str.count(r"\S\s+(?=\S)").mean()) for c in free}
        free = [c for c in free if blanks[c] < WORDS - 1]
        rest = tuple(c for c in types if c not in free)
        if free:
            hint = f"(to learn from it alone: columns=[{free[-1]!r}])"
            notes.append(Note("columns", f"free text left out: {listed(free)} {hint}"))
        schema = Schema("table", rest, tuple(types[c] for c in rest), found.target)
        X = frame[list(rest)] if free else frame
        return replace(found, X=X, names=rest, notes=tuple(notes), schema=schema)
    *others, text = free
    notes.append(Note("columns", f"strings, from column {text!r}"))
    if others:
        words = "columns left out, different in (almost) every row"
        notes.append(Note("columns", f"{words}: {listed(others)}"))
    schema = Schema("strings", (text,), ("text",), found.target)
    X = frame[text].fillna("").tolist()
    return replace(found, X=X, kind="strings", notes=tuple(notes), schema=schema)
