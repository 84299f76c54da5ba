"""Power of the two-sample test beside the published curve, and sizes of the tests at 5 %.

For the linear-time statistic, a mean of h over n/2 independent pairs, the power tends to
Φ(MMD² √(n/2) / σ_h − Φ⁻¹(0.95)) (Gretton and others, Optimal kernel choice for large-scale
two-sample tests, NIPS 2012). With two normal distributions and a Gaussian kernel MMD² has a closed
form. Ours is exact at every n instead, by swaps; it must lie on the curve within the error of the
trials, and the test of all pairs above it. Distances are in standard errors of the share.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from _harness import Row, below, claim, main
from scipy.stats import norm

from mercer import Gaussian, stats

SHIFT, WIDTH, D, TRIALS, LEVEL, PERMUTATIONS = 0.5, 1.5, 2, 200, 0.05, 199


def samples(seed: int, n: int, shift: float = SHIFT) -> tuple[np.ndarray, np.ndarray]:
    X, Y = np.random.default_rng(seed).normal(size=(2, n, D))
    return X, Y + shift * np.eye(D)[0]


def published(n: int) -> float:
    """The power of the linear-time test with n examples on each side."""
    mean = (WIDTH**2 / (WIDTH**2 + 2)) ** (D / 2)
    squared = 2 * mean * (1 - np.exp(-(SHIFT**2) / (2 * (WIDTH**2 + 2))))
    (a, b), (x, y) = samples(10**6, 200_000), samples(10**6 + 1, 200_000)

    def k(u: np.ndarray, v: np.ndarray) -> np.ndarray:
        return np.asarray(np.exp(-np.square(u - v).sum(axis=1) / (2 * WIDTH**2)))

    h = k(a, x) + k(b, y) - k(a, y) - k(b, x)
    return float(norm.cdf(squared * np.sqrt(n / 2) / h.std() - norm.isf(LEVEL)))


def rejected(test: Callable[..., Any], n: int, shift: float, trials: int = TRIALS) -> float:
    options = {"permutations": PERMUTATIONS}
    found = [
        test(*samples(seed, n, shift), random_state=seed, **options).pvalue <= LEVEL
        for seed in range(trials)
    ]
    return float(np.mean(found))


def distance(share: float, wanted: float, trials: int = TRIALS) -> float:
    return abs(share - wanted) / np.sqrt(wanted * (1 - wanted) / trials)


def measure() -> list[Row]:
    kernel = Gaussian(WIDTH)
    linear = partial(stats.mmd_test, kernel=kernel, block=2)
    rows, limit = [], below(3, "standard errors")
    for n in (250, 1000, 2000):
        share, wanted = rejected(linear, n, SHIFT), published(n)
        note = f"power {share:.3f}, published {wanted:.3f}"
        name = f"linear-time MMD, {n} + {n} rows: from the published power"
        rows.append(claim(name, distance(share, wanted), None, limit, note))
    whole = rejected(partial(stats.mmd_test, kernel=kernel), 100, SHIFT)
    wanted = published(100)
    note = f"all pairs {whole:.3f}, published for linear time {wanted:.3f}"
    name = "MMD of all pairs, 100 + 100 rows: the power of linear time relative to it"
    rows.append(claim(name, wanted / whole, None, below(1, ""), note))
    tests: dict[str, Callable[..., Any]] = {
        "linear-time MMD": linear,
        "MMD, seven widths": stats.mmd_test,
        "HSIC, nine pairs of widths": stats.hsic_test,
    }
    for name, test in tests.items():
        share = rejected(test, 40, 0.0, 400)
        gap = distance(share, LEVEL, 400)
        rows.append(claim(f"{name}: size from 5 %", gap, None, limit, f"size {share:.4f}"))
    return rows


if __name__ == "__main__":
    main(measure)
