"""
An input near the mean
======================

The mean of the data in feature space is out of reach. An input whose image is near it can be
found.
"""

import matplotlib.pyplot as plt

from mercer import Gaussian, data, distance_to_mean, plot, preimage

X, y = data.moons(80, noise=0.1)
kernel = Gaussian(0.5)
z = preimage(kernel, X)
print(f"distance to the mean: {distance_to_mean(kernel, z[None], X)[0]:.3f}")
plot.points(X, y).plot(*z, "k*", markersize=14)
plt.show()
