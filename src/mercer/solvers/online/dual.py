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
         └───────────────┴──┴──┴────┘   ↘ a few rows: in sequence (`walk_leaf`)

What an update in a block owes to the rows above it is noted as a debt, and paid when the block is
next reached. So k is evaluated once for each example and update, and only against examples that
were updated on.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

import mercer.tuning as tuning
from mercer._config import get_config
from mercer._machine.jit import with_callees
from mercer._machine.threads import Background, Job, single_threaded_blas, threads_for
from mercer._steps import listener
from mercer._tiles import Scratch, cut
from mercer.gram import Gram
from mercer.kernels.core import Kernel
from mercer.solvers.online.rule import RULE, HostWalker, Part, Rule, Sizes, add_update, next_update
from mercer.solvers.online.run import Visits


@dataclass
class _Block:
    """Rows that are visited one after the other, and which updates they have not seen."""

    rows: np.ndarray
    applied: int = 0
    #: (rows of the block, updates) whose products are still due.
    debts: list[tuple[slice, slice]] = field(default_factory=list)


@dataclass
class _Begun:
    """A block whose scores are being brought up to date."""

    block: _Block
    panel: Gram
    scores: np.ndarray
    job: Job


class DualPerceptron(HostWalker):
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
        block: int = tuning.PRODUCT_ROWS,
        leaf: int = tuning.LEAF_ROWS,
        **state: Any,
    ) -> None:
        super().__init__(labels, rule, **state)
        self.gram: Gram = gram
        n = gram.shape[0]
        self.scores: np.ndarray = np.zeros((n, rule.outputs)) if scores is None else scores
        self._sizes = Sizes(gram, rule, self.journal, before, self.bias)
        self._block, self._leaf = block, min(leaf, block)
        # A black box may not bear to be called from several threads at once.
        self._opaque = isinstance(gram.kernel, Kernel) and gram.kernel.is_opaque
        self._threads = 1 if self._opaque else get_config().n_threads
        self._scratch = [Scratch(thread) for thread in range(self._threads)]
        gram.prepare_tiles()
        self._tile_entries = math.prod(gram.tile_shape)
        self._flops = gram.cost.flops / (n * n)
        self._blocks: list[_Block] = []
        self._order = np.empty(0, dtype=np.intp)
        # The updates of a leaf: rows of the block, and what was added to which output.
        self._places = np.zeros(self._leaf, dtype=np.int64)
        self._units = np.zeros((self._leaf + 1, rule.outputs))
        self._rates = rule.rate * self.weights
        self._loss = np.zeros(1)
        self._one_column = np.empty((self._leaf, 1), dtype=gram.dtype)
        self._allowed = np.inf
        self._tell = listener()
        large = self.scores.size >= tuning.PLAIN_STEPS
        self._walk_leaf: Any = with_callees(walk_leaf, RULE) if large else walk_leaf

    # --- the order of visits ----------------------------------------------------------------

    def walk(self, order: np.ndarray | slice, allowed: float = np.inf) -> None:
        """Visit these examples in this order, and update on mistakes."""
        self._allowed = allowed
        if isinstance(order, slice):
            order = np.arange(order.start, order.stop)
        with single_threaded_blas(), Background(self._threads) as background:
            self._background = background
            self._arrange(order)
            begun = None
            for block, following in zip(self._blocks, [*self._blocks[1:], None], strict=True):
                begun = self._visit(block, begun, following)
                if self.tally.updates >= allowed:
                    return

    def _arrange(self, order: np.ndarray) -> None:
        """Cut the order into blocks; where it is another order than before, settle first."""
        if np.array_equal(order, self._order):
            return
        for block in self._blocks:
            self._settle(self._begin(block))
        self._order, gram = order, self.gram
        row = 8.0 + 8.0 * gram.bytes_per_row / gram.dtype.itemsize
        if self._opaque:
            row = 8.0 * gram.shape[1]  # a precomputed row, at worst
        size = max(1, min(self._block, int(tuning.SCRATCH_BYTES / row)))
        parts = cut(0, len(order), size)
        self._blocks = [_Block(order[part], len(self.journal)) for part in parts]

    # --- products that were put off ---------------------------------------------------------

    def _begin(self, block: _Block) -> _Begun:
        """Start to bring the scores of a block up to date with the updates made so far."""
        panel, scores = self.gram.take(rows=block.rows), self.scores[block.rows]
        entries = slice(block.applied, len(self.journal))
        owed = [*block.debts, (slice(0, len(block.rows)), entries)]
        due = [(rows, *self._updates(panel, new)) for rows, new in owed if new.stop > new.start]
        block.debts, block.applied = [], len(self.journal)
        # A task a few rows, so that no two tasks write to the same scores.
        pairs = sum((rows.stop - rows.start) * len(weights) for rows, _, weights in due)
        height = len(block.rows)
        share = -(-height // (2 * self._threads))
        threaded = threads_for(pairs * self._flops) > 1
        size = min(tuning.PRODUCT_ROWS, max(tuning.LEAF_ROWS, share)) if threaded else height
        parts = cut(0, height if due else 0, size)
        tasks = [partial(self._apply, scores, due, part) for part in parts]
        if len(tasks) == 1:
            tasks.pop()(self._threads - 1)
        return _Begun(block, panel, scores, self._background.start(tasks))

    def _settle(self, begun: _Begun) -> None:
        """Finish what `_begin` started, with the updates made since."""
        begun.job.finish()
        if begun.block.applied < len(self.journal):
            self.scores[begun.block.rows] = begun.scores
            again = self._begin(begun.block)
            again.job.finish()
            begun.scores = again.scores
        self.scores[begun.block.rows] = begun.scores

    def _updates(self, panel: Gram, entries: slice) -> tuple[Gram, np.ndarray]:
        """K between the rows of a panel and some updates, and what these added."""
        columns = panel.take(columns=self.journal.positions[entries])
        return columns, self.rule.rate * self.journal.units[entries]

    def _tile(self, K: Gram, rows: slice, columns: slice, thread: int) -> np.ndarray:
        """A tile of K, in memory that the thread uses again."""
        shape = rows.stop - rows.start, columns.stop - columns.start
        scratch = self._scratch[thread]
        out = scratch.get("tile of a walk", shape, K.dtype)
        return np.asarray(K.tile(rows, columns, out, scratch))

    def _apply(self, scores: np.ndarray, due: list[Any], part: slice, thread: int) -> None:
        """Add K[rows, updates] W to some of the rows of a block."""
        for rows, K, weights in due:
            start, stop = max(rows.start, part.start), min(rows.stop, part.stop)
            height = min(tuning.PRODUCT_ROWS, self._tile_entries)
            for here in cut(start, stop, height):
                for columns in cut(0, len(weights), self._tile_entries // height):
                    tile = self._tile(K, here, columns, thread)
                    scores[here] += tile @ weights[columns].astype(tile.dtype)

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
        self._range(block, begun.panel, scores, sizes, labels, 0, len(block.rows))
        self.scores[block.rows] = scores
        block.applied = len(self.journal)
        if not np.isfinite(scores).all():
            raise ValueError(
                f"the scores overflow after {self.tally.updates} updates: k(x, z) is too large "
                f"for {self.gram.dtype.name}; scale the data"
            )
        return after

    def _range(
        self, block: _Block, panel: Gram, scores: Any, sizes: Any, labels: Any, start: int,
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
        self, block: _Block, panel: Gram, scores: Any, sizes: Any, labels: Any, start: int,
        stop: int,
    ) -> None:  # fmt: skip
        rows, tally, rule = block.rows[start:stop], self.tally, self.rule
        sizes[start:stop], exact = self._sizes.bounds(rows), self._sizes.final
        norms, rates = self._sizes.norms[rows], self._rates[rows]
        at, columns, K = start, 0, self._one_column[:, :0]
        while True:
            if not K.size and self._buys(columns, stop - start):
                here = slice(start, stop)
                K = self._tile(panel.take(columns=rows), here, slice(0, len(rates)), -1)
            self._loss[0] = 0.0
            made, end = self._walk_leaf(
                scores, sizes, exact, labels, start, at, stop, K, norms, self._sizes.final,
                self.bias, *rule.numbers, rates, rule.bias, self._places, self._units, self._loss,
            )  # fmt: skip
            tally.loss += float(self._loss[0])
            seen = ~end if end < 0 else min(end + 1, stop)
            if made:
                self._add(block, self._places[:made], at, self._units[:made])
            if self._tell is not None:
                self._report(self._tell, rows, scores, at, seen, start, made)
            tally.visits += seen - at
            at = seen
            if end < 0:  # a tie or not: one product for all rows of the leaf tells
                sizes[start:stop], exact = self._sizes.exact(rows), True
            elif end < stop:  # without K of the leaf
                self._apply_last(panel, scores, sizes, rows, slice(start, stop))
                columns += 1
            if end == stop or tally.updates >= self._allowed:
                return

    def _buys(self, columns: int, rows: int) -> bool:
        """Whether to make K of a leaf; column by column, each visit is reported by itself."""
        if self._tell is not None or self._opaque:
            return False
        enough = self._allowed - self.tally.updates >= rows * self.rule.outputs
        return enough and columns >= tuning.LEAF_UPDATES

    def _add(self, block: _Block, places: np.ndarray, at: int, units: np.ndarray) -> None:
        """Note updates on some rows of a block, of which `at` was the first to be visited."""
        tally, rule = self.tally, self.rule
        if len(units) == 1:
            tally.updates += rule.cut(units[0], self._allowed - tally.updates)
        else:
            tally.updates += int(rule.updates(units).sum())
        positions = block.rows[places]
        units *= self.weights[positions, None]
        self.journal.extend(positions, tally.visits + places - at + 1, units)
        self._sizes.add(positions, rule.rate * units)

    def _apply_last(self, panel: Gram, scores: Any, sizes: Any, rows: Any, leaf: slice) -> None:
        """Add the last update to the rows of a leaf.

        Rows above it get it, too: they are few, and so nothing is owed to them.
        """
        weights, position = self.rule.rate * self.journal.units[-1], self.journal.positions[-1]
        if self.rule.bias:
            self.bias += weights
        column = panel.take(columns=slice(position, position + 1))
        k = column.tile(leaf, slice(0, 1), self._one_column[: leaf.stop - leaf.start])[:, 0]
        terms = self._sizes.terms(rows, position) if self._sizes.final else k
        add_update(scores, sizes, leaf.start, leaf.stop, k, terms, weights, self.rule.bias)

    def _report(
        self, tell: Any, rows: Any, scores: Any, at: int, end: int, start: int, made: int
    ) -> None:
        """Report visits to a listener, and what the last one added; `rows` begin at `start`."""
        if end > at:
            units = np.zeros((end - at, self.rule.outputs))
            units[-1] = self._units[0] if made else 0.0
            tell(Visits(rows[at - start : end - start], scores[at:end] + self.bias, units))


def walk_leaf(
    scores: Any, sizes: Any, exact: bool, labels: Any, start: int, at: int, stop: int,
    K: Any, norms: Any, final: bool, bias: Any, ranked: bool, positive: int, first: bool,
    margin: float, rates: Any, learns: bool, places: Any, units: Any, loss: Any,
) -> tuple[int, int]:  # fmt: skip
    """Update after update from row `at` on; how many, and where it ends, as `next_update` says it.

    `K`, `norms` and `rates` (how far an update goes) belong to the rows from `start` to `stop`.
    Updates are noted in `places` and `units`. Without columns in K it ends at the first of them.
    Sizes that are `final` grow by products of norms, others by |k|.
    """
    made = 0
    while True:
        found = next_update(
            scores, sizes, exact, labels, at, stop, bias, ranked, positive, first, margin,
            units[made], loss,
        )  # fmt: skip
        if found < 0 or found == stop:
            return made, found
        places[made] = found
        made += 1
        if K.shape[1] == 0:
            return made, found
        here, at = found - start, found + 1
        k = K[:, here]
        terms = norms * norms[here] if final else np.abs(k).astype(np.float64)
        for c in range(scores.shape[1]):
            step = rates[here] * units[made - 1, c]
            if step != 0.0:
                # Not as `scores[start:stop, c] +=`: Numba compiles a message about shapes for that,
                # which takes two seconds.
                own, size = scores[start:stop, c], sizes[start:stop, c]
                np.add(own, step * k, own)
                if learns:
                    bias[c] += step
                    np.add(size, abs(step) * (terms + 1.0), size)
                else:
                    np.add(size, abs(step) * terms, size)
