"""How a squared distance is computed so that k keeps its digits.

‖x‖² + ‖z‖² − 2x·z runs at the speed of the matrix product but cancels where x and z are close and
far from the origin. The error that reaches k is about  u · max‖x‖² · |∂k/∂s|,  u the rounding unit.
So: the product as it is where that is small; after centering where that helps; and else the product
with every pair whose distance canceled (s < τ(‖x‖² + ‖z‖²)) computed again from x − z.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np

from mercer._arrays import is_sparse
from mercer._lazy import record
from mercer.formula import derive, evaluate, simplify
from mercer.formula.nodes import Formula, statistics

#: Tolerated error of k, relative to its largest value, before a safer method is taken.
TOLERANCE = {4: 2e-6, 8: 2e-13}
#: Pairs closer than this share of ‖x‖² + ‖z‖² are computed from their difference.
NEAR = 1e-2
#: Up to this many columns the difference itself is as fast as the matrix product.
DIRECT_COLUMNS = 16
#: Below this many multiplications the difference costs nothing worth saving.
SMALL_WORK = 200_000


#: Powers in the sum of one column up to which float32 keeps its digits: the truncated powers of a
#: B-spline cancel to 5e-6 of its peak at degree 8, and to 3e-3 at 25.
STEEP = 8


@lru_cache(maxsize=512)
def needs_double(formula: Formula) -> bool:
    """Whether k is computed in float64 even for float32 rows."""

    def steep(body: Formula) -> bool:
        return sum(node.op == "pow" and node.value > STEEP for node in body.walk()) > 1

    return any(node.op == "reduce" and steep(node.args[0]) for node in statistics(formula))


@record
class Method:
    """How ‖x − z‖² is made over one input: "product", "repaired" or "direct", centered or not.

    "loop": it and x·z by a compiled loop over the columns.
    """

    how: str
    center: bool = False
    reason: str = ""


_SMALL_BLOCK = Method("direct", reason="a small block")


def direct_by_size(X: Any, Z: Any) -> Method | None:
    """Differences where they cost no more than a product, whatever the numbers are."""
    columns = X.shape[1]
    if is_sparse(X) or is_sparse(Z):
        return None
    if X.shape[0] * Z.shape[0] * columns <= SMALL_WORK:
        return _SMALL_BLOCK
    if columns <= DIRECT_COLUMNS:
        return Method("direct", reason=f"{columns} columns: differences are as fast")
    return None


def without_center(formula: Formula, node: Formula, raw: float, dtype: np.dtype) -> Method | None:
    """The product as it is, where it takes no look at centered rows to see that this is enough.

    For a function of one distance that is steepest, against its value at 0, where rows are as far
    apart as the origin allows: distances between them are no larger.
    """
    if not math.isfinite(raw) or statistics(formula) != (node,):
        return None
    error = (
        4 * np.finfo(dtype).eps / 2 * raw * sensitivity(formula, node, _round_up(raw), zero=True)
    )
    if error <= TOLERANCE[dtype.itemsize]:
        return Method("product", reason=f"error ≤ {error:.1e}")
    return None


def choose(
    formula: Formula,
    node: Formula,
    sparse: bool,
    norms: tuple[float, float | None],
    dtype: np.dtype,
) -> Method:
    """The method where sizes do not decide.

    `norms`: the largest ‖x‖² of the raw rows and of the centered ones (None: cannot center).
    `dtype` is that of the products; the rows themselves may be wider.
    """
    unit = np.finfo(dtype).eps / 2
    tolerance = TOLERANCE[dtype.itemsize]
    raw, centered = norms
    if not math.isfinite(raw):
        if sparse:
            raise ValueError(f"‖x‖² overflows {dtype.name} on this data: scale the data")
        return Method("direct", reason="squared norms overflow")
    slope = sensitivity(formula, node, _round_up(centered if centered is not None else raw))
    if 4 * unit * raw * slope <= tolerance:
        return Method("product", reason=f"error ≤ {4 * unit * raw * slope:.1e}")
    if centered is not None and 4 * unit * centered * slope <= tolerance:
        return Method("product", True, f"centered: error ≤ {4 * unit * centered * slope:.1e}")
    center = centered is not None and centered < 0.9 * raw
    return Method("repaired", center, "near pairs from their differences: the product cancels")


def _round_up(value: float) -> float:
    """To a power of two, so that the cached sensitivity serves neighboring data sets."""
    return 2.0 ** math.ceil(math.log2(value)) if 0 < value < math.inf else 1.0


def tolerates_rounding(
    formula: Formula, node: Formula, norms: tuple[float, float | None], error: float, dtype: Any
) -> bool:
    """Whether k keeps its digits if every number of the data changes by this relative error.

    Rounding the data to a grid does that: it changes a squared distance s by up to
    4 error √(s max‖x‖²). Where the distances needed a center, that can be more than k tolerates.
    """
    raw, centered = norms
    if error == 0:
        return True
    slope = sensitivity(formula, node, _round_up(raw if centered is None else centered), root=True)
    return 4 * error * math.sqrt(raw) * slope <= TOLERANCE[dtype.itemsize]


@lru_cache(maxsize=4096)
def sensitivity(
    formula: Formula, node: Formula, largest: float, root: bool = False, zero: bool = False
) -> float:
    """max |∂k/∂s| / max |k| over s from (nearly) 0 to the largest distance; huge for e^(−√s).

    `root`: of √s |∂k/∂s|. `zero`: relative to |k| at 0.
    """
    if _jumps_with(formula, node):
        return math.inf
    slope = simplify(derive(formula, node))
    s = np.concatenate([[0.0], np.logspace(-14, math.log10(4.0), 120) * largest])
    known: dict[Formula, Any] = {}
    for i, other in enumerate(statistics(formula * slope)):
        if other is node:
            known[other] = s
        elif other.op == "dot" and other.value == node.value:
            known[other] = largest - s / 2
        elif other.op == "sqdist":
            known[other] = s
        elif other.op == "sqnorm":
            known[other] = np.full_like(s, largest)
        elif other.op in ("l1", "linf"):
            known[other] = np.sqrt(s)
        else:
            # Arbitrary numbers: a difference of two of them must not happen to be zero.
            known[other] = np.full_like(s, 0.3 + 0.7 * math.modf(0.618 * (i + 1))[0])
    with np.errstate(all="ignore"):
        value = np.abs(np.broadcast_to(evaluate(formula, known), s.shape))
        rise = np.abs(np.broadcast_to(evaluate(slope, known), s.shape))
        rise = rise * np.sqrt(s) if root else rise
    size = value[0] if zero else value.max()
    if not np.isfinite(rise).all() or not np.isfinite(value).all() or size == 0:
        return math.inf
    return float(rise.max() / size)


def _jumps_with(formula: Formula, node: Formula) -> bool:
    """Whether k jumps at some distance: rounding of that distance then changes k by the jump."""
    return any(
        n.op in ("step", "sign", "eq") and any(inner is node for inner in n.walk())
        for n in formula.walk(bodies=False)
    )
