"""How a squared distance is computed so that k keeps its digits.

‖x‖² + ‖z‖² − 2x·z runs at the speed of the matrix product but cancels where x and z are close and
far from the origin: s = ‖x − z‖² is off by up to ε max‖x‖² (`product_error`). So: the product as
it is where ε max‖x‖² |∂k/∂s| is small; after centering where that helps; and else the product with
every pair whose distance canceled (s < τ(‖x‖² + ‖z‖²)) computed again from x − z.

Small means: beside |k(x, z)| itself, or beside the largest |k| at distances that the points Z have
from their own mean. Neither depends on the rows that happen to be asked together.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from mercer._arrays import is_sparse
from mercer.formula import derive, evaluate, simplify
from mercer.formula.nodes import Formula, statistics
from mercer.gram.rows import Operand, squared_norms
from mercer.tuning import LARGEST_SINGLE, NEAR_STEPS, SAMPLE_ROWS

if TYPE_CHECKING:
    from mercer.gram.host import HostGram

#: The error of k, relative to its largest value, that is promised (by the bytes of a number), and
#: what of it rounding in products, or of the data, may take. Where all columns of float32 rows hold
#: one and the same number, or one of few, it is D/20 times as much: their sums have no more digits.
PROMISED: Final = {4: 1e-5, 8: 1e-12}
TOLERANCE = {size: 0.8 * error for size, error in PROMISED.items()}
#: Pairs closer than this share of ‖x‖² + ‖z‖² are computed from their difference.
CANCELED = 0.05


#: Powers in the sum of one column up to which float32 keeps its digits: the truncated powers of a
#: B-spline cancel to 5e-6 of its peak at degree 8, and to 3e-3 at 25.
STEEP = 8


@lru_cache(maxsize=512)
def needs_double(formula: Formula) -> bool:
    """Whether k is computed in float64 even for float32 rows."""

    def steep(body: Formula) -> bool:
        return sum(node.op == "pow" and node.value > STEEP for node in body.walk()) > 1

    return any(node.op == "reduce" and steep(node.args[0]) for node in statistics(formula))


class Method(NamedTuple):
    """How ‖x − z‖² is made over one input: "product", "repaired" or "direct", centered or not.

    "loop": it and x·z by a compiled loop over the columns.
    """

    how: str
    center: bool = False
    reason: str = ""


#: Of distances whose differences cost no more than a product, whatever the numbers are.
BY_SIZE = Method("direct", reason="few columns or few pairs: differences are as fast")


class Ends(NamedTuple):
    """The largest squared norms that decide: of all rows about 0 (`raw`), of all rows about the
    mean of Z (`centered`), and of Z alone about it (`spread`).

    Where no center can be subtracted, `centered` is `raw`, and `spread` is 0: unknown.
    """

    raw: float
    centered: float
    spread: float = 0.0


def product_error(
    formula: Formula, node: Formula, columns: int, ends: Ends, dtype: np.dtype, center: bool = False
) -> float:
    """How far k may be off, as `TOLERANCE` counts it, where distances come from a product.

    `dtype` is that of the products; the rows themselves may be wider. `center`: the mean of Z is
    subtracted from all rows before.
    """
    norm = ends.centered if center else ends.raw
    if not math.isfinite(norm):
        return math.inf
    # Relative to the larger of ‖x‖² and ‖z‖², random rows were off by less than 4 + √D rounding
    # units u. Rows of one repeated number, whose sums are all rounded the same way, were off by
    # 9.7 u with 17 columns, by 59 u with 100, by 720 u with 3000. float64 has the digits for them,
    # too; float32 would have none left.
    grows = 0.6 * columns if dtype.itemsize == 8 else math.sqrt(columns)
    error = (4.0 + grows) * float(np.finfo(dtype).eps) / 2
    return error * norm * slope_between(formula, node, ends)


def choose(
    formula: Formula, node: Formula, columns: int, ends: Ends, dtype: np.dtype, sparse: bool = False
) -> Method:
    """The method where sizes do not decide; `sparse` rows have no center and no differences."""
    if not math.isfinite(ends.raw):
        if sparse:
            raise ValueError(f"‖x‖² overflows {dtype.name} on this data: scale the data")
        return Method("direct", reason="squared norms overflow")
    for center in (False,) if sparse else (False, True):
        error = product_error(formula, node, columns, ends, dtype, center)
        if error <= TOLERANCE[dtype.itemsize]:
            return Method("product", center, f"{'centered: ' * center}error ≤ {error:.1e}")
    center = ends.centered < 0.9 * ends.raw
    return Method("repaired", center, "near pairs from their differences: the product cancels")


def tolerates_rounding(
    formula: Formula, node: Formula, ends: Ends, error: float, dtype: Any
) -> bool:
    """Whether k keeps its digits if every number of the data changes by this relative error."""
    return rounding_error(formula, node, ends, error) <= TOLERANCE[dtype.itemsize]


def rounding_error(formula: Formula, node: Formula, ends: Ends, error: float) -> float:
    """How far k may be off if every number of the data changes by this relative error.

    Rounding the data to a grid does that: it changes a squared distance s by up to
    4 error √(s max‖x‖²). Where the distances needed a center, that can be more than k tolerates.
    """
    if error == 0:
        return 0.0
    return 4 * error * math.sqrt(ends.raw) * slope_between(formula, node, ends, root=True)


def slope_between(formula: Formula, node: Formula, ends: Ends, root: bool = False) -> float:
    """`sensitivity` to ‖x − z‖² of rows with these ends, at powers of two around them: it is kept,
    and serves neighboring data sets."""
    return sensitivity(formula, node, *_powers(ends), root)


def _powers(ends: Ends) -> tuple[float, float, float]:
    """The farthest squared distance, the spread and the largest norm: powers of two around them."""
    spread = math.ldexp(1.0, math.frexp(ends.spread)[1] - 1) if ends.spread > 0 else 0.0
    farthest, norm = (
        2.0 ** math.ceil(math.log2(value)) if 0 < value < math.inf else 1.0
        for value in (ends.centered, ends.raw)
    )
    return 4 * farthest, spread, norm


@lru_cache(maxsize=4096)
def sensitivity(
    formula: Formula,
    node: Formula,
    farthest: float,
    spread: float = 0.0,
    norm: float = 1.0,
    root: bool = False,
) -> float:
    """max |∂k/∂s| over s from 0 to the farthest distance; huge for e^(−√s).

    Relative to |k| at s, or to the largest |k| up to `spread` where that is more. `norm`: the
    largest ‖x‖², for what else k reads. `root`: of √s |∂k/∂s|.
    """
    return float(_slopes(formula, node, farthest, spread, norm, root)[1].max())


def steady_from(
    formula: Formula, node: Formula, ends: Ends, error: float, tolerance: float
) -> float:
    """The squared distance s from which on an error of s changes k by no more than tolerated.

    0 where that is so at all distances, infinity where it is at none.
    """
    farthest, spread, norm = _powers(ends)
    s, slopes = _slopes(formula, node, farthest, spread, norm, False)
    steep = np.flatnonzero(slopes * error > tolerance)
    if not len(steep):
        return 0.0
    return float(s[steep[-1] + 1]) if steep[-1] + 1 < len(s) else math.inf


@lru_cache(maxsize=1024)
def _slopes(
    formula: Formula, node: Formula, farthest: float, spread: float, norm: float, root: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Squared distances, and |∂k/∂s| from each to the next one, as `sensitivity` counts it."""
    s = np.concatenate([[0.0], np.logspace(-14, 0, 120) * farthest])
    unknown = s, np.full_like(s, np.inf)
    if _jumps_with(formula, node):
        return unknown
    slope = simplify(derive(formula, node))
    values = at_distances(formula * slope, node, s, norm)
    with np.errstate(all="ignore"):
        k, rise = (np.broadcast_to(evaluate(f, values), s.shape) for f in (formula, slope))
        # Between two distances k may be steeper than at both: a narrow k beside the farthest s.
        farther = evaluate(formula, values | {node: np.append(s[1:], s[-1])})
        path = 2 * np.sqrt(s) if root else s
        between = np.abs(farther - k)[:-1] / np.diff(path)
        rise = np.abs(rise) * (np.sqrt(s) if root else 1.0)
        if not (np.isfinite(rise).all() and np.isfinite(k).all() and np.isfinite(between).all()):
            return unknown
        size = np.maximum(np.abs(k), np.abs(k[s <= spread]).max())
        slopes = np.where(rise > 0, rise / size, 0.0)
        between = np.where(between > 0, between / np.minimum(size[:-1], size[1:]), 0.0)
    slopes[:-1] = np.maximum(slopes[:-1], between)
    return s, slopes


