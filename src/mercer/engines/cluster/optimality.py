"""How far the variables of a support vector machine are from optimal: LIBSVM's conditions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from mercer.solvers.quadratic.problem import Quadratic


@dataclass(frozen=True)
class Conditions:
    """How far a is from optimal: the gap of LIBSVM's rule, and the threshold of every group.

    `excess`: −f less its threshold, for every variable; what may grow (`up`) should have none above
    0, what may shrink (`low`) none below.
    """

    gap: float
    centers: list[float]
    excess: np.ndarray
    up: np.ndarray
    low: np.ndarray

    def violations(self) -> Iterator[np.ndarray]:
        """Yield how much each row should grow, then how much it should shrink."""
        for score, allowed in ((self.excess, self.up), (-self.excess, self.low)):
            yield np.where(allowed, score, -np.inf).max(axis=0)


def conditions(
    problem: Quadratic, groups: list[np.ndarray], a: np.ndarray, image: np.ndarray
) -> Conditions:
    """Conditions of a with F = K Σa = `image`; `groups` are the members of the problem's."""
    values = -(image + problem.linear)
    all_up, all_low = a < problem.upper, a > problem.lower
    excess, centers, gap = np.empty(values.shape), [], -np.inf
    for members in groups:
        alone = len(groups) == 1
        up = all_up if alone else all_up & members
        low = all_low if alone else all_low & members
        top = np.where(up, values, -np.inf).max()
        bottom = np.where(low, values, np.inf).min()
        gap = max(gap, top - bottom)
        centers.append(_center(values, up, low))
        np.subtract(values, centers[-1], out=excess, where=members)
    return Conditions(float(gap), centers, excess, all_up, all_low)


def _center(values: np.ndarray, up: np.ndarray, low: np.ndarray) -> float:
    """The mean of −f over the variables that may grow and shrink, else the middle of its bounds."""
    free = values[up & low]
    if len(free):
        return float(free.mean())
    top, bottom = np.where(up, values, -np.inf).max(), np.where(low, values, np.inf).min()
    return _middle(top, bottom)


def _middle(top: float, bottom: float) -> float:
    """The middle of the interval that variables at their bounds leave, or its only end."""
    if np.isfinite(top) and np.isfinite(bottom):
        return float(top + bottom) / 2
    return float(top if np.isfinite(top) else bottom if np.isfinite(bottom) else 0.0)
