"""The perceptron on a budget: at most B points, so an example costs B kernel values, for ever.

What to give up when a predictor may keep at most B points is one of four policies: "oldest" forgets
the point that came first, "random" any one. "project" keeps the first B and writes every later φ(x)
as its projection on their span. "merge" (Gaussian kernels on vectors) replaces two points by one on
the line between them, where the least of f is lost.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mercer._examples import joined
from mercer._machine.jit import with_callees
from mercer._machine.threads import single_threaded_blas
from mercer.gram import Gram, diagonal, host_gram
from mercer.solvers.online.rule import RULE, HostWalker, Rule, Sizes, next_update, norms
from mercer.tuning import INDEPENDENT_SHARE, LEAF_ROWS, PLAIN_STEPS

POLICIES = ("oldest", "random", "project", "merge")


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
        if not self.full and rest > INDEPENDENT_SHARE * own:
            self.factor[n, :n] = half
            self.factor[n, n] = np.sqrt(rest)
            return None
        return np.asarray(solve_triangular(L.T, half, lower=False, check_finite=False))


class BudgetPerceptron(HostWalker):
    """Visits the examples of a square Gram in blocks; its points are copies, and outlive them.

    `offset` is the number in the stream of the first example. The `journal` is of this call
    only, so that an endless stream keeps no more than its `store`.
    """

    def __init__(
        self,
        gram: Gram,
        labels: np.ndarray,
        rule: Rule,
        store: Store,
        *,
        random: Any,
        offset: int = 0,
        bias_late: np.ndarray | None = None,
        block: int = LEAF_ROWS,
        **state: Any,
    ) -> None:
        super().__init__(labels, rule, **state)
        self.gram, self.store = gram, store
        self.kernel: Any = gram.kernel
        self.bias_late = np.zeros(rule.outputs) if bias_late is None else np.array(bias_late)
        self._random, self._offset, self._block = random, offset, block
        self._own = self.gram.diagonal() if store.policy == "project" else np.empty(0)
        self._sizes = Sizes(gram, rule, self.journal, (), self.bias)
        # ln k between all points and one more, which "merge" looks for partners in.
        side = store.budget + 1 if store.policy == "merge" else 0
        self._table = np.zeros((side, side))
        self._slots = {name: i for i, name in enumerate(store.names) if name >= 0}

    def walk(self, order: np.ndarray | slice, allowed: float = np.inf) -> None:
        """Visit these examples in this order, and update on mistakes."""
        positions = np.arange(order.stop) if isinstance(order, slice) else order
        large = len(positions) * self.rule.outputs >= PLAIN_STEPS
        self._next_update = with_callees(next_update, RULE[:-1]) if large else next_update
        with single_threaded_blas():
            for start in range(0, len(positions), self._block):
                if self.tally.updates < allowed:
                    self._visit(positions[start : start + self._block], allowed)

    def _visit(self, rows: np.ndarray, allowed: float) -> None:
        """A block of examples in their order; K between them and the points is kept up to date."""
        rule, store, tally = self.rule, self.store, self.tally
        here = self.gram.points(rows)
        K = np.zeros((len(rows), store.budget + 1), dtype=self.gram.dtype)
        n = len(store)
        scores = np.zeros((len(rows), rule.outputs))
        if n:
            points = joined(store.points)
            K[:, :n] = host_gram(self.kernel, here, points).dense()
            if store.policy == "merge":
                self._table[:n, :n] = _log(host_gram(self.kernel, points).dense())
            scores += K[:, :n] @ store.weights[:n].astype(K.dtype)
        sizes = np.abs(self.bias) + self._sizes_of(K[:, :n], rows)
        self.gram.prepare_tiles()
        panel = self.gram.take(rows=rows)
        units, loss, at = np.zeros(rule.outputs), np.zeros(1), 0
        labels = self.labels[rows]
        while True:
            loss[0] = 0.0
            found = self._next_update(scores, sizes, True, labels, at, len(rows), self.bias,
                                      *rule.numbers, units, loss)  # fmt: skip
            tally.loss += float(loss[0])
            tally.visits += min(found + 1, len(rows)) - at
            if found == len(rows):
                return
            tally.updates += rule.cut(units, allowed - tally.updates)
            position, at = int(rows[found]), found + 1
            units *= self.weights[position]
            self.journal.extend(rows[found : found + 1], tally.visits, units)
            if rule.bias:
                self.bias += rule.rate * units
                self.bias_late += rule.rate * units * (tally.visits - 1)
                sizes += np.abs(rule.rate * units)
            later = slice(at, len(rows))

            def column(later: slice = later, position: int = position) -> np.ndarray:
                last = panel.take(columns=slice(position, position + 1))
                return np.asarray(last.tile(later, slice(0, 1))[:, 0])

            before, weights = scores[later].copy(), rule.rate * units
            self._update(position, weights, K, K[found], scores, later, column)
            change = np.abs(scores[later] - before)
            if self._sizes.final:
                change = np.multiply.outer(self._sizes.terms(rows[later], position), abs(weights))
            sizes[later] += change
            if tally.updates >= allowed:
                return

    def _sizes_of(self, K: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """The sizes of the sums over the points, as `rounding_bounds` defines them."""
        weights = np.abs(self.store.weights[: K.shape[1]])
        if not self._sizes.final or not len(weights):
            return np.asarray(np.abs(K) @ weights)
        own = diagonal(self.kernel, joined(self.store.points))
        return np.multiply.outer(self._sizes.norms[rows], norms(own) @ weights)

    def _update(
        self, position: int, weights: np.ndarray, K: np.ndarray, own: np.ndarray,
        scores: np.ndarray, later: slice, column: Any,
    ) -> None:  # fmt: skip
        """Put an update into the store, and what it changes into the scores of later rows."""
        store, time, n = self.store, self.tally.visits, len(self.store)
        name = self._offset + position
        slot = self._slots.get(name)
        if slot is not None:
            store.add(np.eye(1, n, slot)[0], weights, time)
            scores[later] += np.multiply.outer(K[later, slot], weights)
            return
        if store.policy == "project":
            k = own[:n].astype(np.float64)
            coordinates = store.project(k, float(self._own[position]))
            if coordinates is not None:
                store.add(coordinates, weights, time)
                scores[later] += np.multiply.outer(K[later, :n] @ coordinates, weights)
                return
        k_new = column()
        scores[later] += np.multiply.outer(k_new, weights)
        if store.full and store.policy == "merge":
            K[later, store.budget] = k_new
            self._merge(position, weights, K, own, scores, later)
            return
        slot = n if not store.full else store.victim(self._random)
        if slot < n:
            scores[later] -= np.multiply.outer(K[later, slot], store.weights[slot])
            self._slots.pop(store.names[slot], None)
        if store.policy == "merge":
            self._table[slot, :n] = self._table[:n, slot] = _log(own[:n])
        K[later, slot] = k_new
        store.put(slot, self._point(position), name, weights, time)
        self._slots[name] = slot

    def _point(self, position: int) -> Any:
        if self.kernel.takes_matrix:
            return np.array([position])
        # A copy: a view would keep all of X alive for as long as the point.
        return self.gram.points(slice(position, position + 1)).copy()

    def _merge(
        self,
        position: int,
        weights: np.ndarray,
        K: np.ndarray,
        own: np.ndarray,
        scores: np.ndarray,
        later: slice,
    ) -> None:
        """Of the B + 1 points, the one with the least weight becomes one with its best partner.

        All of k(·, z) follows from k(·, xₘ) and k(·, xₙ), because z lies on their line:
        ‖x − z‖² = h‖x − xₘ‖² + (1 − h)‖x − xₙ‖² − h(1 − h)‖xₘ − xₙ‖².
        """
        store, B = self.store, self.store.budget
        table = self._table
        table[B, :B] = table[:B, B] = _log(own[:B])
        points = [*store.points, self._point(position)]
        names = [*store.names, self._offset + position]
        all_weights = np.vstack([store.weights, weights])
        m = int(np.argmin(np.einsum("ij,ij->i", all_weights, all_weights)))
        n, h, z_weights = merged(all_weights, m, table[m])
        z = (h * points[m] + (1 - h) * points[n]).astype(points[m].dtype)
        bend = h * (1 - h) * table[m, n]
        row = h * table[m] + (1 - h) * table[n] - bend
        k_z = np.exp(h * _log(K[later, m]) + (1 - h) * _log(K[later, n]) - bend)
        for gone in (m, n):
            scores[later] -= np.multiply.outer(K[later, gone], all_weights[gone])
            self._slots.pop(names[gone], None)
        scores[later] += np.multiply.outer(k_z, z_weights)
        # z takes the lower of the two slots; if the new point stays, it takes the other.
        slot, free = min(m, n), max(m, n)
        store.put(slot, z, -1, z_weights, 1)
        K[later, slot] = k_z
        table[slot] = table[:, slot] = row
        table[slot, slot] = 0.0
        if free < B:
            store.put(free, points[B], names[B], weights, 1)
            K[later, free] = K[later, B]
            table[free] = table[:, free] = table[B]
            table[free, free] = 0.0
            self._slots[names[B]] = free


def _log(k: np.ndarray) -> np.ndarray:
    """ln k, where k may have underflown."""
    return np.asarray(np.log(np.maximum(k, 1e-300, dtype=np.float64)))


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
    for _ in range(4):  # ever finer grids between the neighbors of the best
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
