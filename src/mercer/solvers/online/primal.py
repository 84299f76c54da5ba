"""The primal perceptron: w ← w + η t φ(x) on a mistake, one weight vector per output."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import mercer.tuning as tuning
from mercer._arrays import is_sparse
from mercer._machine.jit import with_callees
from mercer._steps import listener
from mercer.gram import squared_norms
from mercer.solvers.online.rule import RULE, HostWalker, Rule, next_update, norms
from mercer.solvers.online.run import Visits


class PrimalPerceptron(HostWalker):
    """Walks φ(X), given block by block; needs features, not a Gram.

    `features(index)` gives rows of φ (dense or CSR) for a slice or positions; `coef` is w, one row
    an output, `late` Σ (t − 1) u φ over the updates u at visits t, which the average needs, `reach`
    Σ |u| ‖φ‖, which the rule of ties needs (`mercer.solvers.online.rule`).
    """

    def __init__(
        self,
        features: Callable[[Any], Any],
        labels: np.ndarray,
        rule: Rule,
        coef: np.ndarray,
        *,
        late: np.ndarray | None = None,
        reach: np.ndarray | None = None,
        block: int = 4096,
        **state: Any,
    ) -> None:
        super().__init__(labels, rule, **state)
        self.features: Callable[[Any], Any] = features
        self.coef: np.ndarray = np.array(coef, dtype=np.float64)
        self.late: np.ndarray = (
            np.zeros_like(self.coef) if late is None else np.array(late, dtype=np.float64)
        )
        self.reach: np.ndarray = np.array(
            norms(np.sum(self.coef**2, axis=1)) if reach is None else reach
        )
        self._bias_reach = np.abs(self.bias)
        self._norms = np.full(len(labels), np.nan)  # ‖φ(x)‖ of those seen
        self._block = block
        large = len(self.labels) * rule.outputs >= tuning.PLAIN_STEPS
        self._walk: Any = with_callees(_walk, (*RULE, *LOOPS)) if large else _walk

    def walk(self, order: np.ndarray | slice, allowed: float = np.inf) -> None:
        """Visit these examples in this order, and update on mistakes."""
        n = order.stop if isinstance(order, slice) else len(order)
        for start in range(0, n, self._block):
            if self.tally.updates >= allowed:
                return
            stop = min(start + self._block, n)
            rows = slice(start, stop) if isinstance(order, slice) else order[start:stop]
            self._pass(rows, stop - start, int(min(allowed - self.tally.updates, 2**62)))

    def _pass(self, rows: Any, n: int, allowed: int) -> None:
        """Visit these n examples, and enter what the compiled walk did in the journal."""
        phi, rule = self.features(rows), self.rule
        found = np.empty(n, dtype=np.int64)
        units = np.zeros((n, rule.outputs))
        loss = np.zeros(1)
        values = (phi.indptr, phi.indices, phi.data) if is_sparse(phi) else (phi,)
        lengths, tell = self._norms[rows], listener()
        if np.isnan(lengths).any():
            lengths = self._norms[rows] = norms(squared_norms(phi))
        seen = np.empty((n if tell is not None else 0, rule.outputs))
        made, visited = self._walk(
            values, self.labels[rows], self.weights[rows], lengths, self.coef, self.late,
            self.reach, self.bias, self._bias_reach, rule.numbers, rule.rate, rule.bias, allowed,
            self.tally.visits, found, units, loss, seen,
        )  # fmt: skip
        positions = np.arange(rows.start, rows.stop) if isinstance(rows, slice) else rows
        if tell is not None:
            added = np.zeros((n, rule.outputs))
            added[found[:made]] = units[:made]
            tell(Visits(positions[:visited], seen[:visited], added[:visited]))
        updated = found[:made]
        self.journal.extend(positions[updated], self.tally.visits + updated + 1, units[:made])
        self.tally.visits += int(visited)
        self.tally.updates += int(rule.updates(units[:made]).sum())
        self.tally.loss += float(loss[0])
        if not np.isfinite(self.coef).all():
            raise ValueError("the weights overflow: scale the data")


# What follows is done by NumPy for few scores, and by the compiled loops of `LOOPS` for many.
# `rows` is (φ,), or (indptr, indices, data) of a CSR matrix; the compiler chooses by its length.


def _score(rows: Any, i: Any, coef: Any, out: Any) -> None:
    """out ← ⟨w, φ(xᵢ)⟩ for every output."""
    if len(rows) == 1:
        out[:] = coef @ rows[0][i]
    else:
        some = slice(rows[0][i], rows[0][i + 1])
        out[:] = coef[:, rows[1][some]] @ rows[2][some]


def _score_loop(rows: Any, i: Any, coef: Any, out: Any) -> Any:
    def dense(rows: Any, i: Any, coef: Any, out: Any) -> None:
        x = rows[0][i]
        for c in range(coef.shape[0]):
            total = 0.0
            for j in range(len(x)):
                total += coef[c, j] * x[j]
            out[c] = total

    def sparse(rows: Any, i: Any, coef: Any, out: Any) -> None:
        indptr, indices, data = rows
        for c in range(coef.shape[0]):
            total = 0.0
            for at in range(indptr[i], indptr[i + 1]):
                total += coef[c, indices[at]] * data[at]
            out[c] = total

    return dense if len(rows) == 1 else sparse


def _add(rows: Any, i: Any, step: Any, coef: Any) -> None:
    """w ← w + step φ(xᵢ)."""
    if len(rows) == 1:
        coef += step * rows[0][i]
    else:
        some = slice(rows[0][i], rows[0][i + 1])
        np.add.at(coef, rows[1][some], step * rows[2][some])


def _add_loop(rows: Any, i: Any, step: Any, coef: Any) -> Any:
    def dense(rows: Any, i: Any, step: Any, coef: Any) -> None:
        x = rows[0][i]
        for j in range(len(x)):
            coef[j] += step * x[j]

    def sparse(rows: Any, i: Any, step: Any, coef: Any) -> None:
        indptr, indices, data = rows
        for at in range(indptr[i], indptr[i + 1]):
            coef[indices[at]] += step * data[at]

    return dense if len(rows) == 1 else sparse


def _cut(units: Any, ranked: bool, allowed: int) -> int:
    """How many updates a visit makes, at most `allowed`: the others are taken back."""
    if ranked:
        return 1
    made = 0
    for c in range(len(units)):
        if units[c] != 0.0:
            if made == allowed:
                units[c] = 0.0
            else:
                made += 1
    return made


#: Functions that the compiled walk calls, those of NumPy with the loops that stand for them.
LOOPS = ((_score, _score_loop), (_add, _add_loop), _cut)


def _walk(
    rows: Any, labels: Any, weights: Any, norms: Any, coef: Any, late: Any, reach: Any, bias: Any,
    bias_reach: Any, numbers: Any, rate: float, learns: bool, allowed: int, before: int, found: Any,
    units: Any, loss: Any, seen: Any,
) -> tuple[int, int]:  # fmt: skip
    """Visit all rows, and update on mistakes; gives how many updates and how many visits.

    `late` sums each update times the visits `before` it, for averages; `reach` and `bias_reach` are
    the sizes of the sums, which tell a tie from rounding.
    """
    scores, sizes = np.empty((1, coef.shape[0])), np.empty((1, coef.shape[0]))
    made = 0
    for i in range(len(labels)):
        _score(rows, i, coef, scores[0])
        for c in range(coef.shape[0]):
            sizes[0, c] = norms[i] * reach[c] + bias_reach[c]
        for c in range(coef.shape[0] if len(seen) else 0):
            seen[i, c] = scores[0, c] + bias[c]
        u = units[made]
        label = labels[i : i + 1]
        if next_update(scores, sizes, True, label, 0, 1, bias, *numbers, u, loss) == 1:  # type: ignore[call-arg]
            continue
        allowed -= _cut(u, numbers[0], allowed)
        u *= weights[i]
        for c in range(len(u)):
            if u[c] != 0.0:
                step = rate * u[c]
                _add(rows, i, step, coef[c])
                _add(rows, i, (before + i) * step, late[c])
                reach[c] += abs(step) * norms[i]
                if learns:
                    bias[c] += step
                    bias_reach[c] += abs(step)
        found[made] = i
        made += 1
        if allowed <= 0:
            return made, i + 1
    return made, len(labels)
