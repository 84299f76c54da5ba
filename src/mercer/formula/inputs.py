"""Input maps: what is done to each row once, before any pair is looked at.

A step takes the rows (an array, a CSR matrix, a DataFrame, a list of objects) and gives the rows
after it. Steps are values: equal steps are one input, so kernels that share them share statistics.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

import numpy as np

from mercer._arrays import as_pandas, is_sparse, refuse_masked
from mercer._lazy import record

#: Scaled rows up to here keep enough digits in float32.
NARROW = 8.0
#: Integers up to here are different numbers as float64, too.
EXACT_INTEGERS = 2**53


class Step:
    """One map of rows to rows."""

    #: False where a Python function acts: there is no high-precision or generated version of it.
    renderable = True
    #: True where float32 rows may become float64 ones, so that their differences stay right.
    widens = False
    #: True where column j after the step depends on column j before it alone.
    by_column = False

    def __call__(self, rows: Any) -> Any:
        raise NotImplementedError


@record
class FrozenArray:
    """A read-only array that is compared and hashed by its bytes."""

    shape: tuple[int, ...]
    dtype: str
    data: bytes

    @classmethod
    def of(cls, array: Any) -> FrozenArray:
        array = np.ascontiguousarray(array)
        return cls(array.shape, array.dtype.str, array.tobytes())

    @property
    def array(self) -> np.ndarray:
        return np.frombuffer(self.data, dtype=self.dtype).reshape(self.shape)


@record
class Columns(Step):
    """Keep some columns, by index or by name."""

    names: tuple[int | str, ...]
    single: bool = False

    def __call__(self, rows: Any) -> Any:
        rows = as_pandas(rows)
        if hasattr(rows, "columns") and hasattr(rows, "iloc"):
            return self._of_frame(rows)
        if isinstance(rows, dict):
            rows = [rows]
        if isinstance(rows, list) and rows and isinstance(rows[0], dict):
            return self._of_records(rows)
        rows = _table(rows)
        if rows.ndim != 2:
            raise ValueError(
                f"on({self.shown}) selects columns of a 2-D array; the data has shape {rows.shape}"
            )
        index = [self.position(name, rows.shape[1]) for name in self.names]
        # In the order of memory that is needed later: one copy, not two.
        taken = rows[:, index] if is_sparse(rows) else np.take(rows, index, axis=1)
        if not self.single or taken.dtype != object:
            return taken
        return _one_column(list(taken[:, 0]))

    def _of_frame(self, frame: Any) -> Any:
        picked = []
        for name in self.names:
            if name in frame.columns:
                position = frame.columns.get_loc(name)
                if not isinstance(position, int):
                    raise ValueError(f"there is more than one column {name!r}; choose by index")
                picked.append(position)
            elif isinstance(name, str):
                raise ValueError(
                    f"there is no column {name!r}; the columns are {list(frame.columns)[:20]}"
                )
            else:
                picked.append(self.position(name, frame.shape[1]))
        if self.single and not _is_numeric(frame.iloc[:, picked[0]]):
            return list(frame.iloc[:, picked[0]])
        return frame.iloc[:, picked]

    def _of_records(self, records: list[dict]) -> Any:
        for name in self.names:
            if name not in records[0]:
                raise ValueError(f"there is no field {name!r}; the fields are {list(records[0])}")
        if self.single:
            return _one_column([record[self.names[0]] for record in records])
        return _table([[record[name] for name in self.names] for record in records])

    def position(self, name: int | str, width: int) -> int:
        if isinstance(name, str):
            raise ValueError(
                f"on({self.shown}): the column {name!r} is a name, but the data is an array "
                "without names; give an index, or a DataFrame"
            )
        if not -width <= name < width:
            raise ValueError(f"on({self.shown}): there is no column {name}; there are {width}")
        return int(name)

    @property
    def shown(self) -> str:
        """The columns as they were chosen."""
        return repr(self.names[0]) if self.single else repr(list(self.names))

    def __str__(self) -> str:
        return f"columns {self.shown}"


def _table(rows: Any) -> Any:
    """Something with columns to choose from; a list that mixes numbers and text keeps both."""
    if is_sparse(rows):
        return rows.tocsr()
    if hasattr(rows, "shape"):
        return rows
    array = np.asarray(rows)
    return np.asarray(rows, dtype=object) if array.dtype.kind in "US" else array


def _one_column(values: list[Any]) -> Any:
    """Numbers as a matrix of one column, anything else as the list of objects it is."""
    if all(isinstance(v, (int, float, np.number)) for v in values):
        return np.asarray(values, dtype=float)[:, None]
    return values


def _is_numeric(series: Any) -> bool:
    return getattr(series.dtype, "kind", "O") in "biuf"


@record
class Scale(Step):
    """x ↦ x / lengths, column by column; with a name the lengths are a parameter of a kernel."""

    lengths: FrozenArray
    name: str = ""
    widens = by_column = True

    def __call__(self, rows: Any) -> Any:
        lengths = self.lengths.array
        rows = numeric(rows)
        if rows.shape[1] != len(lengths):
            raise ValueError(
                f"one length per column was given ({len(lengths)} of them), "
                f"but the data has {rows.shape[1]} columns"
            )
        scaled = rows.multiply(1.0 / lengths).tocsr() if is_sparse(rows) else rows / lengths
        # Far from the origin the rounding of x / length would show in the difference of two rows.
        values = scaled.data if is_sparse(scaled) else scaled
        near = max(values.max(initial=0.0), -values.min(initial=0.0)) <= NARROW
        return scaled.astype(rows.dtype, copy=False) if near else scaled

    def __str__(self) -> str:
        return "scaled columns"


@record
class Matrix(Step):
    """x ↦ x L."""

    matrix: FrozenArray

    def __call__(self, rows: Any) -> Any:
        matrix = self.matrix.array
        rows = numeric(rows)
        if rows.shape[1] != matrix.shape[0]:
            raise ValueError(
                f"the matrix has {matrix.shape[0]} rows, but the data has {rows.shape[1]} columns"
            )
        return np.asarray(rows @ matrix.astype(rows.dtype, copy=False))

    def __str__(self) -> str:
        return f"matrix {self.matrix.shape[0]}×{self.matrix.shape[1]}"


@record
class Factor(Matrix):
    """x ↦ x L of a matrix ± L Lᵀ that was given exactly.

    Column j of the exact L is ``columns[j][0]``, whole numbers, over the root of ``columns[j][1]``;
    `matrix` is that, rounded. ``columns`` is None for a large matrix, of which L is not exact.
    """

    columns: tuple[tuple[tuple[int, ...], int], ...] | None = None


@record
class Unit(Step):
    """x ↦ x / ‖x‖; a zero vector stays zero."""

    def __call__(self, rows: Any) -> Any:
        rows = numeric(rows)
        if is_sparse(rows):
            norms = np.sqrt(np.asarray(rows.multiply(rows).sum(axis=1), dtype=float)).ravel()
            norms[norms == 0] = 1.0
            return rows.multiply((1.0 / norms)[:, None]).tocsr().astype(rows.dtype)
        # Dividing by the largest entry first keeps the squares from overflowing or vanishing.
        sizes = {"axis": 1, "keepdims": True, "initial": 0.0}
        peak = np.maximum(rows.max(**sizes), -rows.min(**sizes))
        rows = rows / np.where(peak > 0, peak, 1)
        norms = np.sqrt(np.einsum("ij,ij->i", rows, rows, dtype=float))
        norms[norms == 0] = 1.0
        rows /= norms[:, None]  # in place: one copy is enough
        return rows

    def __str__(self) -> str:
        return "unit length"


@record
class NonNegative(Step):
    """The rows themselves, after a look that no entry is negative."""

    kernel: str
    by_column = True

    def __call__(self, rows: Any) -> Any:
        rows = numeric(rows)
        values = rows.data if is_sparse(rows) else rows
        if values.size and values.min() < 0:
            raise ValueError(
                f"{self.kernel} is defined for x ≥ 0 only; the data has a negative entry "
                f"({values.min():g}). Shift or warp the data, or choose another kernel."
            )
        return rows

    def __str__(self) -> str:
        return "x ≥ 0"


@record
class Categories(Step):
    """Labels of any type become numbers, the same number for the same label in every call.

    Numbers stay what they are; anything else becomes a 52-bit digest of its text, so that new rows
    need no table of the labels seen before.
    """

    by_column = True

    def __call__(self, rows: Any) -> Any:
        if is_sparse(rows):
            return rows
        if hasattr(rows, "to_numpy"):
            rows = rows.to_numpy()
        rows = np.asarray(rows)
        if rows.dtype.kind in "bf" or (rows.dtype.kind in "iu" and not _too_large(rows)):
            return rows
        flat = [_digest(value) for value in rows.ravel()]
        return np.asarray(flat, dtype=float).reshape(rows.shape if rows.ndim > 1 else (-1, 1))

    def __str__(self) -> str:
        return "categories"


def _too_large(rows: np.ndarray) -> bool:
    """Whether some integers would meet their neighbors when written as float64."""
    return bool(rows.size) and max(abs(int(rows.min())), abs(int(rows.max()))) > EXACT_INTEGERS


def _digest(value: Any) -> float:
    if _is_missing(value):
        raise ValueError("a category is missing (None or NaN); fill it in or drop the row")
    if isinstance(value, (bool, float, np.floating, np.bool_)):
        return float(value)
    if isinstance(value, (int, np.integer)):
        value = int(value)
        if abs(value) <= EXACT_INTEGERS:
            return float(value)
    text = repr(value if not isinstance(value, str) else str(value)).encode()
    return float(int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "big") >> 12)


def _is_missing(value: Any) -> bool:
    try:
        return value is None or bool(value != value)
    except TypeError:  # pandas.NA does not even answer
        return True


@record
class Warped(Step):
    """x ↦ φ(x), a function of the whole set of rows."""

    phi: Callable[[Any], Any]
    name: str
    renderable = False

    def __call__(self, rows: Any) -> Any:
        before = len(rows) if not hasattr(rows, "shape") else rows.shape[0]
        mapped = self.phi(rows)
        if not hasattr(mapped, "shape"):
            mapped = np.asarray(mapped)
        if mapped.shape[:1] != (before,):
            after = mapped.shape[0] if mapped.shape else "a single value"
            raise ValueError(
                f"warp({self.name}) was given {before} rows and gave back {after}; "
                "φ takes a whole set of rows and gives one row for each"
            )
        return mapped[:, None] if mapped.ndim == 1 and mapped.dtype.kind in "biuf" else mapped

    def __str__(self) -> str:
        return f"warp {self.name}"


def numeric(rows: Any) -> Any:
    """A 2-D floating array or CSR matrix, float32 kept; a clear error for anything else."""
    if is_sparse(rows):
        rows = rows.tocsr()
        if rows.dtype.kind not in "biuf":
            raise _not_real(rows.dtype)
        return rows if rows.dtype in (np.float32, np.float64) else rows.astype(np.float64)
    if hasattr(rows, "to_numpy"):
        # One order of memory, whatever the frame was put together from: sums then round alike.
        rows = np.ascontiguousarray(rows.to_numpy())
    refuse_masked(rows)
    if isinstance(rows, (str, bytes)):
        raise TypeError(
            f"a kernel on vectors needs a 2-D array of numbers; got {type(rows).__name__}"
        )
    try:
        array = np.asarray(rows)
    except ValueError as error:
        raise ValueError(f"the rows do not have the same length: {error}") from None
    if array.dtype.kind in "OSU":
        array = _from_objects(array)
    if array.dtype.kind not in "biuf":
        raise _not_real(array.dtype)
    if array.ndim != 2:
        raise ValueError(
            f"expected a 2-D array of shape (rows, columns), got shape {array.shape}. "
            "Use X.reshape(-1, 1) for one column, or X.reshape(1, -1) for one row."
        )
    array = array.astype(array.dtype.newbyteorder("="), copy=False)
    if array.dtype == np.float16:
        return array.astype(np.float32)
    return array.astype(np.float64) if array.dtype not in (np.float32, np.float64) else array


def _not_real(dtype: Any) -> TypeError:
    return TypeError(f"a kernel on vectors needs real numbers; the data has dtype {dtype}")


def _from_objects(array: np.ndarray) -> np.ndarray:
    """Object arrays pass if each entry is a real number; text never does."""
    if array.dtype.kind != "O":
        raise TypeError(
            "a kernel on vectors needs numbers; the data is text. Choose a kernel on strings, "
            "or select the numeric columns with on([...])"
        )
    try:
        # NumPy would read "1.5" as a number; a column of text is a mistake that raises below.
        if not any(isinstance(v, (str, bytes)) for v in array.ravel()):
            return array.astype(np.float64)
    except (TypeError, ValueError):
        pass
    bad = next((v for v in array.ravel() if not isinstance(v, (int, float, np.number))), None)
    raise TypeError(
        "a kernel on vectors needs numbers; the data has dtype object and holds "
        f"{type(bad).__name__} {bad!r:.60}"
    )


def check_finite(values: Any, name: str) -> None:
    """An error that says where the first NaN or infinite value is."""
    data = values.data if is_sparse(values) else values
    if not np.isfinite(data).all():
        what = "NaN" if np.isnan(data).any() else "infinite values"
        where = "" if is_sparse(values) else _first_bad(values)
        raise ValueError(
            f"{name} contains {what}{where}. Drop those rows, or fill them in "
            "(sklearn.impute.SimpleImputer)."
        )


def _first_bad(values: np.ndarray) -> str:
    row, column = np.argwhere(~np.isfinite(values))[0]
    return f" (first at row {row}, column {column})"
