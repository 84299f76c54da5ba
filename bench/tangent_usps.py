"""One nearest neighbor on USPS and on a part of MNIST: Euclid against the tangent distance."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from _harness import Row, all_cores, below, claim, data_file, main, no_data, skipped

from mercer import KernelNeighborsClassifier, Linear
from mercer.kernels import TangentDistance

#: The issue's limits: error in percent, time for all pairs in seconds ("minutes on 2 cores").
EUCLID, TANGENT, SECONDS = 5.7, 3.5, 300.0


def error(kernel: Any, data: Any) -> tuple[float, float]:
    """Test error in percent, and the seconds that all pairs take."""
    X, y, Z, t = data
    model = KernelNeighborsClassifier(kernel, n_neighbors=1).fit(X, y)
    model.predict(Z[:2])  # compile
    start = time.perf_counter()
    wrong = float(np.mean(model.predict(Z) != t))
    return 100.0 * wrong, time.perf_counter() - start


def usps() -> list[Row]:
    name = "USPS 1-NN error"
    path = data_file("usps.npz")
    if path is None:
        return [skipped(name, below(TANGENT, "%"), no_data("usps.npz"))]
    with np.load(path) as d:
        data = d["X_train"], d["y_train"], d["X_test"], d["y_test"]
    pairs = len(data[0]) * len(data[2])
    plain, _ = error(Linear(), data)
    tangent, seconds = error(TangentDistance(16, 16), data)
    one = f"{1e6 * seconds / pairs:.2f} µs a pair, {pairs / 1e6:.1f} million pairs"
    return [
        claim(f"{name}, Euclid", plain, None, below(EUCLID, "%"), "published 5.6 %"),
        claim(f"{name}, tangent distance", tangent, None, below(TANGENT, "%"), "7 transforms"),
        claim("USPS, all tangent distances", seconds, None, below(SECONDS, "s"), one),
    ]


def mnist() -> list[Row]:
    name = "MNIST 5000 / 1000 1-NN error"
    path = data_file("mnist.npz")
    if path is None:
        return [skipped(name, below(100.0, "%"), no_data("mnist.npz"))]
    with np.load(path) as d:
        X, Z = (d[part][:n].astype(np.float32) / 255 for part, n in PARTS)
        data = X, d["y_train"][:5000], Z, d["y_test"][:1000]
    plain, _ = error(Linear(), data)
    tangent, seconds = error(TangentDistance(28, 28), data)
    target = below(plain, "%")
    note = f"Euclid {plain:.1f} %; {seconds:.0f} s for 5 million pairs"
    return [claim(f"{name}, tangent distance", tangent, None, target, note)]


PARTS = (("X_train", 5000), ("X_test", 1000))


def measure() -> list[Row]:
    with all_cores():
        return usps() + mnist()


if __name__ == "__main__":
    main(measure)
