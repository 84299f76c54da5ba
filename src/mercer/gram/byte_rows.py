"""Rows on a grid as bytes. Where x = s·k, with u = k − l and v from 0 to 255 in x and z,

    x·z = s² (Σ u (v − 128) + 128 Σ u + l Σ u + l Σ v + D l²),

sums of products of bytes: exact, and 4 × as fast as float32, 8 × as fast as float64, where the
processor has an instruction for them (`mercer.gram.cpu.byte_loops`). Subtracting a center c from
both operands adds whole numbers of each row, too, if c is on the grid. Pixels, counts and
indicators are on a grid, whatever they were divided by.

A Gaussian Gram of 8192² pairs of 784 pixels takes 0.44 (float32) and 0.28 (float64) of the time of
the bare product by BLAS (`bench/pixels_gram.py`, two cores with AVX-512 VNNI). Bytes pay from 5·10⁹
multiply-adds on; with ``MERCER_BYTE_PRODUCTS=0`` in the environment BLAS multiplies.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

import mercer.tuning as tuning
from mercer._arrays import is_sparse
from mercer._config import get_config
from mercer._lazy import record
from mercer._tiles import Scratch, cut
from mercer.formula.nodes import Input

#: The environment variable that turns products of bytes off.
OFF_SWITCH = "MERCER_BYTE_PRODUCTS"
#: The widest rows whose sums are certain to fit 32 bits.
COLUMNS: Final = 1 << 16
#: Numbers before the columns of a row that `mercer.gram.cpu.panel_sums` takes by products; in
#: `GridRows.words` a whole number of the row, and the scale of its sums.
BEFORE: Final = 2


@dataclass
class GridRows:
    """A set of rows as bytes, padded to words of four, without columns that are empty.

    `used`: the indices of the others; `center`: what products subtract from every row, in steps;
    `error`: the largest |x − s·k| / |x|, the rounding of the numbers as they were given; `left` and
    `right`: whole numbers of each row that a product of bytes lacks, for it as x and as z.
    """

    grid: Grid
    codes: np.ndarray
    used: np.ndarray
    center: np.ndarray
    error: float
    left: np.ndarray
    right: np.ndarray

    @classmethod
    def of(cls, grid: Grid, codes: np.ndarray, used: np.ndarray, error: float) -> GridRows:
        from mercer.gram.cpu.byte_loops import row_sums

        sums = row_sums(codes, len(used))
        left = (128 + grid.low) * sums + float(len(used) * grid.low**2)
        return cls(grid, codes, used, np.zeros(len(used)), error, left, grid.low * sums)

    def centered(self, center: np.ndarray) -> GridRows:
        """Rows minus the center c (in grid units; 0 in dropped columns)."""
        center = center[self.used]
        parts = [
            self.codes[rows, : len(center)] @ center
            for rows in cut(0, len(self.codes), tuning.PRODUCT_ROWS)
        ]
        along = np.concatenate(parts) + self.grid.low * center.sum()
        left = self.left - along + float(center @ center)
        return replace(self, center=center, left=left, right=self.right - along)

    def squared_norms(self) -> np.ndarray:
        """‖x − c‖² for every row, from whole numbers."""
        from mercer.gram.cpu.byte_loops import squared_distances

        return self.grid.step**2 * squared_distances(self.codes, self.center - self.grid.low)

    def take(self, index: Any) -> GridRows:
        """Some of the rows, by slice or positions."""
        codes, left, right = self.codes[index], self.left[index], self.right[index]
        return replace(self, codes=codes, left=left, right=right)

    def words(self, op: str) -> tuple[np.ndarray, np.ndarray] | None:
        """Rows as x and as z of `mercer.gram.cpu.panel_sums.byte_sums`: bytes in float32 by name.

        A whole number of the row, the scale, and words of four bytes, which z has as signed ones.
        None where a sum of whole numbers may have more than 32 bits.
        """
        from mercer.gram.cpu.byte_loops import SIGNED, row_sums, squared_distances

        low, columns = self.grid.low, len(self.used)
        largest = 255 if op == "sqdist" else max(abs(low), abs(low + 255))
        if columns * largest**2 >= 1 << 31:
            return None
        sums = row_sums(self.codes, columns)
        if op == "sqdist":
            of_z = squared_distances(self.codes, np.zeros(columns))
            of_x = of_z - 256 * sums
        else:
            of_z, of_x = low * sums, (128 + low) * sums + float(columns * low**2)
        bytes_of_x, scale = self.codes.view(np.uint32), np.float32(self.grid.step**2)
        x, z = (np.empty((len(sums), BEFORE + bytes_of_x.shape[1]), np.uint32) for _ in range(2))
        for side, numbers in ((x, of_x), (z, of_z)):
            side[:, 0], side[:, 1] = (
                numbers.astype(np.int64).astype(np.uint32),
                scale.view(np.uint32),
            )
        x[:, BEFORE:] = bytes_of_x
        np.bitwise_xor(bytes_of_x, SIGNED, out=z[:, BEFORE:])
        return x.view(np.float32), z.view(np.float32)

    def __str__(self) -> str:
        step = self.grid.step
        shown = f"1/{round(1 / step)}" if step < 1 and round(1 / step) * step == 1 else f"{step:g}"
        return f"of bytes, steps of {shown}"

    def nbytes(self) -> int:
        return self.codes.nbytes + self.left.nbytes + self.right.nbytes

    def product(
        self, rows: slice, other: GridRows, columns: slice, out: np.ndarray, scratch: Scratch
    ) -> None:
        """Write x·z for these rows and for these rows of `other` into `out`."""
        from mercer._tiles import whole_rows
        from mercer.gram.cpu.byte_loops import COLUMNS, ROWS, multiply

        words = other.codes[columns].view(np.uint32)
        packed = scratch.get("packed bytes", (words.shape[1], COLUMNS), np.dtype(np.uint32))
        sums = scratch.get("sums of bytes", (ROWS, COLUMNS), np.dtype(np.int32))
        scale = self.grid.step**2
        left, right = self.left[rows], other.right[columns]
        multiply(self.codes[rows], words, left, right, scale, whole_rows(out), packed, sums)


def rows_on(grid: Grid, rows: np.ndarray, used: np.ndarray) -> GridRows | None:
    """These columns as bytes; None where one number is not on the grid."""
    from mercer.gram.cpu.byte_loops import encode

    codes = np.zeros((len(rows), -(-len(used) // 4) * 4), dtype=np.uint8)
    most, errors, room = rounding(rows.dtype), [0.0], np.empty(len(used))
    for part in cut(0, len(rows), tuning.PRODUCT_ROWS):
        some = rows[part].astype(np.float64, copy=False)
        errors.append(encode(some, used, grid.step, grid.low, most, room, codes[part]))
        if not np.isfinite(errors[-1]):
            break
    error = float(max(errors))
    return GridRows.of(grid, codes, used, error) if np.isfinite(error) else None


def about(center: np.ndarray, x: GridRows, z: GridRows) -> tuple[GridRows, GridRows]:
    """Both operands minus the center c; one set of rows stays one."""
    first = x.centered(center)
    return first, first if z is x else z.centered(center)


def worth(shape: tuple[int, ...]) -> bool:
    """Whether a tile is large enough that packing its bytes pays."""
    return min(shape) >= tuning.BYTE_TILE_ROWS


def on_grid(
    inputs: Iterable[Input], left: dict[Input, Any], right: dict[Input, Any]
) -> dict[Input, tuple[GridRows, GridRows]]:
    """The rows of both operands as bytes, for each of these inputs whose rows lie on one grid."""
    grids = {}
    for key in inputs:
        x, z = left[key], right[key]
        if is_sparse(x) or is_sparse(z) or not _pays(x, z):
            continue
        grid = find_grid(x) if x is z else find_grid(x, z)
        if grid is None:
            continue
        used = _used_columns([x] if x is z else [x, z])
        if not len(used):
            continue
        first = rows_on(grid, x, used)
        second = first if first is None or x is z else rows_on(grid, z, used)
        if first is not None and second is not None:
            grids[key] = (first, second)
    return grids


def _used_columns(operands: list[np.ndarray]) -> np.ndarray:
    """The columns that hold anything but zeros; the first rows decide for most of them."""
    first = tuning.SAMPLE_ROWS
    used = np.logical_or.reduce([(m[:first] != 0).any(axis=0) for m in operands])
    for m in operands:
        rest = np.flatnonzero(~used)
        used[rest] = m[first:, rest].any(axis=0)
    return np.flatnonzero(used)


def _pays(x: np.ndarray, z: np.ndarray) -> bool:
    n, m, columns = len(x), len(z), x.shape[1]
    if (
        n * m * columns < tuning.BYTE_FLOPS
        or columns > COLUMNS
        or min(n, m) < tuning.BYTE_TILE_ROWS
    ):
        return False
    if n * m < tuning.BYTE_FLOPS_PER_NUMBER[x.dtype.itemsize] * (n + m):
        return False
    if (n + m) * columns > tuning.COPY_SHARE * get_config().memory_bytes:
        return False
    if os.environ.get(OFF_SWITCH) == "0":
        return False
    try:
        from mercer.gram.cpu.byte_loops import works
    except ImportError:  # no compiler
        return False
    return works()


#: Numbers looked at first, and how many distinct ones may be among them.
GRID_SAMPLE, DISTINCT = 1 << 12, 512


@record
class Grid:
    """s and l: x = s (l + u) with u in 0 … 255."""

    step: float
    low: int

    def snap(self, center: np.ndarray) -> np.ndarray:
        """The whole numbers of the nearest point of the grid."""
        return np.rint(center.astype(np.float64) / self.step)


def find_grid(*sides: np.ndarray) -> Grid | None:
    """The grid that the first rows suggest, wide enough for all; the rest is yet to be checked.

    >>> find_grid(np.array([[0.0, 0.5, 2.0], [1.5, 0.0, 1.0]]))
    Grid(step=0.5, low=0)
    >>> find_grid(np.random.default_rng(0).random((100, 30)))
    """
    if len(np.unique(sides[0].ravel()[: 2 * DISTINCT])) > DISTINCT:  # nearly always enough
        return None
    some = np.unique(np.concatenate([side.ravel()[:GRID_SAMPLE] for side in sides]))
    if len(some) > DISTINCT:
        return None
    lowest = min(float(side.min()) for side in sides)
    highest = max(float(side.max()) for side in sides)
    tolerance = rounding(some.dtype)
    for step in _steps(some.astype(np.float64)):
        k = np.rint(some / step)
        low, high = round(lowest / step), round(highest / step)
        if high - low <= 255 and (np.abs(some - k * step) <= tolerance * np.abs(some)).all():
            return Grid(step, 0 if low >= 0 and high <= 255 else low)
    return None


def _steps(numbers: np.ndarray) -> list[float]:
    """Candidate steps of a grid: common ones first, then those that the numbers suggest."""
    gaps = np.diff(np.unique(np.append(np.abs(numbers), 0.0)))
    steps = [1.0, 1 / 255, 1 / 256]
    if len(gaps):
        largest = float(np.abs(numbers).max())
        steps.append(largest / round(largest / float(gaps[gaps > 1e-6 * largest].min())))
    return steps


def rounding(dtype: np.dtype) -> float:
    """How far a number may be from its multiple of s: division and multiplication were rounded."""
    return 2 * float(np.finfo(dtype).eps)
