"""Pictures: the tangent vectors of a digit, what moving along them does, and who is nearest then.

    python examples/tangent_vectors.py [folder]

writes tangent_vectors.png and tangent_neighbours.png.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from scipy.ndimage import zoom
from sklearn.datasets import load_digits

from mercer import TangentDistance
from mercer.kernels.images.tangent import tangents

SIDE = 16
NAMES = ("right", "down", "turned", "larger", "wider than high", "along a diagonal", "thicker")


def digits(n: int) -> tuple[np.ndarray, np.ndarray]:
    """scikit-learn's digits, enlarged to 16 × 16 so that a derivative means something."""
    X, y = load_digits(return_X_y=True)
    images = zoom(X[:n].reshape(-1, 8, 8) / 16, (1, 2, 2), order=1)
    return images.reshape(n, -1).astype(np.float32), y[:n]


def show(axis: Any, image: np.ndarray, title: str, signed: bool = False) -> None:
    reach = np.abs(image).max()
    low = -reach if signed else 0.0
    axis.imshow(
        image.reshape(SIDE, SIDE), cmap="RdBu_r" if signed else "gray_r", vmin=low, vmax=reach
    )
    axis.set_title(title, fontsize=9)
    axis.set_axis_off()


def vectors(image: np.ndarray, path: Path) -> None:
    """Each tangent, and the image a step against it and along it."""
    directions = tangents(image[None], (SIDE, SIDE))[0].reshape(len(NAMES), -1)
    figure, axes = plt.subplots(3, 1 + len(NAMES), figsize=(13, 5.2))
    for row in axes[:, 0]:
        row.set_axis_off()
    show(axes[1, 0], image, "the image x")
    for column, (name, tangent) in enumerate(zip(NAMES, directions, strict=True), start=1):
        step = 0.45 * np.linalg.norm(image) / np.linalg.norm(tangent)
        show(axes[0, column], np.clip(image - step * tangent, 0, None), f"less {name}")
        show(axes[1, column], tangent, f"∂x: {name}", signed=True)
        show(axes[2, column], np.clip(image + step * tangent, 0, None), f"more {name}")
    figure.suptitle("Tangent vectors of a digit: x − t, t, x + t")
    figure.tight_layout()
    figure.savefig(path, dpi=110)
    plt.close(figure)


def neighbours(X: np.ndarray, y: np.ndarray, path: Path) -> list[tuple[int, int, int]]:
    """The nearest by both distances, where they disagree."""
    kernel = TangentDistance(SIDE, SIDE)
    train, test = slice(0, 300), slice(300, 600)
    moved = kernel.tangent_distance(X[test], X[train])
    plain = np.linalg.norm(X[test][:, None] - X[train][None], axis=2)
    by_plain, by_tangent = plain.argmin(axis=1), moved.argmin(axis=1)
    wrong = np.flatnonzero(y[train][by_plain] != y[test])[:6]
    figure, axes = plt.subplots(3, len(wrong), figsize=(1.9 * len(wrong), 6), squeeze=False)
    found = []
    for column, i in enumerate(wrong):
        a, b = by_plain[i], by_tangent[i]
        labels = int(y[test][i]), int(y[train][a]), int(y[train][b])
        show(axes[0, column], X[test][i], f"a new {labels[0]}")
        show(axes[1, column], X[train][a], f"Euclid: {labels[1]}, d = {plain[i, a]:.2f}")
        show(axes[2, column], X[train][b], f"tangent: {labels[2]}, d = {moved[i, b]:.2f}")
        found.append(labels)
    figure.suptitle("Nearest neighbours under both distances, where Euclid errs")
    figure.tight_layout()
    figure.savefig(path, dpi=110)
    plt.close(figure)
    errors = [100 * np.mean(y[train][nearest] != y[test]) for nearest in (by_plain, by_tangent)]
    print(f"1-NN error on {len(moved)} digits: Euclid {errors[0]:.1f} %, tangent {errors[1]:.1f} %")
    return found


def main(folder: Path) -> None:
    X, y = digits(600)
    vectors(X[np.flatnonzero(y == 4)[0]], folder / "tangent_vectors.png")
    neighbours(X, y, folder / "tangent_neighbours.png")
    print(f"wrote tangent_vectors.png and tangent_neighbours.png to {folder}")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path())
