"""
An input near the mean
======================

The mean of the data in feature space is out of reach. An input whose image is near it can be
found.
"""

import matplotlib.pyplot as plt

from mercer import Gaussian, data, distance_to_mean, plot

X, y = data.moons(80, noise=0.1)
kernel, z = Gaussian(0.5), X[:1].copy()
for _ in range(100):
    weights = kernel(X, z)
    z = (weights * X).sum(axis=0, keepdims=True) / weights.sum()
print(f"distance to the mean: {distance_to_mean(kernel, z, X)[0]:.3f}")
plot.points(X, y).plot(*z[0], "k*", markersize=14)
plt.show()
