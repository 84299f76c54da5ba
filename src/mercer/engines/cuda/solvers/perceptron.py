"""The kernel perceptron on a GPU: the updates of the textbook loop, block after block.

Scores of all examples are kept in double precision, up to date with all updates of earlier epochs.
A block of examples adds what the updates of this epoch have changed, by one product, and is then
walked in order by one program. After an epoch its updates are added to the scores of all examples,
by one product that never makes the matrix.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from mercer._arrays import host
from mercer.engines.cuda.gram import CudaGram
from mercer.engines.cuda.rows import DeviceSide
from mercer.engines.cuda.solvers.perceptron_walk import BlockWalk
from mercer.engines.cuda.triton_launch import launch, usable
from mercer.solvers.online.rule import TIE, Rule
from mercer.solvers.online.run import Journal, Tally
from mercer.solvers.online.sizes import Part, Sizes

#: Elements of K between a block and the updates of an epoch that are made at a time.
PIECE = 1 << 26


class DevicePerceptron:
    """A `Walker`, like `DualPerceptron` of `mercer.solvers.online`, over rows on a device."""

    #: Whether `weights` of examples are understood.
    weighted = False

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
    ) -> None:
        self.gram, self.rule = gram, rule
        device = gram.device
        self._labels = torch.as_tensor(labels, device=device)
        shape = (gram.shape[0], rule.outputs)
        start = np.zeros(shape) if scores is None else np.asarray(scores, dtype=np.float64)
        self._scores = torch.as_tensor(start, device=device).clone()
        given = np.zeros(rule.outputs) if bias is None else np.asarray(bias, dtype=np.float64)
        self._bias = torch.tensor(given, device=device)
        self.tally = Tally() if tally is None else tally
        self.journal = Journal(rule.outputs)
        sizes = Sizes(gram, rule, self.journal, before, given)
        self._walk = BlockWalk(rule.outputs, rule, TIE if sizes.final else 0.0, device)
        self._norms = torch.as_tensor(sizes.norms, device=device)
        self._reach, self._bias_reach = (
            torch.tensor(part, device=device) for part in (sizes.reach, np.abs(given))
        )
        self._settled = 0  # entries of the journal that all scores know

    @property
    def bias(self) -> np.ndarray:
        return host(self._bias)  # type: ignore[no-any-return]

    @property
    def scores(self) -> np.ndarray:
        """f of all examples without b, after all updates."""
        self._settle()
        return host(self._scores)  # type: ignore[no-any-return]

    def walk(self, order: np.ndarray | slice, allowed: float = np.inf) -> None:
        """Visit these examples in this order, and update on mistakes."""
        self._settle()
        if isinstance(order, slice):
            order = np.arange(order.start or 0, order.stop)
        indices = torch.as_tensor(order, device=self._scores.device)
        log: DeviceSide | None = None
        weights = self._scores[:0]
        for start in range(0, len(order), self._walk.rows):
            rows = indices[start : start + self._walk.rows]
            made = self._visit(rows, order[start : start + len(rows)], log, weights, allowed)
            if made:
                new = slice(self._settled, len(self.journal))
                log = self._side(torch.as_tensor(self.journal.positions[new], device=rows.device))
                weights = self.rule.rate * torch.as_tensor(
                    self.journal.units[new], device=rows.device
                )
            if self.tally.updates >= allowed:
                return

    def _visit(
        self,
        rows: torch.Tensor,
        names: np.ndarray,
        log: DeviceSide | None,
        weights: torch.Tensor,
        allowed: float,
    ) -> int:
        block = self._side(rows)
        scores = self._scores[rows]
        if log is not None:
            step = max(256, PIECE // len(rows))
            for at in range(0, log.n, step):
                part = slice(at, min(at + step, log.n))
                K = self._block(block, log if log.n <= step else log.take(part), None)
                scores += K.double() @ weights[part]
        if not torch.isfinite(scores).all():
            raise ValueError(
                f"the scores overflow after {self.tally.updates} updates: k(x, z) is too large "
                f"for {self.gram.dtype.name}; scale the data"
            )
        own = self._block(block, block, self.gram.diagonal_tensor()[rows])
        left = min(allowed - self.tally.updates, 1e18)
        found, units, visits, loss, updates = self._walk.run(
            scores.contiguous(), own.contiguous(), self._labels[rows], self._norms[rows],
            (self._bias, self._reach, self._bias_reach), left,
        )  # fmt: skip
        if len(found):
            where = host(found)
            self.journal.extend(names[where], self.tally.visits + where + 1, host(units))
        self.tally.visits += visits
        self.tally.loss += loss
        self.tally.updates += updates
        return len(found)

    def _settle(self) -> None:
        """Bring the scores of all examples up to date with the updates made since."""
        new = slice(self._settled, len(self.journal))
        if new.stop == new.start:
            return
        positions, at = np.unique(self.journal.positions[new], return_inverse=True)
        summed = np.zeros((len(positions), self.rule.outputs))
        np.add.at(summed, at, self.rule.rate * self.journal.units[new])
        columns: Any = self.gram.take(columns=positions)
        self._scores += columns.product(
            torch.as_tensor(summed, device=self._scores.device).to(self.gram.torch_dtype)
        )
        self._settled = new.stop

    def _side(self, rows: torch.Tensor) -> DeviceSide:
        x = self.gram._x
        return DeviceSide(
            len(rows),
            {key: m[rows] for key, m in x.matrices.items()},
            x.centers,
            None,
            tuple(v[rows] for v in x.values),
        )

    def _block(self, x: DeviceSide, z: DeviceSide, diagonal: torch.Tensor | None) -> torch.Tensor:
        if usable(self.gram):
            return launch(self.gram, "dense", x, z, None, diagonal)
        return self.gram._torch_block(x, z, diagonal)
