"""MMD of 5000 + 5000 rows with 1000 permutations: one kernel, and seven at once.

The peer is one dense Gram matrix and its product with 1000 columns, which is what all permutations
cost if nothing is saved. Here one triangle of K in single precision is enough.
"""

from __future__ import annotations

import numpy as np
from _harness import Row, at_most, claim, main, race

from mercer import Gaussian, stats

N, D, PERMUTATIONS = 5000, 10, 1000


def measure() -> list[Row]:
    random = np.random.default_rng(0)
    X, Y = random.normal(size=(2, N, D))
    both, W = np.concatenate([X, Y]), random.normal(size=(2 * N, PERMUTATIONS))
    kernel = Gaussian(3.0)

    def product() -> None:
        kernel(both) @ W

    one = race(lambda: stats.mmd_test(X, Y, kernel, PERMUTATIONS, 0), product, rounds=2)
    seven = race(lambda: stats.mmd_test(X, Y, None, PERMUTATIONS, 0), product, rounds=2)
    what = "vs one Gram and its product"
    return [
        claim(f"MMD 5000+5000, 1000 permutations, {what}", one.ours, one.peer, at_most(3)),
        claim("  seven widths at once", seven.ours, seven.peer, at_most(3), seven.note),
    ]


if __name__ == "__main__":
    main(measure)
