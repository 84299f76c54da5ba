"""Gaussian K @ V on MNIST, 60000 × 10000, D = 784, 10 columns: against the bare products.

The floor is what any method must do: X Zᵀ tile by tile, and each tile times V. It is measured both
ways a careful author would write it (BLAS threads on each tile; a thread per tile, as Mercer does),
in row panels of the size Mercer's own plan uses, into buffers made once; the faster one counts.
Ours may take less than this floor, which is BLAS's: pixels are multiplied as bytes.
"""

from __future__ import annotations

import numpy as np
from _bare import PANEL, Panels
from _harness import (
    MB,
    Row,
    at_most,
    below,
    claim,
    data_file,
    in_new_process,
    main,
    no_data,
    peak_growth,
    race,
    skipped,
)

from mercer.kernels import Gaussian

SIGMA, COLUMNS = 5.0, 10
NAME = "Gaussian K @ V MNIST 60000×10000, 10 columns, vs bare products"
TARGET, MEMORY = at_most(1.3), below(256, "MB")


def inputs() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    path = data_file("mnist.npz")
    assert path is not None
    with np.load(path, allow_pickle=False) as mnist:
        X = mnist["X_train"].reshape(-1, 784).astype(np.float32) / 255
        Z = mnist["X_test"].reshape(-1, 784).astype(np.float32) / 255
    V = np.random.default_rng(0).standard_normal((len(Z), COLUMNS)).astype(np.float32)
    return X, Z, V


class Products(Panels):
    """X Zᵀ V in panels of rows, nothing else."""

    def __init__(self, X: np.ndarray, Z: np.ndarray, V: np.ndarray) -> None:
        super().__init__(X, len(Z))
        self.Z, self.V = Z, V
        self.out = np.empty((len(X), V.shape[1]), X.dtype)

    def panel(self, start: int, buffer: np.ndarray) -> None:
        rows = self.X[start : start + PANEL]
        tile = np.matmul(rows, self.Z.T, out=buffer[: len(rows)])
        np.matmul(tile, self.V, out=self.out[start : start + PANEL])


def extra_memory() -> float:
    """Growth over the inputs, after a problem just large enough to be compiled for."""
    k = Gaussian(sigma=SIGMA)
    X, Z, V = inputs()
    k.gram(X[:8192], Z) @ V
    return peak_growth(lambda: k.gram(X, Z) @ V)


def measure() -> list[Row]:
    if data_file("mnist.npz") is None:
        why = no_data("mnist.npz")
        return [skipped(NAME, TARGET, why), skipped("  its extra memory", MEMORY, why)]
    X, Z, V = inputs()
    k = Gaussian(sigma=SIGMA)
    bare = Products(X, Z, V).fastest()
    times = race(lambda: k.gram(X, Z) @ V, bare, rounds=3)
    memory = in_new_process(__file__, "extra_memory") / MB
    return [
        claim(NAME, times.ours, times.peer, TARGET, f"{bare.__name__}; {times.note}"),
        claim("  its extra memory", memory, None, MEMORY, "the matrix would be 2400 MB"),
    ]


if __name__ == "__main__":
    main(measure)
