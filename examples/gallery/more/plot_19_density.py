"""
A density and its bandwidth
===========================

Leave-one-out likelihood chooses how much detail a density shows; new examples are drawn from it.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import KernelDensity, data

X, _ = data.moons(150)
likeliest = KernelDensity().fit(X)
h = likeliest.bandwidth_
print(f"h = {h:.3f} is the likeliest, by leave-one-out")
figure, row = plt.subplots(1, 3, figsize=(11, 3.5), layout="constrained")
axes = [np.linspace(*ends, 80) for ends in ((-1.6, 2.6), (-1.2, 1.7))]
grid = np.stack(np.meshgrid(*axes), axis=-1)
for ax, width in zip(row, (h, h / 4), strict=False):
    density = KernelDensity(bandwidth=width).fit(X)
    p = np.exp(density.score_samples(grid.reshape(-1, 2)))
    ax.contourf(*axes, p.reshape(grid.shape[:2]), 20)
    ax.set(title=f"h = {width:.3f}", aspect="equal")
drawn = likeliest.sample(300, random_state=0)
row[2].scatter(drawn[:, 0], drawn[:, 1], s=8)
row[2].set(title="300 draws", aspect="equal")
plt.show()
