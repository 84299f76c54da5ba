"""Exact Shapley values of f(x) = Σᵢ αᵢ k(xᵢ, x) + b where k is a sum of products over columns.

Three readings say what it means that the columns outside S are not known:

interventional  v(S) = mean over background rows b of f(x_S, b_rest)
independent     the same, with each column drawn by itself: every factor is averaged alone
removed         v(S) = Σᵢ αᵢ k_S(xᵢ, x) + b, k on the columns of S alone

The observational reading, E[f(X) | X_S = x_S], needs conditional distributions that a model does
not have; it is not computed here.
"""

from __future__ import annotations

from functools import lru_cache, partial
from typing import Any

import numpy as np

from mercer._config import get_config
from mercer._examples import count, take
from mercer._machine.jit import compiles
from mercer._machine.threads import threads_for
from mercer._tiles import Scratch, Tiling, cut, sweep
from mercer.expansion import KernelExpansion
from mercer.formula import Formula, evaluate, statistics
from mercer.formula.nodes import ROOT, is_column_product
from mercer.gram import HOST, Engine
from mercer.reasons.factors import NotFactored, Parts, factored

# --- Shapley values of products: what each factor adds to Πⱼ uⱼ, from all bⱼ to all aⱼ ------------
# In the game v(S) = Π_{j∈S} aⱼ Π_{j∉S} bⱼ the value of j is
#
#     φⱼ = ∫₀¹ (aⱼ − bⱼ) Π_{i≠j} (t aᵢ + (1 − t) bᵢ) dt,
#
# the mean over all orders in which the factors change. The integrand is a polynomial of degree d
# − 1, so Gauss and Legendre's rule with d/2 nodes has no error but rounding. Fewer nodes do where
# aⱼ and bⱼ are close: on an ellipse around [0, 1] with half axes summing to ρ the product is at
# most Πⱼ max(|aⱼ|, |bⱼ|) e^(R(ρ + 1/ρ)/2), R = Σⱼ |aⱼ − bⱼ| / (2 max(|aⱼ|, |bⱼ|)), and the error
# of n nodes at most (32/15) ρ⁻²ⁿ/(1 − ρ⁻²) of that (Trefethen 2008, theorem 4.5). As many nodes
# are taken as make this less than `ROUNDING`.


#: The error of a rule, beside the largest product that the columns can make.
ROUNDING = 1e-14
#: Numbers of nodes that rules are made for, until one is exact.
SIZES = (2, 4, 6, 8, 10, 12, 14, 16, 20, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512)


