"""
Groups around means, groups of a graph
======================================

K-means cuts two moons in halves; the graph of a narrow kernel knows what hangs together.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import KernelKMeans, SpectralClustering, data, preimage

X, y = data.moons(200, noise=0.05)
means = KernelKMeans("linear", n_clusters=2, random_state=0).fit(X)
graph = SpectralClustering("gaussian(0.15)", n_clusters=2, random_state=0).fit(X)
same = np.mean((graph.labels_ == 1) == (y > 0))
print(f"{100 * max(same, 1 - same):.0f} % of the moons are told apart without a label")
figure, row = plt.subplots(1, 3, figsize=(11, 3.5), layout="constrained")
for ax, color, title in (
    (row[0], means.labels_, "k-means"),
    (row[1], graph.labels_, "a graph"),
    (row[2], np.where(y > 0, "#0072B2", "0.8"), "the pre-image of a mean"),
):
    ax.scatter(X[:, 0], X[:, 1], c=color, s=10)
    ax.set(title=title, aspect="equal")
row[2].plot(*preimage("gaussian(0.5)", X[y > 0]), "*", color="#D55E00", markersize=14)
plt.show()
