"""
The width of a Gaussian
=======================

A narrow Gaussian draws an island around each point; a wide one draws almost a line.
"""

import matplotlib.pyplot as plt

from mercer import Gaussian, KernelSVC, data, plot

X, y = data.moons(60, noise=0.35)
row = plt.subplots(1, 3, figsize=(11, 3.4), layout="constrained")[1]
for ax, sigma in zip(row, (0.1, 0.6, 3.0), strict=True):
    plot.decision_regions(KernelSVC(Gaussian(sigma), C=10).fit(X, y), X, y, ax=ax)
    ax.set_title(f"σ = {sigma}")
plt.show()
