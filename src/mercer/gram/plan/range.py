"""Numbers too large for the dtype, found before they become inf or NaN in K.

For a kernel, |k(x, z)| ≤ √(k(x, x) k(z, z)), and the same holds for the kernels it is made of. So
one look at the diagonal, part by part and in float64, tells what the pairs may reach.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np

from mercer.formula import Formula, at_diagonal, evaluate, simplify
from mercer.formula.nodes import Input, side_of, statistics
from mercer.gram.rows.prepared import Side, squared_norms, statistic
from mercer.kernels.radial import FARTHEST

#: Numbers up to here fit every dtype.
SAFE = float(np.finfo(np.float32).max)


def check_range(formula: Formula, x: Side, z: Side, dtype: np.dtype) -> None:
    """A clear error where some part of k would leave the range of the dtype."""
    for rows in _divided_by(formula):
        for side, name in ((x, "X"), (z, "Z"))[: 1 if z.matrices is x.matrices else 2]:
            _check_tiny(side.matrices[rows], dtype, name)
    for scaled, rows in _cut_off(formula):
        _check_far(scaled, [side.matrices[rows] for side in (x, z)], dtype)
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


def only_overflows(formula: Formula) -> bool:
    """Whether nothing but large numbers could leave the range, which K itself shows then."""
    return not (_divided_by(formula) or _cut_off(formula))


@lru_cache(maxsize=1024)
def _divided_by(formula: Formula) -> tuple[Input, ...]:
    """The inputs whose ‖x‖² is divided by, or by its root."""
    below = [n.args[-1] for n in formula.walk(bodies=False) if n.op in ("div", "rsqrt")]
    norms = [s for part in below for s in statistics(part) if s.op == "sqnorm"]
    return tuple(dict.fromkeys(s.value[1] for s in norms))


def _check_tiny(rows: Any, dtype: np.dtype, name: str) -> None:
    """An error where ‖x‖² loses its digits below the range of the dtype, and x is not zero."""
    limits = np.finfo(dtype)
    small = np.flatnonzero(squared_norms(rows) < limits.tiny / limits.eps)
    lost = [i for i in small if abs(rows[[i]]).max() > 0]
    if lost:
        raise ValueError(
            f"k divides by ‖x‖², which underflows in row {lost[0]} of {name}: {dtype.name} ends at "
            f"{limits.tiny:.1g}. To avoid that, scale the data."
        )


@lru_cache(maxsize=1024)
def _cut_off(formula: Formula) -> tuple[tuple[Formula, Input], ...]:
    """Functions of a distance that are cut off at `FARTHEST`, and the rows they are of."""
    cut = [n.args[0] for n in formula.walk(bodies=False) if n.op == "min"]
    found = [(u, statistics(u)) for u in cut]
    return tuple((u, of[0].value) for u, of in found if [s.op for s in of] == ["sqdist"])


def _check_far(scaled: Formula, sides: list[Any], dtype: np.dtype) -> None:
    """An error where the distance between two rows may pass the end of the dtype."""
    (distance,) = statistics(scaled)
    with np.errstate(over="ignore"):
        norms = [squared_norms(rows).max().astype(np.float64) for rows in sides]
        reach = np.square(np.sqrt(norms).sum())
        far = float(evaluate(scaled, {distance: reach}))
    if not far <= min(FARTHEST, float(np.finfo(dtype).max)):
        raise ValueError(
            f"k overflows: {scaled!r:.200} may reach {far:.1g} on this data, and {dtype.name} ends "
            f"at {np.finfo(dtype).max:.1g}. To avoid that, scale the data."
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
            end = float(np.abs(known[diagonal]).max())
            largest.append(0.0 if math.isnan(end) else end)
    return largest
