"""Many rows: split again and again where f changes most, and a model with its own metric per leaf.

Rows are projected on the leading eigenvector of the average of ∇f ∇fᵀ, f fitted to some of them,
and halved at the median t. Next to t rows belong to both sides, s = ½ + (p − t)/(2h) of each to the
right one, cut off at 0 and 1: f = (1 − s) f_left + s f_right goes over without a jump, and each
side has learned from all rows that it answers for.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from mercer._config import get_config
from mercer._lazy import record
from mercer._progress import progress
from mercer.expansion import KernelExpansion
from mercer.gram.gradients import outer_product
from mercer.kernels.core import Kernel
from mercer.maps.learned.choice import Recipe
from mercer.maps.learned.metric import roots_of, sample
from mercer.maps.learned.rounds import coefficients, kernel_of
from mercer.tuning import EXACT_ROWS

#: The share of rows that belong to both sides of a split.
BORDER = 0.05
#: Rows up to which one factorization of K gives the whole path of λ; of more rows, as many find the
#: λ, and the direction of a split. Eigenvectors of 1500 rows take 0.3 s on one core.
PATH_ROWS = 1500
#: The share of rows that the smaller side of a split should have.
EVEN = 0.25


@record
class Leaves:
    """f of many rows: splits, each with a direction, t and h, and a kernel expansion per leaf.

    `children` has for both sides of a split the index of another one, or −1 − index of a leaf.
    """

    directions: np.ndarray
    thresholds: np.ndarray
    widths: np.ndarray
    children: np.ndarray
    leaves: list[KernelExpansion]

    def __call__(self, Z: np.ndarray) -> np.ndarray:
        return self._at(min(len(self.children), 1) - 1, Z)

    def _at(self, at: int, Z: np.ndarray) -> np.ndarray:
        """What is below a split, or below 0 of a leaf, at every row."""
        if at < 0:
            return np.asarray(self.leaves[-1 - at](Z), dtype=np.float64)
        s = share_right(Z @ self.directions[at], self.thresholds[at], self.widths[at])
        total = np.zeros((len(Z), *self.leaves[0].coef.shape[1:]))
        for side, share in zip(self.children[at], (1.0 - s, s), strict=True):
            rows = np.flatnonzero(share)
            if len(rows):
                total[rows] += (share[rows] * self._at(int(side), Z[rows]).T).T
        return total

    def steepness(self, most: int) -> np.ndarray:
        """The mean of squared slopes along each column, of all leaves at so many rows together."""
        found, most = [], math.ceil(most / len(self.leaves))
        for f in self.leaves:
            some, coef = f.points[sample(len(f), most)], f.coef.reshape(len(f), -1)
            found.append(outer_product(f.kernel, some, f.points, coef, diagonal=True))
        steep: np.ndarray = np.average(found, axis=0, weights=[len(f) for f in self.leaves])
        return steep


def mapped(f: KernelExpansion | Leaves, A: np.ndarray, b: Any) -> Any:
    """A f + b, f of several outputs; a vector A makes a single one of it."""
    if isinstance(f, Leaves):  # the shares of all leaves sum to 1
        return replace(f, leaves=[mapped(one, A, b) for one in f.leaves])
    return KernelExpansion(f.kernel, f.points, f.coef @ A.T, A @ f.intercept + b)


def share_right(p: np.ndarray, t: float, h: float) -> np.ndarray:
    """How much of each projection belongs to the right side of a split.

    >>> share_right(np.array([-1.0, 0.0, 0.5, 2.0]), 0.0, 1.0)
    array([0.  , 0.5 , 0.75, 1.  ])
    """
    return np.clip(0.5 + (p - t) / (2.0 * h), 0.0, 1.0)


def rows_of_leaf(n: int) -> int:
    """Rows of a leaf at most: solving for all leaves takes no longer than for `EXACT_ROWS` rows.

    K and its factor fit into the memory limit. Of no more rows than that no leaves are made.
    """
    most = math.sqrt(EXACT_ROWS**3 / max(n, 1))
    return max(2, min(int(most), math.isqrt(get_config().memory_bytes // 16)))


def grown(
    recipe: Recipe, kernel: Kernel, penalty: float, Z: np.ndarray, Y: np.ndarray, w: np.ndarray
) -> Leaves:
    """Splits by `kernel`, the metric of all rows; leaves by the rounds and shapes of `recipe`."""
    most, shape = rows_of_leaf(len(Z)), recipe.shapes[-1]
    splits: list[tuple[np.ndarray, float, float]] = []
    children: list[list[int]] = []
    leaves: list[KernelExpansion] = []

    def leaf(rows: np.ndarray) -> int:
        # From the beginning: what the metric of all rows does not see would stay unseen.
        own = Z[rows], Y[rows], w[rows]
        roots = roots_of(
            recipe, own[0], own[1] - np.average(own[1], axis=0, weights=own[2]), own[2]
        )
        kernel = kernel_of(shape, roots[-1] if roots else None, own[0])
        leaves.append(_fitted(kernel, *own, penalty))
        bar.advance()
        return -len(leaves)

    def grow(rows: np.ndarray) -> int:
        """The index of the split or, below 0, of the leaf of these rows."""
        if len(rows) <= most:
            return leaf(rows)
        some = rows[sample(len(rows), PATH_ROWS)]
        f = _fitted(kernel, Z[some], Y[some], w[some], penalty)
        direction = _direction(outer_product(kernel, f.points, f.points, f.coef, w[some]), f.points)
        p = Z[rows] @ direction
        t, even = middle(p)
        if not even:  # all are alike: some of them will do
            return leaf(rows[:most])
        h = max(float(np.quantile(np.abs(p - t), BORDER)), np.finfo(float).tiny)
        at, s = len(splits), share_right(p, t, h)
        splits.append((direction, t, h))
        children.append([])
        children[at] += [grow(rows[s < 1]), grow(rows[s > 0])]
        return at

    with progress("leaves", math.ceil(len(Z) / most)) as bar:
        grow(np.arange(len(Z)))
    directions, thresholds, widths = (np.array([s[i] for s in splits]) for i in range(3))
    return Leaves(directions, thresholds, widths, np.array(children, dtype=int), leaves)


def _fitted(
    kernel: Kernel, Z: np.ndarray, Y: np.ndarray, w: np.ndarray, penalty: float
) -> KernelExpansion:
    """Least squares, with the means of the targets as intercepts."""
    mean = np.average(Y, axis=0, weights=w)
    return KernelExpansion(kernel, Z, coefficients(kernel, Z, Y - mean, w, penalty), mean)


def _direction(G: np.ndarray, Z: np.ndarray) -> np.ndarray:
    """The first eigenvector of G that splits rows about evenly, or the one that does it best."""
    vectors = np.linalg.eigh(G)[1][:, ::-1]
    evenness = [min(middle(p)[1], EVEN) for p in (Z @ vectors).T]
    found: np.ndarray = vectors[:, int(np.argmax(evenness))]
    return found


def middle(p: np.ndarray) -> tuple[float, float]:
    """A number between two different ones next to the median, and the share of the smaller side.

    >>> middle(np.array([3.0, 1.0, 1.0, 1.0])), middle(np.ones(4))
    ((2.0, 0.25), (1.0, 0.0))
    """
    p = np.sort(p)
    steps = np.flatnonzero(p[1:] > p[:-1]) + 1
    if not len(steps):
        return float(p[0]), 0.0
    at = int(steps[np.abs(steps - len(p) / 2).argmin()])
    return float(0.5 * (p[at - 1] + p[at])), min(at, len(p) - at) / len(p)
