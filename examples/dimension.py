"""Lecture 001: how kernel regression and local regression suffer as the dimension grows.

    python examples/dimension.py [folder]

The target depends on the first input only; all others are there to be in the way. Left, the error
on new examples for a fixed number of training examples; right, why: the distance to the nearest
example, as a share of the distance to a random one, goes to 1. There is no neighbourhood left.
"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

from mercer import KernelNeighborsRegressor, LocalLinearRegressor, NadarayaWatsonRegressor

DIMENSIONS = (1, 2, 3, 5, 8, 12, 20)


def measure(n: int, dimensions: tuple[int, ...], rounds: int) -> dict[str, np.ndarray]:
    """Root mean squared errors and relative distances, one row a dimension."""
    found: dict[str, list[list[float]]] = {"weighted mean": [], "local line": [], "near": []}
    for columns in dimensions:
        parts: dict[str, list[float]] = {name: [] for name in found}
        for seed in range(rounds):
            rng = np.random.default_rng(seed)
            X, Q = rng.random((n, columns)), rng.random((400, columns))
            t = np.sin(6 * X[:, 0]) + 0.1 * rng.normal(size=n)
            goal = np.sin(6 * Q[:, 0])
            for name, model in (
                ("weighted mean", NadarayaWatsonRegressor()),
                ("local line", LocalLinearRegressor()),
            ):
                error = model.fit(X, t).predict(Q) - goal
                parts[name].append(float(np.sqrt(np.mean(error**2))))
            # The linear kernel's feature space is the space itself: plain Euclidean distances.
            search = KernelNeighborsRegressor("linear()", n_neighbors=1).fit(X, t)
            nearest = search.kneighbors(Q)[0].mean()
            typical = np.linalg.norm(Q - X[rng.integers(0, n, 400)], axis=1).mean()
            parts["near"].append(float(nearest / typical))
        for name, values in parts.items():
            found[name].append(values)
    return {name: np.array(values) for name, values in found.items()}


def draw(
    folder: Path, n: int = 250, dimensions: tuple[int, ...] = DIMENSIONS, rounds: int = 2
) -> Path:
    found = measure(n, dimensions, rounds)
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
    for name, colour in (("weighted mean", "#0072B2"), ("local line", "#D55E00")):
        left.plot(dimensions, found[name].mean(axis=1), "o-", color=colour, label=name)
    constant = float(np.sqrt(np.var(np.sin(6 * np.linspace(0, 1, 1000)))))
    left.axhline(constant, color="0.4", linestyle="--", linewidth=1, label="a constant")
    left.set_ylim(0, None)
    left.set_ylabel("root mean squared error")
    left.set_title(f"{n} examples, one input matters")
    left.legend(frameon=False)
    right.plot(dimensions, found["near"].mean(axis=1), "o-", color="#009E73")
    right.set_ylim(0, 1)
    right.set_title("nearest example / a random one, by distance")
    for ax in (left, right):
        ax.set_xlabel("inputs")
        ax.set_xticks(dimensions)
        ax.spines[["top", "right"]].set_visible(False)
    path = folder / "dimension.png"
    figure.savefig(path, dpi=110)
    plt.close(figure)
    return path


def main(folder: str = "pictures") -> None:
    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    print(draw(target))


if __name__ == "__main__":
    main(*sys.argv[1:2])
