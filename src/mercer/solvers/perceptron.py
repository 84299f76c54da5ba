"""The kernel perceptron: exactly the updates of the textbook loop, at the speed of BLAS.

The textbook computes f(xᵢ) = Σⱼ αⱼ k(xⱼ, xᵢ) + b anew at every visit. Here the scores of all
examples are kept, and what an update changes in them is put off until it matters, so that it is
done for many updates and many examples at once, by one matrix product:

          columns: updates in order of time →
         ┌───────────────┬──┬──┬────┐
  block  │ ░░░░░░░░░░░░░ │↘ │  │    │   ░ when the block is reached: all updates since its last
 of rows │ ░░░░░░░░░░░░░ │▒▒│↘ │    │     visit, one product
    ↓    │ ░░░░░░░░░░░░░ │▒▒▒▒▒│↘   │   ▒ inside the block: halves of it, the updates of the
         │ ░░░░░░░░░░░░░ │▒▒▒▒▒│▒▒↘ │     upper half on the rows of the lower, recursively
         └───────────────┴──┴──┴────┘   ↘ a few rows: in sequence, one column of K an update

What an update in a block owes to the rows above it is noted as a debt, and paid when the block is
next reached. So k is evaluated once for each example and update, and only against examples that
were updated on.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mercer.gram.operator import Gram
from mercer.gram.threads import single_threaded_blas
from mercer.gram.walk import Panel, Walk
from mercer.solvers.online import Journal, Tally
from mercer.solvers.perceptron_rule import Rule, next_update

#: Rows that wait for one product together: the more, the better the shape of the product.
BLOCK = 4096
#: Rows walked in sequence: fewer cost more small products, more cost longer columns.
LEAF = 256
#: Bytes of rows copied at a time where the order of visits is not that of the data.
COPY = 64_000_000


@dataclass
class _Block:
    """Rows that are visited one after the other, and which updates they have not seen."""

    rows: slice | np.ndarray
    applied: int = 0
    #: (rows of the block, updates) whose products are still due.
    debts: list[tuple[slice, slice]] = field(default_factory=list)

    def __len__(self) -> int:
        if isinstance(self.rows, slice):
            return int(self.rows.stop - self.rows.start)
        return len(self.rows)

    @property
    def oldest(self) -> int:
        """The first update that is still needed."""
        return min([self.applied, *(entries.start for _, entries in self.debts)])

    def position(self, row: int) -> int:
        """Which example a row of the block is."""
        return int(self.rows.start + row if isinstance(self.rows, slice) else self.rows[row])


class DualPerceptron:
    """Walks a square Gram; `journal` and `bias` are the state, `scores` f without b.

    `scores` (n, outputs) may start at those of an earlier predictor, `bias` at its b.
    """

    def __init__(
        self,
        gram: Gram,
        labels: np.ndarray,
        rule: Rule,
        *,
        scores: np.ndarray | None = None,
        bias: np.ndarray | None = None,
        tally: Tally | None = None,
        block: int = BLOCK,
        leaf: int = LEAF,
    ) -> None:
        self.gram, self.rule = gram, rule
        self.labels = np.ascontiguousarray(labels, dtype=np.int64)
        n = gram.shape[0]
        self.scores = np.zeros((n, rule.outputs)) if scores is None else scores
        self.bias = np.zeros(rule.outputs) if bias is None else np.array(bias, dtype=float)
        self.tally = Tally() if tally is None else tally
        self.journal = Journal(rule.outputs)
        self._block, self._leaf = block, min(leaf, block)
        self._log = Walk(gram)
        self._forgotten = 0  # entries of the journal that are no longer in the log
        self._blocks: list[_Block] = []
        self._order: Any = None
        self._units = np.zeros(rule.outputs)
        self._loss = np.zeros(1)
        self._column = np.empty((self._leaf, 1), dtype=gram.dtype)
        self._allowed = np.inf

    # --- the order of visits ----------------------------------------------------------------

    def walk(self, order: np.ndarray | slice, allowed: float = np.inf) -> None:
        """Visit these examples in this order, and update on mistakes."""
        self._allowed = allowed
        with single_threaded_blas():
            self._arrange(order)
            for block in self._blocks:
                if len(block) and self.tally.updates < allowed:
                    self._visit(block)

    def _arrange(self, order: np.ndarray | slice) -> None:
        """Cut the order into blocks; where it is another order than before, settle first."""
        if self._order is not None and _same_order(order, self._order):
            oldest = min(block.oldest for block in self._blocks)
            if oldest - self._forgotten > len(self._log) // 2:
                self._forget(oldest)
            return
        for block in self._blocks:
            if not _beyond(block.rows, order):
                self._settle(block)
        self._forget(len(self.journal))
        self._order = order
        size = self._block
        if isinstance(order, slice):
            starts = range(order.start, order.stop, size)
            cut: list[Any] = [slice(s, min(s + size, order.stop)) for s in starts]
        else:
            size = max(1, min(size, int(COPY / self._bytes_per_row())))
            cut = [order[s : s + size] for s in range(0, len(order), size)]
        self._blocks = [_Block(rows, len(self.journal)) for rows in cut]

    def _bytes_per_row(self) -> float:
        if any(s.kind == "opaque" for s in self.gram.program.sources):
            return 8.0 * self.gram.shape[1]  # a precomputed row, at worst
        return 8.0 + sum(8.0 * width for width in self.gram._widths().values())

    def _forget(self, first: int) -> None:
        self._log.forget(first - self._forgotten)
        self._forgotten = first

    # --- products that were put off ---------------------------------------------------------

    def _settle(self, block: _Block) -> Panel:
        """Bring the scores of a block up to date."""
        panel = self._log.rows(block.rows)
        scores = self.scores[block.rows]
        for rows, entries in block.debts:
            self._apply(panel, scores, rows, entries)
        entries = slice(block.applied, len(self.journal))
        self._apply(panel, scores, slice(0, len(block)), entries)
        self.scores[block.rows] = scores
        block.debts, block.applied = [], len(self.journal)
        return panel

    def _apply(self, panel: Panel, scores: np.ndarray, rows: slice, entries: slice) -> None:
        if entries.stop > entries.start:
            columns = slice(entries.start - self._forgotten, entries.stop - self._forgotten)
            weights = self.rule.rate * self.journal.units[entries]
            scores[rows] += panel.product(rows, columns, weights)

    # --- visits -----------------------------------------------------------------------------

    def _visit(self, block: _Block) -> None:
        panel = self._settle(block)
        # A view for a slice; for positions a copy, which is put back.
        scores, labels = self.scores[block.rows], self.labels[block.rows]
        self._range(block, panel, scores, labels, 0, len(block))
        self.scores[block.rows] = scores
        block.applied = len(self.journal)
        if not np.isfinite(scores).all():
            raise ValueError(
                f"the scores overflow after {self.tally.updates} updates: k(x, z) is too large "
                f"for {self.gram.dtype.name}; scale the data"
            )

    def _range(
        self, block: _Block, panel: Panel, scores: Any, labels: Any, start: int, stop: int
    ) -> None:
        if stop - start <= self._leaf:
            self._sequence(block, panel, scores, labels, start, stop)
            return
        middle = (start + stop) // 2
        first = len(self.journal)
        self._range(block, panel, scores, labels, start, middle)
        second = len(self.journal)
        if self.tally.updates >= self._allowed:
            return
        self._apply(panel, scores, slice(middle, stop), slice(first, second))
        self._range(block, panel, scores, labels, middle, stop)
        if len(self.journal) > second:
            block.debts.append((slice(start, middle), slice(second, len(self.journal))))

    def _sequence(
        self, block: _Block, panel: Panel, scores: Any, labels: Any, start: int, stop: int
    ) -> None:
        rule, tally, units = self.rule, self.tally, self._units
        numbers = rule.numbers
        column = self._column[: stop - start]
        at = start
        while True:
            self._loss[0] = 0.0
            found = next_update(
                scores, labels, at, stop, self.bias, *numbers, units, self._loss
            )  # fmt: skip
            tally.loss += float(self._loss[0])
            tally.visits += min(found + 1, stop) - at
            if found == stop:
                return
            tally.updates += rule.cut(units, self._allowed - tally.updates)
            position = block.position(found)
            self.journal.add(position, tally.visits, units)
            self._log.append(position)
            if rule.bias:
                self.bias += rule.rate * units
            # Rows above the update get it, too: they are few, and so nothing is owed to them.
            panel.column(slice(start, stop), len(self._log) - 1, column)
            scores[start:stop] += column * (rule.rate * units)
            at = found + 1
            if tally.updates >= self._allowed:
                return


def _beyond(rows: Any, order: Any) -> bool:
    """Whether the new order ends before these rows: then they are never visited again."""
    return isinstance(rows, slice) and isinstance(order, slice) and rows.start >= order.stop


def _same_order(a: Any, b: Any) -> bool:
    if isinstance(a, slice) or isinstance(b, slice):
        return isinstance(a, slice) and isinstance(b, slice) and a == b
    return a is b or bool(np.array_equal(a, b))
