"""Lecture 003: the map of the nearest neighbour with 2, 10, 100 and 10000 examples, and the truth.

python examples/nearest_neighbours.py [folder]
"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

from mercer import Gaussian, KernelNeighborsClassifier

COLOURS = ("#0072B2", "#D55E00")


def truth(X: np.ndarray) -> np.ndarray:
    """A wavy border in the unit square, and an island."""
    wave = X[:, 1] > 0.55 + 0.2 * np.sin(2.2 * np.pi * X[:, 0])
    island = np.hypot(X[:, 0] - 0.75, X[:, 1] - 0.2) < 0.13
    return np.where(wave | island, 1, 0)


def draw(folder: Path, sizes: tuple[int, ...] = (2, 10, 100, 10_000), pixels: int = 300) -> Path:
    side = np.linspace(0, 1, pixels)
    grid = np.column_stack([c.ravel() for c in np.meshgrid(side, side)])
    figure, axes = plt.subplots(
        1, len(sizes) + 1, figsize=(3 * (len(sizes) + 1), 3.3), layout="constrained"
    )
    rng = np.random.default_rng(6)
    examples = rng.random((max(sizes), 2))
    examples[0], examples[1] = (0.15, 0.45), (0.75, 0.2)  # one of each class
    show(axes[0], truth(grid), pixels, "truth")
    for ax, n in zip(axes[1:], sizes, strict=True):
        X, y = examples[:n], truth(examples[:n])
        model = KernelNeighborsClassifier(Gaussian(0.1), n_neighbors=1).fit(X, y)
        found = model.predict(grid)
        wrong = (found != truth(grid)).mean()
        show(ax, found, pixels, f"{n} examples, {wrong:.1%} wrong")
        if n <= 100:
            for c in (0, 1):
                part = X[y == c]
                ax.scatter(*part.T, s=16, color=COLOURS[c], edgecolors="white", linewidths=0.6)
    path = folder / "nearest_neighbours.png"
    figure.savefig(path, dpi=110)
    plt.close(figure)
    return path


def show(ax: plt.Axes, labels: np.ndarray, pixels: int, title: str) -> None:
    from matplotlib.colors import ListedColormap

    light = ListedColormap(["#B9D6E8", "#F2C6A5"])
    ax.imshow(
        labels.reshape(pixels, pixels),
        origin="lower",
        extent=(0, 1, 0, 1),
        cmap=light,
        vmin=0,
        vmax=1,
    )
    ax.set_title(title, fontsize="medium")
    ax.set_xticks([])
    ax.set_yticks([])


def main(folder: str = "pictures") -> None:
    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    print(draw(target))


if __name__ == "__main__":
    main(*sys.argv[1:2])
