"""What to give up when a predictor may keep at most B points: four policies.

"oldest" forgets the point that came first, "random" any one. "project" keeps the first B and writes
every later φ(x) as its projection on their span. "merge" (Gaussian kernels on vectors) replaces two
points by one on the line between them, where the least of f is lost.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from typing import Any

import numpy as np

POLICIES = ("oldest", "random", "project", "merge")
#: Points whose distance to the span of the others is below this are not independent of them.
INDEPENDENT = 1e-8


@dataclass
class Store:
    """At most `budget` points with their weights; what a stream carries from call to call."""

    budget: int
    outputs: int
    policy: str
    points: list[Any] = field(default_factory=list)
    names: list[int] = field(default_factory=list)  # which example of the stream; −1: of none
    weights: np.ndarray = field(init=False)
    late: np.ndarray = field(init=False)  # Σ (t − 1) u, for the average
    factor: np.ndarray = field(init=False)  # Cholesky factor of K between the points
    _turn: int = 0

    def __post_init__(self) -> None:
        self.weights = np.zeros((self.budget, self.outputs))
        self.late = np.zeros((self.budget, self.outputs))
        size = self.budget if self.policy == "project" else 0
        self.factor = np.zeros((size, size))

    def __len__(self) -> int:
        return len(self.points)

    @property
    def full(self) -> bool:
        return len(self.points) >= self.budget

    def copy(self) -> Store:
        other = copy.copy(self)
        other.points, other.names = list(self.points), list(self.names)
        other.weights, other.late = self.weights.copy(), self.late.copy()
        other.factor = self.factor.copy()
        return other

    def victim(self, random: Any) -> int:
        """The slot of the point that goes, where one goes."""
        if self.policy == "random":
            return int(random.randint(self.budget))
        # Slots are filled in order and replaced in order: the oldest is next in turn.
        slot, self._turn = self._turn, (self._turn + 1) % self.budget
        return slot

    def put(self, slot: int, point: Any, name: int, weights: np.ndarray, time: int) -> None:
        """A new point in a slot, in place of the one that was there."""
        if slot == len(self.points):
            self.points.append(point)
            self.names.append(name)
        else:
            self.points[slot], self.names[slot] = point, name
        self.weights[slot] = weights
        self.late[slot] = weights * (time - 1)

    def add(self, coordinates: Any, weights: np.ndarray, time: int) -> None:
        """f ← f + u Σⱼ cⱼ k(xⱼ, ·)."""
        change = np.multiply.outer(coordinates, weights)
        self.weights[: len(change)] += change
        self.late[: len(change)] += change * (time - 1)

    # --- project ----------------------------------------------------------------------------

    def project(self, k: np.ndarray, own: float) -> np.ndarray | None:
        """Coordinates of φ(x) on the span of the points, from k(x, points) and k(x, x).

        None, and the span grows by x, where there is room and x is independent of the points.
        """
        from scipy.linalg import solve_triangular

        n = len(self.points)
        L = self.factor[:n, :n]
        half = solve_triangular(L, k, lower=True, check_finite=False) if n else np.zeros(0)
        rest = own - float(half @ half)
        if not self.full and rest > INDEPENDENT * own:
            self.factor[n, :n] = half
            self.factor[n, n] = np.sqrt(rest)
            return None
        return np.asarray(solve_triangular(L.T, half, lower=False, check_finite=False))


def merged(weights: np.ndarray, m: int, log: np.ndarray) -> tuple[int, float, np.ndarray]:
    """The partner n of point m, h, and the weights of z = h xₘ + (1 − h) xₙ that lose the least.

    `log` is ln k(xₘ, ·). For a Gaussian, k(xₘ, z) = κ^((1−h)²) and k(xₙ, z) = κ^(h²) with
    κ = k(xₘ, xₙ); the best weights of z are αₘκ^((1−h)²) + αₙκ^(h²), and what is lost is
    ‖αₘφₘ + αₙφₙ − α_zφ_z‖².
    """
    own = weights[m]
    h = np.linspace(0.0, 1.0, 17)
    lost = _lost(own, weights, log, h)
    lost[m] = np.inf
    n, at = divmod(int(np.argmin(lost)), len(h))
    for _ in range(4):  # ever finer grids between the neighbours of the best
        h = np.linspace(h[max(at - 1, 0)], h[min(at + 1, len(h) - 1)], 17)
        at = int(np.argmin(_lost(own, weights[n : n + 1], log[n : n + 1], h)))
    best = float(h[at])
    z = own * np.exp(log[n] * (1 - best) ** 2) + weights[n] * np.exp(log[n] * best**2)
    return n, best, z


def _lost(own: np.ndarray, others: np.ndarray, log: np.ndarray, h: np.ndarray) -> np.ndarray:
    """‖αₘφₘ + αₙφₙ‖² − ‖α_z‖² for every other point and every h."""
    to_m = np.exp(log[:, None] * (1 - h) ** 2)
    to_n = np.exp(log[:, None] * h**2)
    mm, nn, mn = own @ own, np.einsum("ij,ij->i", others, others), others @ own
    both = mm + nn + 2 * np.exp(log) * mn
    kept = mm * to_m**2 + nn[:, None] * to_n**2 + 2 * mn[:, None] * to_m * to_n
    return np.asarray(both[:, None] - kept)
