"""How each distance is computed on a device: one look at the rows, and what it decides.

A squared distance comes from the product of centered rows where the rounding of that product leaves
k its digits; where only near pairs lose them, those are computed again from differences
(`near_pairs`); else differences serve all pairs. One look at the rows, and one wait for the device,
gives the largest norms about a center, and whether all numbers are finite.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, Final, NamedTuple

import numpy as np
import torch

from mercer.engines.cuda.half_precision import HALVES, ROUNDING, Exact, grid_step
from mercer.engines.cuda.operands import FEW_COLUMNS, NARROW_COLUMNS
from mercer.engines.cuda.ops import NARROW
from mercer.engines.cuda.rows import DeviceSide, check_finite, has_triton, runs_on
from mercer.formula import Formula
from mercer.formula.nodes import Input
from mercer.gram.accuracy import (
    CANCELED,
    Ends,
    Method,
    slope_between,
    steady_from,
    tolerates_rounding,
)
from mercer.gram.byte_rows import DISTINCT
from mercer.gram.form import form_of
from mercer.tuning import DIRECT_COLUMNS

#: Rounding unit of a product of split operands, and of a single half-precision part.
UNIT: Final = {"high": 2.0**-22, "fast": 2.0**-11}
#: Tolerated error of k, relative to its largest value: a little below what is promised.
TOLERANCE = {"high": 8e-6, "fast": 1.6e-3}


#: Columns over which are as few pairs near as `LEVELS` allows: the fewer columns, the more are.
NEAR_COLUMNS: Final = 96
#: By how much the largest norm about 0 may exceed that about a center for near pairs to be few.
FAR_FROM_ZERO: Final = 2.0
#: Types of numbers that are on a grid of step 1.
WHOLE: Final = tuple(t for t in NARROW if not t.is_floating_point)
#: Shares of the tolerance, and of the largest norm below which pairs may be near; and up to how
#: many columns differences cost less than near pairs.
LEVELS: Final = (
    (0.125, 0.25, FEW_COLUMNS), (1.0, CANCELED, DIRECT_COLUMNS), (1.0, 0.0, DIRECT_COLUMNS)
)  # fmt: skip


class Largest(NamedTuple):
    """The largest ‖x − c‖² of X and of Z."""

    of_x: float
    of_z: float

    def ends(self, centered: bool, raw: float | None = None) -> Ends:
        """The norms that decide; `raw`: the largest about 0, where it is known."""
        return Ends(max(self) if raw is None else raw, max(self), self.of_z if centered else 0.0)


def look(x: DeviceSide, z: DeviceSide, inputs: Iterable[Input] | None = None) -> dict[Any, Largest]:
    """The largest norms of each input's rows about their center, in one wait for the device."""
    keys, sides = list(inputs or x.matrices), [x] if z.cache is x.cache else [x, z]
    found = torch.stack([side.norms(key).max() for key in keys for side in sides]).tolist()
    step = len(sides)
    return {key: Largest(found[step * i], found[step * i + step - 1]) for i, key in enumerate(keys)}


def rounding(columns: int, ends: Ends, kind: str, dtype: torch.dtype) -> float:
    """How far a squared distance from the product of such rows may be off."""
    unit = UNIT[kind] if dtype == torch.float32 else 2.0**-52
    # Roundings of many columns partly cancel: what is promised here is not a worst case.
    share = 2 / math.sqrt(columns) if kind == "fast" else 1.0
    return 2 * unit * ends.centered * share if ends.centered < torch.finfo(dtype).max else math.inf


def tolerance_of(precision: str, dtype: torch.dtype) -> float:
    """The error of k that is tolerated, relative to its largest value."""
    return TOLERANCE[precision] if dtype == torch.float32 else 2e-13


