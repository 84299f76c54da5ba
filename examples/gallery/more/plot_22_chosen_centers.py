"""
Who chooses the centers
=======================

Thirty examples stand for five hundred, twenty of which are far from all others.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer.maps import NystromMap

random = np.random.default_rng(0)
X = np.vstack([0.3 * random.normal(size=(480, 2)), 3 * random.normal(size=(20, 2))])
figure, row = plt.subplots(1, 4, figsize=(12, 3.2), layout="constrained")
for ax, how in zip(row, ("uniform", "kmeans++", "leverage", "greedy"), strict=True):
    phi = NystromMap("gaussian(0.7)", 30, centers=how, random_state=0).fit(X)
    missing = 1 - np.square(phi.transform(X)).sum() / len(X)
    print(f"{how}: {100 * missing:.1f} % of k(x, x) is missing")
    ax.plot(X[:, 0], X[:, 1], ".", color="0.8")
    ax.plot(*X[phi.component_indices_].T, ".", color="#D55E00")
    ax.set(title=f"{how}: {100 * missing:.1f} % missing", aspect="equal")
plt.show()
