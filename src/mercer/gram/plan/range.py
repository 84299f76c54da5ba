"""Numbers too large for the dtype, found before they become inf or NaN in K.

For a kernel, |k(x, z)| ≤ √(k(x, x) k(z, z)), and the same holds for the kernels it is made of. So
one look at the diagonal, part by part and in float64, tells what the pairs may reach.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from mercer.formula import Formula, at_diagonal, evaluate, simplify
from mercer.formula.nodes import side_of, statistics
from mercer.gram.rows.prepared import Side, statistic

#: Numbers up to here fit every dtype.
SAFE = float(np.finfo(np.float32).max)


def check_range(formula: Formula, x: Side, z: Side, dtype: np.dtype) -> None:
    """A clear error where some part of k would leave the range of the dtype."""
    parts = _parts(formula)
    if not parts:
        return
    over_x = _largest(parts, x, "X")
    over_z = over_x if z.matrices is x.matrices else _largest(parts, z, "Z")
    limit = float(np.finfo(dtype).max)
    for (part, _), a, b in zip(parts, over_x, over_z, strict=True):
        size = math.sqrt(a) * math.sqrt(b)
        if size > limit:
            shown = "infinity" if math.isinf(size) else f"{size:.1g}"
            advice = "use float64, or scale the data" if size < 1e300 else "scale the data"
            raise ValueError(
                f"k overflows: {part!r:.200} reaches {shown} on this data, and {dtype.name} ends "
                f"at {limit:.1g}. To avoid that, {advice}."
            )


@lru_cache(maxsize=1024)
def _parts(formula: Formula) -> tuple[tuple[Formula, Formula], ...]:
    """The nodes of k that depend on a pair, each with its value on the diagonal."""
    parts = []
    pairs: set[int] = set()
    # One pass for all nodes: a pass per node takes the square of their number.
    diagonals: dict[int, Formula] = {}
    simple: dict[int, Formula] = {}
    simplify(at_diagonal(formula, images=diagonals), simple)
    for node in formula.walk(bodies=False):
        of_pair = side_of(node) == "pair" or node.op == "reduce"
        if of_pair or pairs & {id(a) for a in node.args}:
            pairs.add(id(node))
            diagonal = diagonals[id(node)]
            diagonal = simple.get(id(diagonal)) or simplify(diagonal)
            # A constant is checked here, once. The diagonal of a black box may be expensive to
            # compute, or unknown: it is not looked at.
            harmless = diagonal.op == "const" and abs(diagonal.value) < SAFE
            if not harmless and all(s.op != "opaque_diag" for s in statistics(diagonal)):
                parts.append((node, diagonal))
    return tuple(parts)


def _largest(parts: tuple[tuple[Formula, Formula], ...], side: Side, name: str) -> list[float]:
    known: dict[Formula, np.ndarray] = {}
    largest = []
    with np.errstate(all="ignore"):
        for _, diagonal in parts:
            for node in statistics(diagonal):
                if node not in known:
                    known[node] = statistic(node, side, side.raw, name)
            if diagonal not in known:
                known[diagonal] = np.asarray(evaluate(diagonal, known))
            # NaN is reported where the value is used; the part that overflowed is found here.
            largest.append(float(np.nan_to_num(np.abs(known[diagonal]).max(), posinf=np.inf)))
    return largest