def at_distances(
    formula: Formula, node: Formula, s: np.ndarray, norm: float
) -> dict[Formula, np.ndarray]:
    """The statistics of pairs whose `node` is s, of rows as long as one another."""
    values: dict[Formula, np.ndarray] = {}
    for i, other in enumerate(statistics(formula)):
        if other is node or other.op == "sqdist":
            values[other] = s
        elif other.op == "dot" and other.value == node.value:
            values[other] = norm - s / 2
        elif other.op == "sqnorm":
            values[other] = np.full_like(s, norm if other.value[1] == node.value else 1.0)
        elif other.op in ("l1", "linf"):
            values[other] = np.sqrt(s)
        else:
            # Arbitrary numbers: a difference of two of them must not happen to be zero.
            values[other] = np.full_like(s, 0.3 + 0.7 * math.modf(0.618 * (i + 1))[0])
    return values


def _jumps_with(formula: Formula, node: Formula) -> bool:
    """Whether k jumps at some distance: rounding of that distance then changes k by the jump."""
    return any(
        n.op in ("step", "sign", "eq") and any(inner is node for inner in n.walk())
        for n in formula.walk(bodies=False)
    )


# --- rows rounded to float32 ------------------------------------------------------------------

EPS_SINGLE = float(np.finfo(np.float32).eps)
#: The rounding of k relative to its largest value: of the rows to float32 and of products of them,
#: both of which the tolerance bounds, and of sums.
ROUNDING = 2 * TOLERANCE[4] + 8 * EPS_SINGLE
#: Statistics whose rounding is known.
_ROUNDED = {"sqdist", "dot", "l1", "linf"}
#: Those that a common shift of all rows does not change.
_DIFFERENCES = {"sqdist", "l1", "linf"}


