"""The kernel perceptron on a GPU: the updates of the textbook loop, block after block.

Where all of K fits the memory limit, the scores of all examples are kept up to date with every
block, and an epoch is one sequence of launches that nothing waits for. Otherwise an epoch goes over
spans of rows whose K fits: a span begins with the scores of earlier epochs and what the updates of
this one have changed, by one product; after the epoch its updates are added to all scores, by a
product that never makes the matrix. Scores are in double precision.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from mercer._arrays import host
from mercer._tiles import cut
from mercer.engines.cuda.gram import K_SHARE, PANEL, CudaGram
from mercer.engines.cuda.solvers.perceptron_walk import Table, TableWalk, block_rows
from mercer.solvers.online.rule import TIE, Part, Rule, Sizes
from mercer.solvers.online.run import Journal, Tally


class DevicePerceptron:
    """A `Walker`, like `DualPerceptron` of `mercer.solvers.online`, over rows on a device."""

    def __init__(
        self,
        gram: CudaGram,
        labels: np.ndarray,
        rule: Rule,
        *,
        scores: np.ndarray | None = None,
        before: Sequence[Part] = (),
        bias: np.ndarray | None = None,
        tally: Tally | None = None,
        weights: np.ndarray | None = None,
    ) -> None:
        self.gram, self.rule = gram, rule
        n, device = gram.shape[0], gram.device
        start = np.zeros((n, rule.outputs)) if scores is None else np.asarray(scores, dtype=float)
        given = np.zeros(rule.outputs) if bias is None else np.asarray(bias, dtype=np.float64)
        self.tally: Tally = Tally() if tally is None else tally
        self.journal: Journal = Journal(rule.outputs)
        sizes = Sizes(gram, rule, self.journal, before, given)
        self._tolerance = TIE if sizes.final else 0.0

        def there(values: np.ndarray) -> torch.Tensor:
            return torch.tensor(values, device=device)

        self._all = Table(
            torch.empty(0, 0, dtype=gram.torch_dtype, device=device),
            there(start),
            there(labels),
            there(sizes.norms),
            there(np.ones(n) if weights is None else np.asarray(weights, dtype=np.float64)),
            (there(given), there(sizes.reach), there(np.abs(given))),
        )
        item = gram.torch_dtype.itemsize
        affordable = math.isqrt(int(K_SHARE * gram.limit_bytes) // item)
        self._span = min(n, max(block_rows(rule.outputs), affordable))
        if self._span == n:
            self._all.K = self._block(torch.arange(n, device=device))
        self._settled = 0  # entries of the journal that all scores know

    @property
    def bias(self) -> np.ndarray:
        return host(self._all.sums[0])  # type: ignore[no-any-return]

    @property
    def scores(self) -> np.ndarray:
        """f of all examples without b, after all updates."""
        self._settle()
        return host(self._all.scores)  # type: ignore[no-any-return]

    def walk(self, order: np.ndarray | slice, allowed: float = np.inf) -> None:
        """Visit these examples in this order, and update on mistakes."""
        self._settle()
        if isinstance(order, slice):
            order = np.arange(order.start or 0, order.stop)
        for part in cut(0, len(order), self._span):
            self._walk_span(order[part], allowed)
            if self.tally.updates >= allowed:
                return

    def _walk_span(self, names: np.ndarray, allowed: float) -> None:
        rows = torch.as_tensor(names, device=self._all.scores.device)
        if len(self._all.K):
            table, order = self._all, rows
        else:
            table, order = self._table(rows), torch.arange(len(rows), device=rows.device)
        left = allowed - self.tally.updates
        walk = TableWalk(table, order, self.rule, self._tolerance, left)
        try:
            walk.run()
        finally:
            # What was launched before Ctrl-C is done, and counts.
            done = walk.log()
            times = self.tally.visits + done.found + 1
            self.journal.extend(names[done.found], times, done.units)
            self.tally.visits += done.visits
            self.tally.loss += done.loss
            self.tally.updates += done.updates
            if table is self._all:
                self._settled = len(self.journal)
        if not torch.isfinite(table.scores).all():
            raise ValueError(
                f"the scores overflow after {self.tally.updates} updates: k(x, z) is too large "
                f"for {self.gram.dtype.name}; scale the data"
            )

    def _table(self, rows: torch.Tensor) -> Table:
        """Some rows, with scores that know all updates so far."""
        everything = self._all
        scores = everything.scores[rows]
        positions, weights = self._since()
        if len(positions):
            x, z = self.gram._x.take(rows), self.gram._x.take(positions)
            K = self.gram.between(x, z)
            for part in cut(0, len(rows), max(1, PANEL // len(positions))):
                scores[part] += K.tensor(part).double() @ weights
        return Table(
            self._block(rows),
            scores,
            everything.labels[rows],
            everything.norms[rows],
            everything.weights[rows],
            everything.sums,
        )

    def _since(self) -> tuple[np.ndarray, torch.Tensor]:
        """Examples with pending updates, and their summed coefficients."""
        new = slice(self._settled, len(self.journal))
        positions, at = np.unique(self.journal.positions[new], return_inverse=True)
        summed = np.zeros((len(positions), self.rule.outputs))
        np.add.at(summed, at, self.rule.rate * self.journal.units[new])
        return positions, torch.as_tensor(summed, device=self._all.scores.device)

    def _settle(self) -> None:
        """Bring the scores of all examples up to date with the updates made since."""
        positions, weights = self._since()
        if len(positions):
            columns: Any = self.gram.take(columns=positions)
            self._all.scores += columns.product(weights.to(self.gram.torch_dtype))
        self._settled = len(self.journal)

    def _block(self, rows: torch.Tensor) -> torch.Tensor:
        """K between these rows."""
        x = self.gram._x if len(rows) == self.gram.shape[0] else self.gram._x.take(rows)
        return self.gram.between(x, x).whole()
