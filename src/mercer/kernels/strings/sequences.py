"""Strings as the compiled loops want them: one flat array of letters, and where each one begins.

A letter is an integer. Characters are their code points and bytes their values, so they need no
table; tokens of any other kind are numbered as they appear, X and Z together. No vocabulary is
fitted or kept: equal letters have equal numbers within one Gram, and that is all k depends on.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from mercer._arrays import is_sparse
from mercer._lazy import record
from mercer.kernels.parameters import is_number

_EXPECTED = "a kernel on strings needs str, bytes, or sequences of tokens"


@record
class Sequences:
    """String i is ``codes[starts[i] : starts[i] + lengths[i]]``."""

    codes: np.ndarray
    starts: np.ndarray
    lengths: np.ndarray

    @property
    def shape(self) -> tuple[int, ...]:
        return self.starts.shape

    @property
    def arrays(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return self.codes, self.starts, self.lengths

    def __getitem__(self, index: Any) -> Sequences:
        """Some of the strings; the letters are shared, not copied."""
        return Sequences(self.codes, self.starts[index], self.lengths[index])

    def same_as(self, other: Sequences) -> bool:
        """Whether both are the same strings of one set, in the same order."""
        return (
            self.codes is other.codes
            and np.array_equal(self.starts, other.starts)
            and np.array_equal(self.lengths, other.lengths)
        )


def read_pair(X: Any, Z: Any) -> tuple[Sequences, Sequences]:
    """Both sides with the same numbers for the same letters; Z is None where it is X again."""
    kind, rows = rows_of(X, "X")
    if Z is None:
        one = encode(kind, rows)
        return one, one
    kind_z, rows_z = rows_of(Z, "Z")
    if kind != kind_z and rows and rows_z:
        raise TypeError(f"X holds {kind} and Z holds {kind_z}: {_advice({kind, kind_z})}")
    both = encode(kind, rows + rows_z)
    return both[: len(rows)], both[len(rows) :]


def rows_of(X: Any, name: str = "X") -> tuple[str, list[Any]]:
    """The kind of the examples ("str", "bytes" or "tokens") and one object for each."""
    rows = _as_list(X, name)
    kind = ""
    for i, row in enumerate(rows):
        this = _kind(row)
        if this is None:
            raise TypeError(f"{_EXPECTED}; row {i} of {name} is {_shown(row)}")
        if not kind:
            kind = this
        elif this != kind:
            raise TypeError(
                f"row 0 of {name} is {kind} and row {i} is {this}: {_advice({kind, this})}"
            )
    return kind or "str", rows


def _as_list(X: Any, name: str) -> list[Any]:
    if isinstance(X, (str, bytes)):
        raise TypeError("a set of strings was expected, got one string; wrap it in a list")
    if is_sparse(X):
        raise TypeError(f"{_EXPECTED}; {name} is a sparse matrix")
    if hasattr(X, "iloc"):
        if X.ndim == 2 and X.shape[1] != 1:
            raise TypeError(
                f"{name} is a table of {X.shape[1]} columns; choose the one that holds the "
                f"strings with on(...), for example on({X.columns[0]!r})"
            )
        return list(X.iloc[:, 0] if X.ndim == 2 else X)
    if isinstance(X, np.ndarray):
        if X.ndim == 2 and X.dtype.kind in "OSU" and X.shape[1] == 1:
            return X[:, 0].tolist()
        if X.dtype.kind == "f" and not np.array_equal(X, np.floor(X)):
            raise TypeError(f"{_EXPECTED}; {name} holds fractional numbers, dtype {X.dtype}")
        if X.ndim > 2:
            raise TypeError(f"{_EXPECTED}; {name} has shape {X.shape}")
        return X.tolist()
    return list(X)


def _kind(row: Any) -> str | None:
    if isinstance(row, str):
        return "str"
    if isinstance(row, (bytes, bytearray, memoryview)):
        return "bytes"
    if isinstance(row, np.ndarray):
        return "tokens" if row.ndim == 1 else None
    return "tokens" if isinstance(row, Sequence) else None


def _shown(row: Any) -> str:
    if row is None or (isinstance(row, float) and row != row) or type(row).__name__ == "NAType":
        return f"missing ({row}); fill it in with '' or drop it"
    return f"{type(row).__name__} {row!r:.40}"


def _advice(kinds: set[str]) -> str:
    if kinds == {"str", "bytes"}:
        return "decode the bytes or encode the strings, so that both are of one kind"
    return "all examples must be of one kind"


def encode(kind: str, rows: list[Any]) -> Sequences:
    """Letters to integers."""
    if kind == "str":
        # Lone surrogates occur in real text (broken decoding) and are letters like any others.
        text = "".join(rows).encode("utf-32-le", "surrogatepass")
        codes = np.frombuffer(text, dtype="<i4").astype(np.int32)
        lengths = [len(row) for row in rows]
    elif kind == "bytes":
        rows = [bytes(row) for row in rows]
        codes = np.frombuffer(b"".join(rows), dtype=np.uint8).astype(np.int32)
        lengths = [len(row) for row in rows]
    else:
        codes = number_tokens(rows)
        lengths = [len(row) for row in rows]
    sizes = np.asarray(lengths, dtype=np.int64)
    return Sequences(codes, np.cumsum(sizes) - sizes, sizes)


def number_tokens(rows: Iterable[Any]) -> np.ndarray:
    """One integer for each token of all rows, the same for equal tokens, by order of appearance."""
    table: dict[Any, int] = {}
    numbers: list[int] = []
    for i, row in enumerate(rows):
        tokens = row.tolist() if isinstance(row, np.ndarray) else row
        try:
            numbers.extend([table.setdefault(token, len(table)) for token in tokens])
        except TypeError:
            bad = next(t for t in tokens if type(t).__hash__ is None or _unhashable(t))
            raise TypeError(
                f"tokens must be hashable (words, numbers, tuples); row {i} holds {_shown(bad)}"
            ) from None
    return np.asarray(numbers, dtype=np.int32)


def _unhashable(token: Any) -> bool:
    try:
        hash(token)
    except TypeError:
        return True
    return False


# --- Weights of grams by their length, as `Spectrum` and `WeightedDegree` take them ---------------


def checked_weights(weights: Any, p: int, who: str) -> tuple[float, ...]:
    """One finite number for each length 1, …, p."""
    if isinstance(weights, (str, bytes)) or not hasattr(weights, "__iter__"):
        raise TypeError(f"{who}: weights is a list of p = {p} numbers, got {weights!r:.60}")
    values = tuple(weights)
    if len(values) != p:
        raise ValueError(
            f"{who}: one weight for each length 1, …, p = {p} is needed, got {len(values)}"
        )
    if not all(is_number(w) and math.isfinite(w) for w in values):
        raise ValueError(f"{who}: the weights must be finite numbers, got {list(values)}")
    return tuple(float(w) for w in values)