@lru_cache(maxsize=64)
def rules(factors: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Even numbers of nodes, the largest R that each serves, and their nodes and weights in rows.

    >>> rules(7)[0]
    array([2, 4])
    """
    exact = 2 * -(-factors // 4)
    sizes = np.array([n for n in SIZES if n < exact] + [exact])
    rho = np.geomspace(1.01, 1e4, 500)
    room = 2 * sizes[:, None] * np.log(rho) + np.log(ROUNDING * 15 / 32 * (1 - rho**-2.0))
    reach = (room / ((rho + 1 / rho) / 2)).max(axis=1)
    reach[-1] = np.inf
    nodes, weights = np.zeros((2, len(sizes), exact))
    for i, n in enumerate(sizes):
        x, w = np.polynomial.legendre.leggauss(n)
        nodes[i, :n], weights[i, :n] = (1 + x) / 2, w / 2
    return sizes, reach, nodes, weights


#: What the columns outside S are, by the name of a reading.
READINGS = ("interventional", "independent", "removed")
#: The share of the memory limit for the factors of some rows and points, the points that should
#: fit beside the rows, and rows that a thread takes.
ROOM, POINTS, HEIGHT = 0.25, 64, 16
#: Copies of a factor while its games are played.
FACTOR_COPIES = 4


def exact_values(
    f: KernelExpansion, X: Any, background: Any, parts: Parts, reading: str, engine: Engine = HOST
) -> tuple[np.ndarray, np.ndarray]:
    """φ of shape (rows, parts, outputs), and v(∅) per output without the intercept.

    f has a column of coefficients per output. The time is that of rows · points · backgrounds ·
    factors · nodes. `engine` computes the factors, and plays the games where it knows how.
    """
    many = partial(_many, play=engine.solver("games"))
    terms = factored(f.kernel.lower(ROOT), parts)
    factors = list(dict.fromkeys(pair for product in terms for pair in product))
    room = int(ROOM * get_config().memory_bytes) // (8 * FACTOR_COPIES * max(1, len(factors)))
    height = max(1, min(count(X), room // POINTS))
    values = np.zeros((count(X), max(parts.owner) + 1, f.coef.shape[1]))
    for rows in cut(0, count(X), height):
        base = np.zeros(f.coef.shape[1])  # the same for all rows
        for some in cut(0, len(f), max(1, room // (height + count(background) + 8))):
            points = take(f.points, some)
            A = _evaluated(factors, take(X, rows), points, engine)
            B = _background(factors, background, points, reading, engine)
            for product, scale in terms.items():
                own = [factors.index(pair) for pair in product]
                coef = scale * f.coef[some]
                base += B[own].prod(axis=0).mean(axis=0) @ coef
                if own:
                    games = _few if len(own) <= 2 else many
                    values[rows, [part for part, _ in product]] += games(A[own], B[own], coef)
    return values, base


def _evaluated(
    factors: list[tuple[int, Formula]], X: Any, points: Any, engine: Engine
) -> np.ndarray:
    """Every factor of all rows with all points: (factors, rows, points)."""
    made = np.empty((len(factors), count(X), count(points)))
    for out, (_, factor) in zip(made, factors, strict=True):
        out[...] = engine.make(factor, X, points).dense()
    return made


def _background(
    factors: list[tuple[int, Formula]], rows: Any, points: Any, reading: str, engine: Engine
) -> np.ndarray:
    """What stands for the factors of the columns outside S: (factors, backgrounds, points)."""
    if reading == "removed":
        own = np.array([_without(factor) for _, factor in factors]).reshape(-1, 1, 1)
        return np.repeat(own, count(points), axis=2)
    made = _evaluated(factors, rows, points, engine)
    return made.mean(axis=1, keepdims=True) if reading == "independent" else made


def _without(factor: Formula) -> float:
    """A factor of no columns: sums over none of them are 0, products 1."""
    empty = {}
    for node in statistics(factor):
        how = node.value[0] if node.op == "reduce" else node.op
        if how in ("linf", "max", "opaque", "opaque_diag", "rowfn"):
            raise NotFactored(f"{how} of no columns means nothing, as reading='removed' would need")
        empty[node] = float(is_column_product(node))
    return float(evaluate(factor, empty))


def _few(A: np.ndarray, B: np.ndarray, coef: np.ndarray) -> np.ndarray:
    """Of one factor a − b; of two ½(a₁ − b₁)(a₂ + b₂), multiplied out before the mean over b."""
    mean = B.mean(axis=1)
    if len(A) == 1:
        return ((A - mean[:, None]) @ coef).swapaxes(0, 1)
    both, other = A[0] * A[1] - (B[0] * B[1]).mean(axis=0), A[0] * mean[1] - A[1] * mean[0]
    return 0.5 * np.stack([(both + other) @ coef, (both - other) @ coef], axis=1)


def _many(A: np.ndarray, B: np.ndarray, coef: np.ndarray, play: Any = None) -> np.ndarray:
    """By quadrature, some rows per thread: the values do not depend on the threads.

    `play` is what an engine has for it.
    """
    d, backgrounds = len(A), B.shape[1]
    if play is not None:
        return np.asarray(play(A, B, coef, *(rows[-1] for rows in rules(d)[2:])))
    if not compiles():
        return _in_numpy(A, B, coef, np.zeros((A.shape[1], d, coef.shape[1])))
    from mercer.reasons.games import LANES, LEAST_FACTOR, product_games

    A, B = (np.concatenate([own, np.ones_like(own[: d % 2])]) for own in (A, B))  # an even number
    out = np.zeros((A.shape[1], len(A), coef.shape[1]))
    blocks = -(-backgrounds // LANES)
    weight = np.zeros((blocks, LANES))
    weight.flat[:backgrounds] = 1.0 / backgrounds
    index = np.resize(np.arange(backgrounds), (blocks, LANES))  # what fills the last weighs nothing
    wide = np.ascontiguousarray(B.transpose(2, 1, 0)[:, index].swapaxes(2, 3))
    inverses = 1.0 / np.maximum(np.abs(wide), LEAST_FACTOR)
    rows, rule = np.ascontiguousarray(A.transpose(1, 2, 0)), rules(d)

    def body(some: slice, columns: slice, scratch: Scratch) -> None:
        product_games(rows[some], wide, inverses, weight, coef, rule, out[some])

    threads = threads_for(4.0 * d * len(rule[2][0]) * A.size * backgrounds)
    sweep(Tiling((len(out), 1), (HEIGHT, 1), threads), body, "reasons")
    return out[:, :d]


def _in_numpy(A: np.ndarray, B: np.ndarray, coef: np.ndarray, out: np.ndarray) -> np.ndarray:
    """The same without compiled loops, by the rule that is exact."""
    d = len(A)
    for a, b, own in zip(A.T, B.T, coef, strict=True):
        gap = a[:, None] - b[None]
        for t, w in zip(*(rows[-1] for rows in rules(d)[2:]), strict=True):
            u = b[None] + t * gap
            ones = np.ones_like(u[..., :1])
            before = np.cumprod(np.concatenate([ones, u[..., :-1]], axis=2), axis=2)
            after = np.cumprod(np.concatenate([ones, u[..., :0:-1]], axis=2), axis=2)[..., ::-1]
            out += np.multiply.outer((w * gap * before * after).mean(axis=1), own)
    return out
