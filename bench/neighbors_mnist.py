"""Nearest neighbors on MNIST, 10000 × 60000, D = 784, Gaussian kernel: against the bare product.

The floor is X Zᵀ alone, tile by tile into buffers made once, in the faster of two ways a careful
author would write it (BLAS threads on each tile; a thread per tile). The peer is scikit-learn's
brute force, which needs Euclidean distances only.
Ours may take less than this floor, which is BLAS's: pixels are multiplied as bytes.
"""

from __future__ import annotations

import numpy as np
from _bare import PANEL, Panels
from _harness import (
    Row,
    at_most,
    below,
    claim,
    data_file,
    faster,
    main,
    no_data,
    race,
    skipped,
)
from sklearn.neighbors import KNeighborsClassifier

from mercer import Gaussian, KernelNeighborsClassifier

WIDTH = 11_000
NAMES = (
    "1-NN MNIST, Gaussian kernel: error",
    "1-NN MNIST 10000 × 60000, vs the bare matrix product",
    "  the same, vs KNeighborsClassifier(algorithm='brute')",
)
TARGETS = below(3.095, "%"), at_most(1.5), faster(1.0)


def inputs() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    path = data_file("mnist.npz")
    assert path is not None
    with np.load(path, allow_pickle=False) as mnist:
        X, Q = (mnist[k].reshape(-1, 784).astype(np.float32) / 255 for k in ("X_train", "X_test"))
        return X, mnist["y_train"], Q, mnist["y_test"]


class Products(Panels):
    """Q Xᵀ in tiles of `PANEL` × `WIDTH`, nothing else."""

    def __init__(self, Q: np.ndarray, Z: np.ndarray) -> None:
        super().__init__(Q, WIDTH)
        self.Z = Z

    def panel(self, start: int, buffer: np.ndarray) -> None:
        rows = self.X[start : start + PANEL]
        for at in range(0, len(self.Z), WIDTH):
            columns = self.Z[at : at + WIDTH]
            out = buffer.ravel()[: len(rows) * len(columns)].reshape(len(rows), len(columns))
            np.matmul(rows, columns.T, out=out)


def measure() -> list[Row]:
    if data_file("mnist.npz") is None:
        why = no_data("mnist.npz")
        return [skipped(name, target, why) for name, target in zip(NAMES, TARGETS, strict=True)]
    X, y, Q, labels = inputs()
    model = KernelNeighborsClassifier(Gaussian(5.0), n_neighbors=1).fit(X, y)
    model.predict(Q[:500])
    peer = KNeighborsClassifier(1, algorithm="brute").fit(X, y)
    bare = Products(Q, X).fastest()
    wrong = 100 * float((model.predict(Q) != labels).mean())
    same = float((model.kneighbors(Q[:300])[1] == peer.kneighbors(Q[:300])[1]).mean())
    floor = race(lambda: model.predict(Q), bare, rounds=2)
    brute = race(lambda: model.predict(Q), lambda: peer.predict(Q), rounds=1)
    return [
        claim(NAMES[0], wrong, None, TARGETS[0], f"Euclidean 3.09 %; same neighbor {same:.1%}"),
        claim(NAMES[1], floor.ours, floor.peer, TARGETS[1], f"{bare.__name__}; {floor.note}"),
        claim(NAMES[2], brute.ours, brute.peer, TARGETS[2], brute.note),
    ]


if __name__ == "__main__":
    main(measure)
