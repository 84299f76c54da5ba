"""The one place where the search meets k: blocks, single entries, and enclosures of entries.

A `Target` hides what kind of thing k is (a formula on vectors, a black box on rows, scalars or
any other objects, a given matrix), so that the search and the confirmation are written once.
"""

from __future__ import annotations

import math
import time
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from mercer._examples import count, take
from mercer.formula import ROOT, NotRenderable, pairwise_interval
from mercer.kernels import Similarity
from mercer.kernels.catalog import resolve

from .results import shorten

if TYPE_CHECKING:
    from mercer.formula.interval import Interval


def as_points(data: Any) -> Any:
    """Numbers as a float64 array, whatever they came in; anything else as it is."""
    if hasattr(data, "iloc"):
        return data
    if hasattr(data, "toarray"):
        data = data.toarray()
    try:
        array = np.asarray(data)
    except ValueError:  # examples of different sizes: graphs, say
        return list(data)
    if array.dtype.kind not in "fiub":
        return data
    if not np.isfinite(array).all():
        raise ValueError("data contains NaN or infinity")
    return array.astype(np.float64)


def is_numeric(points: Any) -> bool:
    """True for an array of numbers, the only points that can be moved, scaled and mirrored."""
    return isinstance(points, np.ndarray) and points.dtype.kind == "f"


def rounding_of(K: np.ndarray) -> float:
    """ε of the arithmetic K was computed in: float32 leaves its mark on the entries."""
    with np.errstate(over="ignore"):
        single = bool((K.astype(np.float32) == K).all())
    return float(np.finfo(np.float32 if single else np.float64).eps)


def check_dimension(n_features: Any) -> int:
    """The number of columns, an integer ≥ 1."""
    if isinstance(n_features, bool) or not isinstance(n_features, int | np.integer):
        raise TypeError(f"n_features must be an integer, not {n_features!r}")
    if n_features < 1:
        raise ValueError(f"n_features must be at least 1, not {n_features}")
    return int(n_features)


def one_number(value: Any) -> float:
    """The single real number a function gave; a clear error if it gave anything else."""
    array = np.asarray(value)
    if array.size != 1 or array.dtype.kind not in "fiub":
        raise ValueError(f"the function must give one real number, not {shorten(value, 60)}")
    return float(array.reshape(-1)[0])


def function_of(kernel: Any) -> Any:
    """The function of two examples a kernel consists of; None if it is anything else."""
    if not isinstance(kernel, Similarity) or kernel.blocks is True:
        return None
    return resolve(kernel.function)


class OutOfTime(Exception):
    """The search ended before a candidate was decided."""


