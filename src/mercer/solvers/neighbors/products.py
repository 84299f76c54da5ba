"""A search for neighbors by the matrix product alone, and how far it can be trusted.

The nearest z of a query x are those of the largest 2x·z − ‖z‖²: neither ‖x‖² nor a distance needs
to be made, and single precision, which is twice as fast, is enough to list the candidates. Rows
are centered and scaled by a power of two first, so that few digits are lost and nothing overflows.
Whole numbers stay as they are: their products are exact, so that the many equal distances between
rows of 0 and 1 leave no doubt. Every candidate is measured again by the caller, and `bound` says
which distance no row outside the list goes below.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mercer._config import get_config
from mercer.formula.nodes import ROOT, dot
from mercer.gram.base import Gram
from mercer.gram.byte_products.rows import ROOM
from mercer.gram.host import HostGram
from mercer.gram.rows.prepared import squared_norms

#: Multiply-adds from which products of bytes are faster than a search in panels.
BYTES_WORK = 5e9
#: ‖x‖² up to which 2x·z − ‖z‖² of whole numbers is exact in float32: its sums fit 24 bits.
EXACT = float(1 << 22)


def by_product(
    x: np.ndarray, z: np.ndarray, search: Callable[[Gram, np.ndarray], Any]
) -> tuple[np.ndarray, np.ndarray]:
    """The candidates that `search` lists by 2 · Gram + offset, and per query the bound."""
    left, right, unit, rounding = _sides(x, z)
    own, others = (squared_norms(side).astype(np.float64) for side in (left, right))
    with np.errstate(over="ignore", invalid="ignore"):
        found = search(HostGram(dot(ROOT), left, right), -others)
        error = rounding * (np.sqrt(x.shape[1]) * 4 + 8) * (own + others.max())
        # What is below the smallest numbers of single precision is lost, too.
        error += 2.0 * x.shape[1] * float(np.finfo(left.dtype).tiny) if rounding else 0.0
        bound = unit**2 * (own - found.value[:, -1] - error)
    # Where numbers overflow nothing is known: no distance is below 0.
    return found.index, np.where(np.isfinite(bound), bound, 0.0)


def _sides(x: np.ndarray, z: np.ndarray) -> tuple[np.ndarray, np.ndarray, float, float]:
    """Both sides for the product, the unit of their numbers, and the share of ‖x‖² + ‖z‖² that its
    rounding is counted by."""
    if on_grid(x, z) or not single_fits(x, z):
        return x, z, 1.0, 2.0 * float(np.finfo(x.dtype).eps)
    if _are_whole(z) and _are_whole(x):
        return x.astype(np.float32, copy=False), z.astype(np.float32, copy=False), 1.0, 0.0
    center = z.mean(axis=0, dtype=np.float64)
    centered = [side - center for side in (x, z)]
    largest = max(float(np.abs(side).max()) for side in centered)
    unit = 2.0 ** np.ceil(np.log2(largest)) if 0 < largest < np.inf else 1.0
    left, right = ((side / unit).astype(np.float32) for side in centered)
    # Taking the center off loses the digits of what the rows have in common.
    lost = float(np.finfo(np.float64).eps) * float(np.abs(center).max()) / unit
    return left, right, float(unit), 2.0 * float(np.finfo(np.float32).eps) + 8.0 * lost


def on_grid(x: np.ndarray, z: np.ndarray) -> bool:
    """Whether products are made of bytes, which is faster than anything in single precision."""
    return x.size * len(z) >= BYTES_WORK and bool(HostGram(dot(ROOT), x, z).sides()[0].grids)


def single_fits(*sides: np.ndarray) -> bool:
    """Whether there is room for copies in single precision."""
    return 4 * sum(side.size for side in sides) <= ROOM * get_config().memory_bytes


def _are_whole(rows: np.ndarray) -> bool:
    """Whether all numbers are whole, and so small that their products are exact."""
    some = rows[:64]
    if not np.array_equal(some, np.rint(some)):
        return False
    return np.array_equal(rows, np.rint(rows)) and float(squared_norms(rows).max()) <= EXACT