def rounding(gram: HostGram) -> float | None:
    """How far k of a Gram in float32 is off, relative to the largest k; None: too few digits.

    A bound for any kernel. Where k is a function of one distance that is short, its own slope
    gives a smaller one.
    """
    errors = errors_in_single(gram)
    if errors is None:
        return None
    (node, largest, error), *others = errors
    if others or node.op != "sqdist":
        return ROUNDING
    columns, ends = gram.operands()[0].matrices[node.value].shape[1], Ends(largest, largest)
    error += product_error(gram.formula, node, columns, ends, np.dtype(np.float32))
    return min(ROUNDING, 2 * error + 8 * EPS_SINGLE)  # twice: the estimate was met to within 6 %


def errors_in_single(
    gram: HostGram, centered: bool = False
) -> list[tuple[Formula, float, float]] | None:
    """The node of each statistic, its largest squared norm (or sum of |x|), and the error of k by
    rounding the rows to float32; None where one of the errors is too large, or unknown.

    `centered`: the mean of dense rows is subtracted before, where only differences are read (see
    `movable`).
    """
    errors = []
    free = movable(gram.formula) if centered else set()
    operands = gram.operands()[:1] if gram.square else gram.operands()
    for node in statistics(gram.formula):
        if node.op in ("sqnorm", "rowfn"):
            continue
        if node.op not in _ROUNDED:
            return None
        moved = node.value in free
        norms = [_norm(operand, node, moved) for operand in operands]
        error = _error(gram.formula, node, max(norms), norms[-1] if moved else 0.0)
        if error > TOLERANCE[4]:
            return None
        errors.append((node, max(norms), error))
    return errors


def is_far(gram: HostGram) -> bool:
    """Whether rows that can be moved are farther from 0 than from one another."""
    side = gram.operands()[0]
    for key in movable(gram.formula):
        rows, grid = side.matrices[key], side.grids.get(key)
        if not is_sparse(rows) and (grid is None or abs(grid.grid.low) > NEAR_STEPS):
            some = rows[:: max(1, len(rows) // SAMPLE_ROWS)]
            mean = some.mean(axis=0)
            if mean @ mean > 0.5 * squared_norms(some).mean():
                return True
    return False


def movable(formula: Formula) -> set[Any]:
    """Inputs that only differences read: their mean can be subtracted before they are rounded."""
    read: dict[Any, set[str]] = {}
    for node in statistics(formula):
        key = node.value[1] if node.op in ("sqnorm", "reduce") else node.value
        read.setdefault(key, set()).add(node.op)
    return {key for key, ops in read.items() if ops <= _DIFFERENCES}


def _error(formula: Formula, node: Formula, largest: float, spread: float) -> float:
    """The error of k by rounding rows whose squared norms (or sums of |x|) reach `largest`.

    `spread`: what those of Z reach, where its mean is subtracted from all rows before.
    """
    if not largest <= LARGEST_SINGLE:
        return math.inf
    if node.op == "sqdist":
        return rounding_error(formula, node, Ends(largest, largest, spread), EPS_SINGLE / 2)
    top = 2.0 ** math.ceil(math.log2(largest or 1.0))
    # The largest k of a function of x·z is that of the longest row with itself.
    slope = sensitivity(formula, node, top, top if node.op == "dot" else 0.0)
    return 2 * EPS_SINGLE * largest * slope


def _norm(operand: Operand, node: Formula, centered: bool) -> float:
    """The largest ‖x‖², or sum of |x|."""
    rows, sums = operand.matrices[node.value], node.op in ("l1", "linf")
    if centered and not is_sparse(rows):
        rows = rows - rows.mean(axis=0)
    with np.errstate(over="ignore"):
        if sums:
            sizes = np.asarray(abs(rows).sum(axis=1))
        elif centered or operand.centers.get(node.value) is not None:
            sizes = squared_norms(rows)
        else:
            sizes = operand.squared_norms(node.value)
    return float(sizes.max(initial=0.0))
