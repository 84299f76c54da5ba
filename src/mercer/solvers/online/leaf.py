"""A few rows in sequence, with K between them at hand: one compiled loop instead of many calls.

Where mistakes are rare, a leaf asks for one column of K per update, by a call each. Where they are
many, the calls cost more than the kernel: then K of the whole leaf is made by one product, and the
loop below goes from update to update by itself. Which of the two it will be is not known ahead.
`buys` decides as one who rents before buying: the whole is made when the columns have cost about as
much, so that neither choice costs more than twice the better one.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer._machine.jit import with_callees
from mercer.solvers.online.rule import COMPILED, RULE, next_update

#: What the calls for one column of K cost, in operations of a product: some 50 microseconds.
CALLS = 1_000_000
#: By how much an entry of K is cheaper in a square than in a column alone, which waits for memory.
SQUARE = 4


def buys(columns: int, rows: int, flops: float) -> bool:
    """Whether K of `rows` × `rows` is worth it after so many columns; `flops`: of an entry."""
    return columns * (CALLS + SQUARE * rows * flops) >= rows * rows * flops


def leaf_walker(scores: int) -> Any:
    """`walk_leaf`, compiled where a pass over the examples reads so many scores."""
    return with_callees(walk_leaf, RULE) if scores >= COMPILED else walk_leaf


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
