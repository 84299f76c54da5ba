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

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from mercer._config import get_config
from mercer._machine.threads import Background, Job, single_threaded_blas, threads_for
from mercer._steps import listener
from mercer._tiles import Scratch, cut
from mercer.gram.base import Gram
from mercer.gram.plan.planner import PRODUCT_ROWS
from mercer.gram.rows_of_k import RowsOfK
from mercer.solvers.online.rule import Rule, add_update, next_update
from mercer.solvers.online.run import Journal, Tally, Visits
from mercer.solvers.online.sizes import Part, Sizes

#: Rows that wait for one product together: the more, the better the shape of the product.
BLOCK = 4096
#: Rows walked in sequence: fewer cost more small products, more cost longer columns.
LEAF = 256
#: Rows a thread takes at a time, at least: thinner products run at half the rate.
LEAST_ROWS = 256
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

    def positions(self, start: int, stop: int) -> slice | np.ndarray:
        """Which examples some rows of the block are."""
        if isinstance(self.rows, slice):
            return slice(self.rows.start + start, self.rows.start + stop)
        return self.rows[start:stop]


@dataclass
class _Begun:
    """A block whose scores are being brought up to date."""

    block: _Block
    panel: RowsOfK
    scores: np.ndarray
    job: Job


class DualPerceptron:
    """Walks a square Gram; `journal` and `bias` are the state, `scores` f without b.

    `scores` (n, outputs) may start at those of an earlier predictor, `bias` at its b; `before` are
    the sums that those scores are.
    """

    def __init__(
        self,
        gram: Gram,
        labels: np.ndarray,
        rule: Rule,
        *,
        scores: np.ndarray | None = None,
        before: Sequence[Part] = (),
        bias: np.ndarray | None = None,
        tally: Tally | None = None,
        weights: np.ndarray | None = None,
        block: int = BLOCK,
        leaf: int = LEAF,
    ) -> None:
        self.gram, self.rule, self.weights = gram, rule, weights
        self.labels = np.ascontiguousarray(labels, dtype=np.int64)
        n = gram.shape[0]
        self.scores = np.zeros((n, rule.outputs)) if scores is None else scores
        self.bias = np.zeros(rule.outputs) if bias is None else np.array(bias, dtype=float)
        self.tally = Tally() if tally is None else tally
        self.journal = Journal(rule.outputs)
        self._sizes = Sizes(gram, rule, self.journal, before, self.bias)
        self._block, self._leaf = block, min(leaf, block)
        # The columns of K are the updates of the journal from `_forgotten` on.
        self._columns: RowsOfK = gram.rows_of_k(growing=True)
        self._forgotten = 0
        # A black box may not bear to be called from several threads at once.
        self._threads = 1 if self._columns.opaque else get_config().n_threads
        self._scratch = [Scratch(thread) for thread in range(self._threads)]
        self._flops = gram.cost.flops / (n * n)
        self._blocks: list[_Block] = []
        self._order: Any = None
        self._units = np.zeros(rule.outputs)
        self._loss = np.zeros(1)
        self._one_column = np.empty((self._leaf, 1), dtype=gram.dtype)
        self._allowed = np.inf
        self._background = Background(1)
        self._tell = listener()

    # --- the order of visits ----------------------------------------------------------------

    def walk(self, order: np.ndarray | slice, allowed: float = np.inf) -> None:
        """Visit these examples in this order, and update on mistakes."""
        self._allowed = allowed
        next_update.expect(self.scores.size)
        with single_threaded_blas(), Background(self._threads) as background:
            self._background = background
            self._arrange(order)
            begun = None
            for block, following in zip(self._blocks, [*self._blocks[1:], None], strict=True):
                begun = self._visit(block, begun, following)
                if self.tally.updates >= allowed:
                    return

    def _arrange(self, order: np.ndarray | slice) -> None:
        """Cut the order into blocks; where it is another order than before, settle first."""
        if self._order is not None and _same_order(order, self._order):
            oldest = min(block.oldest for block in self._blocks)
            if oldest - self._forgotten > self._columns.shape[1] // 2:
                self._forget(oldest)
            return
        for block in self._blocks:
            if not _beyond(block.rows, order):
                self._settle(self._begin(block))
        self._forget(len(self.journal))
        self._order = order
        size = self._block
        if isinstance(order, slice):
            parts: list[Any] = list(cut(order.start, order.stop, size))
        else:
            size = max(1, min(size, int(COPY / self._bytes_per_row())))
            parts = [order[part] for part in cut(0, len(order), size)]
        self._blocks = [_Block(rows, len(self.journal)) for rows in parts]

    def _bytes_per_row(self) -> float:
        if self._columns.opaque:
            return 8.0 * self.gram.shape[1]  # a precomputed row, at worst
        return 8.0 + 8.0 * self.gram.bytes_per_row / self.gram.dtype.itemsize

    def _forget(self, first: int) -> None:
        self._columns.forget(first - self._forgotten)
        self._forgotten = first

    # --- products that were put off ---------------------------------------------------------

    def _begin(self, block: _Block) -> _Begun:
        """Start to bring the scores of a block up to date with the updates made so far."""
        panel, scores = self._columns.take(rows=block.rows), self.scores[block.rows]
        entries = slice(block.applied, len(self.journal))
        owed = [*block.debts, (slice(0, len(block)), entries)]
        due = [(rows, *self._updates(panel, new)) for rows, new in owed if new.stop > new.start]
        block.debts, block.applied = [], len(self.journal)
        # A task a few rows, so that no two tasks write to the same scores.
        pairs = sum((rows.stop - rows.start) * len(weights) for rows, _, weights in due)
        share = -(-len(block) // (2 * self._threads))
        worth = threads_for(pairs * self._flops) > 1
        size = min(PRODUCT_ROWS, max(LEAST_ROWS, share)) if worth else len(block)
        parts = cut(0, len(block) if due else 0, size)
        tasks = [partial(self._apply, scores, due, part) for part in parts]
        if len(tasks) == 1:
            tasks.pop()(self._threads - 1)
        return _Begun(block, panel, scores, self._background.start(tasks))

    def _settle(self, begun: _Begun) -> None:
        """Finish that, with the updates made since."""
        begun.job.finish()
        if begun.block.applied < len(self.journal):
            self.scores[begun.block.rows] = begun.scores
            again = self._begin(begun.block)
            again.job.finish()
            begun.scores = again.scores
        self.scores[begun.block.rows] = begun.scores

    def _updates(self, panel: RowsOfK, entries: slice) -> tuple[RowsOfK, np.ndarray]:
        """K between the rows of a panel and some updates, and what these added."""
        columns = slice(entries.start - self._forgotten, entries.stop - self._forgotten)
        return panel.take(columns=columns), self.rule.rate * self.journal.units[entries]

    def _apply(self, scores: np.ndarray, due: list[Any], part: slice, thread: int) -> None:
        """Add K[rows, updates] W to some of the rows of a block."""
        for rows, K, weights in due:
            here = slice(max(rows.start, part.start), min(rows.stop, part.stop))
            if here.stop > here.start:
                scores[here] += K.product(weights, here, self._scratch[thread])

    # --- visits -----------------------------------------------------------------------------

    def _visit(self, block: _Block, begun: _Begun | None, following: _Block | None) -> Any:
        """Walk one block, while others prepare the next; gives what they have begun."""
        if begun is None:
            begun = self._begin(block)
        self._settle(begun)
        after = None
        if following is not None and self._threads > 1:
            after = self._begin(following)
        scores = begun.scores
        labels, sizes = self.labels[block.rows], np.empty_like(scores)
        self._range(block, begun.panel, scores, sizes, labels, 0, len(block))
        self.scores[block.rows] = scores  # a view for a slice; for positions a copy, put back
        block.applied = len(self.journal)
        if not np.isfinite(scores).all():
            raise ValueError(
                f"the scores overflow after {self.tally.updates} updates: k(x, z) is too large "
                f"for {self.gram.dtype.name}; scale the data"
            )
        return after

    def _range(
        self, block: _Block, panel: RowsOfK, scores: Any, sizes: Any, labels: Any, start: int,
        stop: int,
    ) -> None:  # fmt: skip
        if stop - start <= self._leaf:
            self._sequence(block, panel, scores, sizes, labels, start, stop)
            return
        middle = (start + stop) // 2
        first = len(self.journal)
        self._range(block, panel, scores, sizes, labels, start, middle)
        second = len(self.journal)
        if self.tally.updates >= self._allowed:
            return
        if second > first:
            rows = slice(middle, stop)
            due = [(rows, *self._updates(panel, slice(first, second)))]
            self._apply(scores, due, rows, self._threads - 1)
        self._range(block, panel, scores, sizes, labels, middle, stop)
        if len(self.journal) > second:
            block.debts.append((slice(start, middle), slice(second, len(self.journal))))

    def _sequence(
        self, block: _Block, panel: RowsOfK, scores: Any, sizes: Any, labels: Any, start: int,
        stop: int,
    ) -> None:  # fmt: skip
        rule, tally, units = self.rule, self.tally, self._units
        numbers = rule.numbers
        column = self._one_column[: stop - start]
        rows = block.positions(start, stop)
        sizes[start:stop], exact = self._sizes.bounds(rows), self._sizes.final
        at = start
        while True:
            self._loss[0] = 0.0
            found = next_update(
                scores, sizes, exact, labels, at, stop, self.bias, *numbers, units, self._loss
            )
            tally.loss += float(self._loss[0])
            if found < 0:  # a tie or not: one product for all rows of the leaf tells
                units[:] = 0.0
                self._told(rows, scores, at, ~found, start)
                tally.visits += ~found - at
                sizes[start:stop], exact, at = self._sizes.exact(rows), True, ~found
                continue
            tally.visits += min(found + 1, stop) - at
            if found == stop:
                self._told(rows, scores, at, stop, start)
                return
            tally.updates += rule.cut(units, self._allowed - tally.updates)
            position = block.position(found)
            if self.weights is not None:
                units *= self.weights[position]
            self._told(rows, scores, at, found + 1, start)
            self.journal.add(position, tally.visits, units)
            self._columns.append(position)
            weights = rule.rate * units
            self._sizes.add(position, weights)
            if rule.bias:
                self.bias += weights
            # Rows above the update get it, too: they are few, and so nothing is owed to them.
            last = panel.shape[1] - 1
            panel.take(columns=slice(last, last + 1)).fill(slice(start, stop), column)
            k = column[:, 0]
            terms = self._sizes.terms(rows, position) if self._sizes.final else k
            add_update(scores, sizes, start, stop, k, terms, weights, rule.bias)
            at = found + 1
            if tally.updates >= self._allowed:
                return

    def _told(self, rows: Any, scores: Any, at: int, end: int, start: int) -> None:
        """Tell of some visits, and that the last one added `_units`; `rows` begin at `start`."""
        if self._tell is not None and end > at:
            positions = np.arange(rows.start, rows.stop) if isinstance(rows, slice) else rows
            units = np.zeros((end - at, self.rule.outputs))
            units[-1] = self._units
            some = positions[at - start : end - start]
            self._tell(Visits(some, scores[at:end] + self.bias, units))


def _beyond(rows: Any, order: Any) -> bool:
    """Whether the new order ends before these rows: then they are never visited again."""
    return isinstance(rows, slice) and isinstance(order, slice) and rows.start >= order.stop


def _same_order(a: Any, b: Any) -> bool:
    if isinstance(a, slice) or isinstance(b, slice):
        return isinstance(a, slice) and isinstance(b, slice) and a == b
    return a is b or bool(np.array_equal(a, b))
