"""
Nearest neighbors with ever more examples
=========================================

The truth is a wavy border and an island. More examples come closer to it.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import Gaussian, KernelNeighborsClassifier, plot


def truth(X: np.ndarray) -> np.ndarray:
    wave = X[:, 1] > 0.55 + 0.2 * np.sin(2.2 * np.pi * X[:, 0])
    island = np.hypot(X[:, 0] - 0.75, X[:, 1] - 0.2) < 0.13
    return np.where(wave | island, 1, 0)


examples = np.random.default_rng(6).random((10_000, 2))
examples[0], examples[1] = (0.15, 0.45), (0.75, 0.2)  # one of each class
new = np.random.default_rng(7).random((2000, 2))
row = plt.subplots(1, 4, figsize=(11, 3.2), layout="constrained")[1]
for ax, n in zip(row, (2, 10, 100, 10_000), strict=True):
    X, y = examples[:n], truth(examples[:n])
    model = KernelNeighborsClassifier(Gaussian(0.1), n_neighbors=1).fit(X, y)
    plot.decision_regions(model, X[:100], y[:100], ax=ax, points=100, extent=(0, 1, 0, 1))
    wrong = np.mean(model.predict(new) != truth(new))
    ax.set_title(f"{n} examples, {wrong:.1%} wrong", fontsize="medium")
plt.show()
