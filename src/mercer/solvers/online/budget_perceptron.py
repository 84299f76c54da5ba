"""The perceptron on a budget: at most B points, so an example costs B kernel values, for ever."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer._examples import joined, take
from mercer._threads import single_threaded_blas
from mercer.gram.host import HostGram
from mercer.kernels import Kernel
from mercer.solvers.online.budget import Store, merged
from mercer.solvers.online.rule import Rule, next_update
from mercer.solvers.online.run import Journal, Tally

#: Rows whose scores are computed together, before they are walked in sequence.
BLOCK = 256


class BudgetPerceptron:
    """Walks the examples X in blocks; needs the examples, because its points outlive them.

    `offset` is the number in the stream of the first example of X. The `journal` is of this call
    only, so that an endless stream keeps no more than its `store`.
    """

    def __init__(
        self,
        kernel: Kernel,
        X: Any,
        labels: np.ndarray,
        rule: Rule,
        store: Store,
        *,
        random: Any,
        offset: int = 0,
        bias: np.ndarray | None = None,
        bias_late: np.ndarray | None = None,
        tally: Tally | None = None,
        block: int = BLOCK,
    ) -> None:
        self.kernel, self.X, self.rule, self.store = kernel, X, rule, store
        self.labels = np.ascontiguousarray(labels, dtype=np.int64)
        self.gram = HostGram(kernel, X)
        self.bias = np.zeros(rule.outputs) if bias is None else np.array(bias, dtype=np.float64)
        self.bias_late = np.zeros(rule.outputs) if bias_late is None else np.array(bias_late)
        self.tally = Tally() if tally is None else tally
        self.journal = Journal(rule.outputs)
        self._random, self._offset, self._block = random, offset, block
        self._own = self.gram.diagonal() if store.policy == "project" else np.empty(0)
        # ln k between all points and one more, which "merge" looks for partners in.
        side = store.budget + 1 if store.policy == "merge" else 0
        self._table = np.zeros((side, side))
        self._slots = {name: i for i, name in enumerate(store.names) if name >= 0}

    def walk(self, order: np.ndarray | slice, allowed: float = np.inf) -> None:
        """Visit these examples in this order, and update on mistakes."""
        positions = np.arange(order.stop) if isinstance(order, slice) else order
        with single_threaded_blas():
            for start in range(0, len(positions), self._block):
                if self.tally.updates < allowed:
                    self._visit(positions[start : start + self._block], allowed)

    def _visit(self, rows: np.ndarray, allowed: float) -> None:
        rule, store, tally = self.rule, self.store, self.tally
        here = take(self.X, rows)
        K = np.zeros((len(rows), store.budget + 1), dtype=self.gram.dtype)
        n = len(store)
        scores = np.zeros((len(rows), rule.outputs))
        if n:
            points = joined(store.points)
            K[:, :n] = HostGram(self.kernel, here, points).dense()
            if store.policy == "merge":
                self._table[:n, :n] = _log(HostGram(self.kernel, points).dense())
            scores += K[:, :n] @ store.weights[:n].astype(K.dtype)
        panel = self.gram.rows_of_k(growing=True).take(rows=rows)
        units, loss, at = np.zeros(rule.outputs), np.zeros(1), 0
        labels = self.labels[rows]
        while True:
            loss[0] = 0.0
            found = next_update(scores, labels, at, len(rows), self.bias, *rule.numbers,
                                units, loss)  # fmt: skip
            tally.loss += float(loss[0])
            tally.visits += min(found + 1, len(rows)) - at
            if found == len(rows):
                return
            tally.updates += rule.cut(units, allowed - tally.updates)
            position, at = int(rows[found]), found + 1
            self.journal.add(position, tally.visits, units)
            if rule.bias:
                self.bias += rule.rate * units
                self.bias_late += rule.rate * units * (tally.visits - 1)
            later = slice(at, len(rows))

            def column(later: slice = later, position: int = position) -> np.ndarray:
                out = np.empty((later.stop - later.start, 1), dtype=K.dtype)
                panel.append(position)
                last = panel.shape[1] - 1
                return panel.take(columns=slice(last, last + 1)).fill(later, out)[:, 0]

            self._update(position, rule.rate * units, K, K[found], scores, later, column)
            if tally.updates >= allowed:
                return

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
        return take(self.X, slice(position, position + 1)).copy()

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
        # z takes the lower of the two places; if the new point stays, it takes the other.
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
