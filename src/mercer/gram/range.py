"""Numbers too large for the dtype, found before they become inf or NaN in K.

For a kernel, |k(x, z)| ≤ √(k(x, x) k(z, z)), and the same holds for the kernels it is made of. So
one look at the diagonal, part by part and in float64, shows what the pairs may reach.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import numpy as np

from mercer._arrays import is_sparse
from mercer.formula import Formula, at_diagonal, evaluate, simplify
from mercer.formula.nodes import Input, side_of, statistics
from mercer.gram.accuracy import at_distances
from mercer.gram.row_values import statistic
from mercer.gram.rows import Operand, squared_norms
from mercer.kernels.radial import FARTHEST

#: Numbers up to here fit every dtype.
SAFE = float(np.finfo(np.float32).max)
#: Squared distances up to which a kernel is tried once and for all.
USUAL = 1e12


def check_range(formula: Formula, x: Operand, z: Operand, dtype: np.dtype) -> None:
    """A clear error where some part of k would leave the range of the dtype."""
    for part, rows in _divided_by(formula):
        for side, name in ((x, "X"), (z, "Z"))[: 1 if z.matrices is x.matrices else 2]:
            _check_tiny(part, side.matrices[rows], dtype, name)
    for scaled, distance in _cut_off(formula):
        _check_far(scaled, distance, [side.matrices[distance.value] for side in (x, z)], dtype)
    if _grows(formula, dtype, math.inf):
        _check_distances(formula, x, z, dtype)
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


def is_always_in_range(formula: Formula, dtype: np.dtype) -> bool:
    """Whether `check_range` has nothing to look at, whatever the rows are."""
    looked_at = _divided_by(formula) or _cut_off(formula) or _parts(formula)
    return not (looked_at or _grows(formula, dtype, math.inf))


@lru_cache(maxsize=1024)
def _divided_by(formula: Formula) -> tuple[tuple[Formula, Input], ...]:
    """Divisors that hold ‖x‖², or their squares, each with its input.

    Of a function of a pair, ‖x‖² itself.
    """
    below = [n.args[-1] for n in formula.walk(bodies=False) if n.op in ("div", "rsqrt")]
    norms = [(part, s) for part in below for s in statistics(part) if s.op == "sqnorm"]
    alone = {part for part, _ in norms if all(s.op == "sqnorm" for s in statistics(part))}
    return tuple({(part if part in alone else s, s.value[1]): 0 for part, s in norms})


def _check_tiny(part: Formula, rows: Any, dtype: np.dtype, name: str) -> None:
    """An error where a divisor loses its digits below the range of the dtype, and x is not zero."""
    limits, norms = np.finfo(dtype), squared_norms(rows)
    least = limits.tiny / limits.eps
    at_zero, at_rows = (
        evaluate(part, dict.fromkeys(statistics(part), s)) for s in (0.0, norms.astype(np.float64))
    )
    small = np.flatnonzero(np.minimum(norms, at_rows) < least) if at_zero < least else ()
    lost = [i for i in small if abs(rows[[i]]).max() > 0]
    if lost:
        shown = "‖x‖²" if part.op == "sqnorm" else f"{part!r:.200}"
        raise ValueError(
            f"k divides by {shown}, which underflows in row {lost[0]} of {name}: {dtype.name} ends "
            f"at {limits.tiny:.1g}. To avoid that, scale the data."
        )


@lru_cache(maxsize=1024)
def _cut_off(formula: Formula) -> tuple[tuple[Formula, Formula], ...]:
    """Functions of a distance that are cut off at `FARTHEST`, and the distance."""
    cut = [n.args[0] for n in formula.walk(bodies=False) if n.op == "min"]
    functions = [(u, statistics(u)) for u in cut]
    return tuple((u, of[0]) for u, of in functions if [s.op for s in of] == ["sqdist"])


@lru_cache(maxsize=1024)
def _grows(formula: Formula, dtype: np.dtype, farthest: float) -> bool:
    """Whether k leaves the range where rows of length 1 are that far apart, or nearer."""
    reached = min(farthest, float(np.finfo(dtype).max) / 16)
    grid = np.append(np.logspace(-30, math.log10(reached), 120), farthest)
    return _overflows(formula, grid.astype(dtype), 1.0)


def _overflows(formula: Formula, s: np.ndarray, norm: float) -> bool:
    distance = next((n for n in statistics(formula) if n.op == "sqdist"), None)
    if distance is None:
        return False
    values = at_distances(formula, distance, s, norm)
    with np.errstate(all="ignore"):
        # Differences of rows that are infinitely long are no numbers, and no concern of this.
        values |= {n: np.ones_like(s) for n in values if n.op in ("dot", "sqnorm") and norm == 1.0}
        return not np.isfinite(evaluate(formula, values)).all()


def _check_distances(formula: Formula, x: Operand, z: Operand, dtype: np.dtype) -> None:
    """An error where k may overflow at a distance between two rows: k(x, x) is no bound on that."""
    reach, norm = 0.0, 0.0
    for distance in (n for n in statistics(formula) if n.op == "sqdist"):
        both = [side.matrices[distance.value] for side in (x, z)]
        norms = [_largest_norm(both[0])]
        norms.append(norms[0] if both[1] is both[0] else _largest_norm(both[1]))
        norm = max(norm, *norms)
        if 4 * norm <= USUAL and not _grows(formula, dtype, USUAL):
            continue
        if not any(map(is_sparse, both)):  # far from 0 they may be near one another
            both = [rows - both[1].mean(axis=0) for rows in both]
        reach = max(reach, sum(math.sqrt(_largest_norm(rows)) for rows in both) ** 2)
    if not reach:
        return
    limit = float(np.finfo(dtype).max)
    grid = np.append(np.logspace(-12, 0, 60), 0.0) * min(reach, limit)
    if reach > limit or _overflows(formula, grid.astype(dtype), min(norm, limit)):
        raise ValueError(
            f"k overflows: {formula!r:.200} may do so at squared distances of up to {reach:.1g} on "
            f"this data, and {dtype.name} ends at {limit:.1g}. To avoid that, scale the data."
        )


def _largest_norm(rows: Any) -> float:
    with np.errstate(over="ignore"):
        wide = rows.astype(np.float64, copy=False)
        return float(squared_norms(wide).max())


def _check_far(scaled: Formula, distance: Formula, sides: list[Any], dtype: np.dtype) -> None:
    """An error where the distance between two rows may pass the end of the dtype."""
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
            for part in (node, *_products(node, pairs)):
                diagonal = diagonals.get(id(part)) or at_diagonal(part)
                diagonal = simple.get(id(diagonal)) or simplify(diagonal)
                # A constant is checked here, once. The diagonal of a black box may be expensive to
                # compute, or unknown: it is not looked at.
                harmless = diagonal.op == "const" and abs(diagonal.value) < SAFE
                if not harmless and all(s.op != "opaque_diag" for s in statistics(diagonal)):
                    parts.append((part, diagonal))
    return tuple(parts)


def _products(node: Formula, pairs: set[int]) -> Iterator[Formula]:
    """The products on the way to this one that numbers of rows are multiplied with."""
    of_pair = [id(a) in pairs for a in node.args] if node.op == "mul" else []
    for i in range(2, len(of_pair)):
        if of_pair[i - 1] and not of_pair[i]:
            yield Formula("mul", node.args[:i])


def _largest(parts: tuple[tuple[Formula, Formula], ...], side: Operand, name: str) -> list[float]:
    values: dict[Formula, np.ndarray] = {}
    largest = []
    with np.errstate(all="ignore"):
        for _, diagonal in parts:
            for node in statistics(diagonal):
                if node not in values:
                    values[node] = statistic(node, side, name)
            if diagonal not in values:
                values[diagonal] = np.asarray(evaluate(diagonal, values))
            # NaN is reported where the value is used; the part that overflowed is found here.
            end = float(np.abs(values[diagonal]).max())
            largest.append(0.0 if math.isnan(end) else end)
    return largest
