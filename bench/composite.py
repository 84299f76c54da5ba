"""Four kernels on the same inputs cost one matrix product: against the Gaussian alone, D = 784."""

from __future__ import annotations

import numpy as np
from _harness import Row, at_most, claim, main, race

from mercer.kernels import Gaussian, Matern, Polynomial, RationalQuadratic

N, D = 8192, 784


def measure() -> list[Row]:
    rng = np.random.default_rng(0)
    A = rng.random((N, D), dtype=np.float32)
    B = rng.random((N, D), dtype=np.float32)
    alone = Gaussian(sigma=8.0)
    four = (
        alone * Polynomial(2, offset=1.0)
        + 0.5 * RationalQuadratic(1.0, 10.0)
        + Matern(1.5, 10.0)
    )  # fmt: skip
    times = race(lambda: four(A, B), lambda: alone(A, B))
    name = "four kernels 8192², D 784, vs Gaussian alone"
    return [claim(name, times.ours, times.peer, at_most(1.5), times.note)]


if __name__ == "__main__":
    main(measure)