class Target:
    """k on points: rows of a float64 array, or any other examples the kernel understands."""

    def __init__(self, kernel: Any, scalars: bool = False) -> None:
        self.kernel = kernel
        self.scalars = scalars  # the function takes numbers, and not rows of numbers
        self.function: Any = function_of(kernel)
        self._formula: Any = kernel.lower(ROOT)

    @property
    def slow(self) -> bool:
        """True if each entry costs a call of a Python function."""
        return self.function is not None

    def select(self, data: Any, rows: np.ndarray) -> Any:
        """Some rows of the data, as points."""
        return as_points(take(data, rows))

    def matrix(self, points: Any) -> np.ndarray:
        """K on the points, the fast way, as float64: good enough to search with."""
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if self.function is None:
                return np.asarray(self.kernel(points), dtype=np.float64)
            rows = self._rows(points)
            K = np.empty((len(rows), len(rows)))
            for i, x in enumerate(rows):
                for j in range(i + 1):
                    K[i, j] = K[j, i] = one_number(self.function(x, rows[j]))
        return K

    def both_triangles(self, points: Any) -> np.ndarray:
        """K on the points without relying on its symmetry."""
        if self.function is not None:
            return self.entries(points)
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            again = take(points, range(count(points)))
            return np.asarray(self.kernel(points, again), dtype=np.float64)

    def entries(self, points: Any) -> np.ndarray:
        """K on the points, every entry (both triangles) computed from its own two points."""
        n = count(points)
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            slow, k = self.slow, self.function or self.kernel
            rows = self._rows(points) if slow else [take(points, [i]) for i in range(n)]
            entries = [one_number(k(x, z)) for x in rows for z in rows]
        return np.array(entries, dtype=np.float64).reshape(n, n)

    def row(self, points: Any, z: Any) -> np.ndarray:
        """k(x, z) for every point x and one z."""
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if self.function is None:
                return np.asarray(self.kernel(points, z), dtype=np.float64)[:, 0]
            other = self._rows(z)[0]
            return np.array([one_number(self.function(x, other)) for x in self._rows(points)])

    def enclosures(self, points: Any, deadline: float = math.inf) -> list[list[Interval]] | None:
        """K on the points as intervals that hold the exact values; None if k cannot give them.

        Formulas can, and so can functions that compute with the numbers they are given. Where the
        time ends before, nothing can be concluded: `OutOfTime`.
        """
        if not isinstance(points, np.ndarray) or points.dtype.kind not in "fiu":
            return None
        from mercer.formula.interval import Open

        rows = self._points(points)
        try:
            K = []
            for i, x in rows:
                if time.monotonic() > deadline:
                    raise OutOfTime
                K.append([self._enclosure(i, j, x, z) for j, z in rows])
            return K
        except (NotRenderable, Open):
            return None

    def _points(self, points: np.ndarray) -> list[tuple[int, np.ndarray]]:
        return list(enumerate(points.reshape(len(points), -1)))

    def _enclosure(self, i: int, j: int, x: np.ndarray, z: np.ndarray) -> Interval:
        number = {"x": i, "z": j}

        def leaf(kernel: Any, *rows: tuple[str, list[Interval]]) -> Interval:
            left, right = ((number[side], row) for side, row in rows)
            return self._leaf(kernel, left, right)

        return pairwise_interval(self._formula, x, z, leaf)

    def _leaf(self, kernel: Any, x: tuple[int, Any], z: tuple[int, Any]) -> Interval:
        """A black box inside k, run on intervals."""
        from mercer.formula.interval import trace

        function = function_of(kernel)
        if function is None:
            raise NotRenderable(f"{kernel!r} gives blocks of float64 only")
        sides = [side[1][0] if self.scalars else np.array(side[1], dtype=object) for side in (x, z)]
        value = trace(function, *sides)
        if value.size != 1:
            raise NotRenderable("the function must give one real number")
        return value.ravel()[0]  # type: ignore[no-any-return]

    def show(self, points: Any) -> list[str]:
        """The points as short texts."""
        out = []
        for row in self._rows(points):
            if isinstance(row, np.ndarray):
                numbers = [f"{value:.6g}" for value in row[:8]] + ["…"] * (len(row) > 8)
                out.append(numbers[0] if len(row) == 1 else f"({', '.join(numbers)})")
            else:
                out.append(f"{row:.6g}" if isinstance(row, float) else shorten(row, 40))
        return out

    def _rows(self, points: Any) -> list[Any]:
        if self.scalars:
            return [float(value) for value in np.ravel(points)]
        if hasattr(points, "iloc"):
            return [points.iloc[i] for i in range(len(points))]
        return list(points)


class MatrixTarget(Target):
    """k made of a given matrix: the points are the numbers of its rows."""

    def __init__(self, kernel: Any, given: np.ndarray) -> None:
        super().__init__(kernel)
        self.given = given
        self.K = np.asarray(kernel(given), dtype=np.float64)

    def select(self, data: Any, rows: np.ndarray) -> Any:
        return rows

    def matrix(self, points: Any) -> np.ndarray:
        index = np.asarray(points, dtype=int)
        return self.K[np.ix_(index, index)]

    entries = both_triangles = matrix

    def _points(self, points: np.ndarray) -> list[tuple[int, np.ndarray]]:
        return [(int(i), self.given[int(i)]) for i in points]

    def _leaf(self, kernel: Any, x: tuple[int, Any], z: tuple[int, Any]) -> Interval:
        from mercer.formula.interval import Interval

        if kernel.takes_matrix:
            # A matrix was computed elsewhere: its entries are correct to 8n roundings at best.
            error = 8 * len(self.given) * rounding_of(self.given)
            return Interval.of(self.given[x[0], z[0]]) * Interval.around(1.0, error)
        return super()._leaf(kernel, x, z)

    def show(self, points: Any) -> list[str]:
        return [f"row {i}" for i in points]