class Choice:
    """The methods of a formula's distances for these rows, and what decided them.

    `exact`: inputs that one half-precision part holds; `below`: the distances below which pairs are
    computed again. The centers of the rows are brought into line. `level`: of `LEVELS`, the first
    that is tried; the next where more pairs were near than a list holds.
    """

    def __init__(
        self, formula: Formula, x: DeviceSide, z: DeviceSide, precision: str, dtype: torch.dtype,
        level: int = 0,
    ) -> None:  # fmt: skip
        self.level = level
        self.formula, self.x, self.z = formula, x, z
        self.precision, self.dtype = precision, dtype
        self.below: dict[Input, float] = {}
        self.largest: dict[Input, Largest] = {}
        self.exact: dict[Input, Exact] = {}
        self.runs: bool = dtype == torch.float32 and has_triton() and runs_on(x.device)
        distances = form_of(formula).distances
        centered = {node.value for node in distances}
        # A center off the halves that were given might need more digits than one half.
        self.steps: dict[Input, float] = {
            key: float(m.dtype in WHOLE and z.matrices[key].dtype in WHOLE)
            for key, m in x.matrices.items()
        }
        found = self._look(
            {
                key: (key in centered and m.dtype not in HALVES, self.steps[key])
                for key, m in x.matrices.items()
            }
        )
        if not all(math.isfinite(number) for pair in self.largest.values() for number in pair):
            for side, name in ((z, "Z"), (x, "X"))[z.cache is x.cache :]:
                check_finite(side.raw, name)
        for key, report in found.items():
            if x.matrices[key].shape[1] > NARROW_COLUMNS:
                self._hold(key, report, key in centered)
        self.methods: dict[Input, Method] = {n.value: self._method(n) for n in distances}

    def _look(self, wanted: dict[Input, tuple[bool, float]]) -> dict[Input, Any]:
        """Center these inputs or not, and find their norms; a report where a kernel looked."""
        if self.runs:
            from mercer.engines.cuda.measure import measure

            found = measure(self.x, self.z, wanted)
            self.largest |= {key: Largest(r.of_x, r.of_z) for key, r in found.items()}
            return dict(found)
        for key, (center, _) in wanted.items():
            self.x.centers[key] = self.z.middle(key, self.dtype) if center else None
            for side in (self.x, self.z):
                side.cache.pop(("norms", key), None)
        self.largest |= look(self.x, self.z, wanted)
        return {}

    def _hold(self, key: Input, report: Any, centered: bool) -> None:
        """Whether one half-precision part holds the numbers of an input without loss."""
        x, z, step = self.x.matrices[key], self.z.matrices[key], self.steps[key]
        if not step and report.different <= DISTINCT and (step := grid_step(x, z)):
            report = self._look({key: (centered, step)})[key]
            step = 0.0 if report.flawed else step
        if step:
            self.exact[key] = Exact(1.0 / step, True, math.sqrt(report.center))
        elif x.dtype in HALVES and z.dtype in HALVES and not report.flawed:
            self.exact[key] = Exact(1.0, False)

    def _method(self, node: Formula) -> Method:
        """How ‖x − z‖² is computed; what else the choice says is brought into line with it."""
        key = node.value
        exact = self.exact.get(key)
        if exact is not None and not exact.grid:
            # One part would no longer hold these halves once a center is subtracted.
            found, raw = self._by_product(node, "halves as they are"), max(self.largest[key])
            if found is not None and found.how == "product":
                return found
            self._look({key: (True, 0.0)})
            if found is not None and raw <= FAR_FROM_ZERO * max(self.largest[key]):
                self._look({key: (False, 0.0)})
                return found
            del self.exact[key]
        elif exact is not None:
            raw = math.sqrt(max(self.largest[key])) + exact.center
            ends, numbers = self.largest[key].ends(True, raw**2), np.dtype(np.float32)
            error = 0.0 if self.steps[key] else ROUNDING / 2
            if not tolerates_rounding(self.formula, node, ends, error, numbers):
                del self.exact[key]
        if self.x.centers.get(key) is None:
            self._look({key: (True, 0.0)})
        found = self._by_product(node, "centered")
        if found is None:
            self._look({key: (False, 0.0)})
        return found or Method("direct", False, "differences: the product cancels")

    def _by_product(self, node: Formula, words: str) -> Method | None:
        """The method with a product of the rows as they are now centered, if one has the digits."""
        key, columns = node.value, self.x.matrices[node.value].shape[1]
        # Where all split parts fit one product of tensor cores, full precision is kept.
        kind = "high" if columns <= NARROW_COLUMNS or key in self.exact else self.precision
        error, off, ends = self._error(node, kind)
        tolerance = tolerance_of(self.precision, self.dtype)
        is_centered = self.x.centers.get(key) is not None
        self.below.pop(key, None)
        for share, canceled, few in self._levels(key):
            if error <= share * tolerance:
                return Method("product", is_centered, f"{words}: error ≤ {error:.1e}")
            if columns <= few:
                break
            distance = steady_from(self.formula, node, ends, off, share * tolerance) + 4 * off
            if distance < min(canceled, columns / NEAR_COLUMNS) * ends.centered:
                self.below[key] = distance
                return Method("repaired", is_centered, "near pairs from differences")
        return None

    def _levels(self, key: Input) -> tuple[tuple[float, float, int], ...]:
        """The levels to try. Where distances are all that k reads, near pairs get digits that cost
        little."""
        alone = key not in form_of(self.formula).reads_products
        strict = alone and self.precision == "high" and self.dtype == torch.float32
        # Differences of narrow rows cost little.
        end = 1 if strict and self.x.matrices[key].shape[1] <= DIRECT_COLUMNS else len(LEVELS)
        return LEVELS[max(self.level, 1 - strict) : end]

    def _error(self, node: Formula, kind: str) -> tuple[float, float, Ends]:
        """The error of k by the rounding of a product, that of a distance, and the reason."""
        key = node.value
        ends = self.largest[key].ends(self.x.centers.get(key) is not None)
        off = rounding(self.x.matrices[key].shape[1], ends, kind, self.dtype)
        exact, slope = self.exact.get(key), slope_between(self.formula, node, ends)
        # Sums of whole numbers that float32 holds are exact, times a power of two as well.
        if exact is not None and exact.grid and math.frexp(exact.scale)[0] == 0.5:
            off = 0.0 if 4 * ends.centered * exact.scale**2 < 1 << 24 else off
        return (off * slope if off else slope if math.isinf(slope) else 0.0), off, ends
