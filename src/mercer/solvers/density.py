"""k as a density of u = x − z: the logarithm of ∫ k(u) du over D columns, and draws from it.

Two kinds of kernels have such an integral in closed form up to one integral on the line: functions
of one distance, for which ∫ k = (surface of the unit sphere in that norm) ∫ k(r) r^(D−1) dr, and
products over columns of one function, for which it is (∫ g(d) dd)^D. The integral on the line is by
Gauss and Legendre where k ends (k is a polynomial there, mostly), and else by the trapezoid rule
in log r, which has all digits for functions that are smooth in it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from mercer._lazy import record
from mercer._progress import progress
from mercer.formula import Formula, evaluate, simplify
from mercer.formula.inputs import Scale
from mercer.formula.nodes import Input, statistics
from mercer.formula.profile import DISTANCES, is_stationary, reach
from mercer.kernels import Kernel
from mercer.solvers.local.bandwidth import COARSE, line_search
from mercer.solvers.local.means import gather_relative, own_terms
from mercer.solvers.local.weights import Weights
from mercer.tuning import EXACT_ROWS

# --- log p(x) from sums of weights, and the bandwidth by leave-one-out likelihood -----------------
# Sums that would underflow are made relative to their largest weight, so that log p is right
# however far x is from all examples; where a compact kernel is 0, it is −∞.


#: log p of the examples `rows`, each from all the others, at bandwidth h.
LeftOut = Callable[[Any, np.ndarray], np.ndarray]


def log_sums(weights: Weights, v: np.ndarray) -> np.ndarray:
    """log Σⱼ vⱼ w(x, xⱼ) for each query.

    >>> from mercer import Gaussian
    >>> W = Weights(Gaussian().formula(), np.array([[0.0], [100.0]]), np.array([[0.0]]))
    >>> log_sums(W, np.ones(1))
    array([    0., -5000.])
    """
    V = v[:, None]
    sums, shift, _ = gather_relative(weights, lambda w: w.product(V), own_terms(weights, V))
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(np.maximum(sums[:, 0], 0.0)) + shift * math.log(2.0))


@record
class Likeliest:
    """The bandwidth, its mean leave-one-out log-likelihood, and every (h, value) tried."""

    bandwidth: float
    value: float
    tried: tuple[tuple[float, float], ...]


def likeliest_bandwidth(
    left_out: LeftOut, v: np.ndarray, start: float, among: Sequence[float] | None = None
) -> Likeliest:
    """The h of the largest mean log p of examples left out; of those `among` which it may be.

    Beyond 1500 examples, that many of them, drawn with a fixed seed, find the few h that the others
    (20 000 at most) choose from: those that may still be the best, by five standard errors.
    """
    shuffled = np.random.default_rng(0).permutation(len(v))
    few, many = np.sort(shuffled[:COARSE]), np.sort(shuffled[:EXACT_ROWS])
    tried: list[tuple[float, float]] = []
    with progress("bandwidth", None if among is None else len(among)) as bar:

        def each(h: float, rows: np.ndarray) -> np.ndarray:
            logs = left_out(h, rows)
            tried.append((float(h), float(v[rows] @ logs / v[rows].sum())))
            bar.advance(note=f"h = {h:.4g}")
            return logs

        def loss_on(rows: np.ndarray) -> Callable[[float], float]:
            return lambda h: -float(v[rows] @ each(h, rows) / v[rows].sum())

        if among is None:
            h, loss = line_search(loss_on(few), loss_on(many), 1.0, start)
        else:
            if len(many) > len(few):
                among = _in_the_running(among, np.array([each(h, few) for h in among]), v[few])
            loss, h = min((loss_on(many)(one), one) for one in among)
    return Likeliest(float(h), -loss, tuple(tried))


def _in_the_running(among: Sequence[float], logs: np.ndarray, v: np.ndarray) -> list[float]:
    """Which bandwidths may be the best of all, from log p of some examples, a row for each."""
    share = v / v.sum()
    means = logs @ share
    with np.errstate(invalid="ignore"):
        gaps = logs[int(np.argmax(means))] - logs  # of −∞ on both sides nothing is known
        error = np.sqrt(np.square(gaps - (gaps @ share)[:, None]) @ np.square(share))
        behind = (gaps @ share > 5.0 * error + 1e-12) | ~np.isfinite(means)
    return [h for h, out in zip(among, behind, strict=True) if not out] or list(among)


#: Nodes of Gauss and Legendre, on each side of zero for a product over columns.
RADIAL_NODES = 200
#: Steps of the trapezoid rule in log r, and its ends. Beyond, k must be too small to count.
LOG_STEP, ENDS = 1 / 64, (-60.0, 60.0)
#: The share of the largest term at which an integral counts as ended.
ENDED = 1e-12


@dataclass(frozen=True, eq=False)
class Shape:
    """`log_mass` = log ∫k, and `draw(n, random)`, n points u with density k(u)/∫k."""

    log_mass: float
    draw: Callable[[int, np.random.RandomState], np.ndarray]


@lru_cache(maxsize=256)
def shape_of(kernel: Kernel, columns: int) -> Shape:
    """The density that k is over so many columns; an error that says why where it is none.

    >>> from mercer import Gaussian
    >>> round(shape_of(Gaussian(), 1).log_mass - 0.5 * math.log(2 * math.pi), 12)
    0.0
    """
    if kernel.is_opaque or not kernel.stationary():
        raise ValueError(
            f"{kernel!r} is not a function of x − z, so it has no integral that would make a "
            "density of it: use gaussian(), laplacian(), epanechnikov() or another such kernel"
        )
    formula = simplify(kernel.formula())
    found = statistics(formula)
    if len(found) == 1 and found[0].op in DISTANCES:
        return _of_distance(kernel, formula, found[0], columns)
    if formula.op == "reduce" and formula.value[0] == "prod" and is_stationary(formula):
        return _of_product(kernel, formula, columns)
    raise ValueError(
        f"the integral of {kernel!r} is not known: a density takes a function of one distance, or "
        "a product over columns of one function"
    )


def _of_distance(kernel: Kernel, formula: Formula, distance: Formula, columns: int) -> Shape:
    lengths = _lengths(kernel, distance.value, columns)
    square = distance.op == "sqdist"

    def profile(r: np.ndarray) -> np.ndarray:
        with np.errstate(all="ignore"):
            values = evaluate(formula, {distance: r * r if square else r})
        return np.broadcast_to(np.asarray(values, dtype=float), r.shape)

    end = reach(formula)
    r, log_share = _radial(kernel, profile, columns, None if end is None else end.radius)
    surface, direction = _SPHERES[distance.op]
    log_mass = _log_sum(log_share) + surface(columns) + float(np.log(lengths).sum())

    def draw(n: int, random: np.random.RandomState) -> np.ndarray:
        radius = _drawn(r, log_share, n, random)
        return np.asarray(direction(n, columns, random) * radius[:, None] * lengths)

    return Shape(log_mass, draw)


def _of_product(kernel: Kernel, formula: Formula, columns: int) -> Shape:
    lengths = _lengths(kernel, formula.value[1], columns)
    inside = [n for n in formula.args[0].walk() if n.op == "coord"]

    def profile(r: np.ndarray) -> np.ndarray:
        with np.errstate(all="ignore"):
            known = {node: r if node.value == "x" else 0.0 * r for node in inside}
            values = evaluate(formula.args[0], known)
        return np.broadcast_to(np.asarray(values, dtype=float), r.shape)

    end = reach(formula)
    # Even in its argument, as k is symmetric: half of it is on either side.
    r, log_share = _radial(kernel, profile, 1, None if end is None else end.radius)
    log_one = _log_sum(log_share) + math.log(2.0)

    def draw(n: int, random: np.random.RandomState) -> np.ndarray:
        radius = _drawn(r, log_share, n * columns, random).reshape(n, columns)
        return np.asarray(random.choice([-1.0, 1.0], (n, columns)) * radius * lengths)

    return Shape(columns * log_one + float(np.log(lengths).sum()), draw)


def _lengths(kernel: Kernel, rows: Input, columns: int) -> np.ndarray:
    """What each column is divided by before distances are taken."""
    lengths = np.ones(columns)
    for step in rows.steps:
        if not isinstance(step, Scale):
            raise ValueError(
                f"{kernel!r} does not see the columns one by one, so its integral over all of them "
                "is not known: choose columns in the data instead, X[:, [...]]"
            )
        lengths = lengths * step.lengths.array
    return lengths


def _radial(
    kernel: Kernel, profile: Callable[[np.ndarray], np.ndarray], columns: int, end: float | None
) -> tuple[np.ndarray, np.ndarray]:
    """Nodes r and the logarithms of their shares in ∫ k(r) r^(D−1) dr."""
    if end is None:
        t = np.arange(*ENDS, LOG_STEP)
        r, weights = np.exp(t), LOG_STEP * np.exp(t)
    else:
        nodes, weights = np.polynomial.legendre.leggauss(RADIAL_NODES)
        r, weights = 0.5 * end * (nodes + 1.0), 0.5 * end * weights
    values = profile(r)
    if values.min() < -1e-12 * np.abs(values).max():
        raise ValueError(
            f"{kernel!r} takes negative values, and a density does not: use gaussian(), "
            "laplacian(), epanechnikov() or another kernel with k(x, z) ≥ 0"
        )
    with np.errstate(divide="ignore"):
        log_share = np.log(np.maximum(values, 0.0)) + (columns - 1) * np.log(r) + np.log(weights)
    if end is not None:
        return r, log_share
    top = log_share.max()
    if not np.isfinite(top) or max(log_share[0], log_share[-1]) > top + math.log(ENDED):
        raise ValueError(
            f"{kernel!r} has no finite integral over {columns} columns: its tails are too heavy "
            "for a density"
        )
    return r, log_share


def _log_sum(values: np.ndarray) -> float:
    top = float(values.max())
    return top + math.log(float(np.exp(values - top).sum()))


def _drawn(
    r: np.ndarray, log_share: np.ndarray, n: int, random: np.random.RandomState
) -> np.ndarray:
    """n draws of r: the inverse of its distribution, straight between nodes."""
    share = np.exp(log_share - log_share.max())
    below = np.concatenate([[0.0], np.cumsum(share)])
    # A node stands for what is around it: the distribution is known half way between nodes.
    edges = np.concatenate([[0.0], 0.5 * (r[1:] + r[:-1]), [2 * r[-1] - 0.5 * (r[-1] + r[-2])]])
    return np.interp(random.random_sample(n) * below[-1], below, edges)


# --- spheres ---------------------------------------------------------------------------------


def _round(n: int, columns: int, random: np.random.RandomState) -> np.ndarray:
    """Directions of length 1."""
    u = random.normal(size=(n, columns))
    return np.asarray(u / np.linalg.norm(u, axis=1, keepdims=True))


def _diamond(n: int, columns: int, random: np.random.RandomState) -> np.ndarray:
    """Points with Σ|uⱼ| = 1, evenly."""
    u = random.exponential(size=(n, columns)) * random.choice([-1.0, 1.0], (n, columns))
    return np.asarray(u / np.abs(u).sum(axis=1, keepdims=True))


def _cube(n: int, columns: int, random: np.random.RandomState) -> np.ndarray:
    """Points with max |uⱼ| = 1, evenly."""
    u = random.uniform(-1.0, 1.0, (n, columns))
    at = random.randint(columns, size=n)
    u[np.arange(n), at] = random.choice([-1.0, 1.0], n)
    return u


#: The logarithm of the surface that r^(D−1) is multiplied by, and points on it, by distance.
_SPHERES: dict[
    str,
    tuple[Callable[[int], float], Callable[[int, int, np.random.RandomState], np.ndarray]],
] = {
    "sqdist": (
        lambda d: math.log(2.0) + 0.5 * d * math.log(math.pi) - math.lgamma(0.5 * d),
        _round,
    ),
    "l1": (lambda d: d * math.log(2.0) - math.lgamma(d), _diamond),
    "linf": (lambda d: d * math.log(2.0) + math.log(d), _cube),
}
