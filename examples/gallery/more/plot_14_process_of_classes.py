"""
Classes by a Gaussian process
=============================

Probabilities by Laplace's method; far from the data both classes are equally likely.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import Gaussian, GaussianProcessClassifier, data, plot

X, y = data.moons(60, noise=0.15)
model = GaussianProcessClassifier(9.0 * Gaussian(1.0)).fit(X, y)
print(f"far away: {model.predict_proba([[50.0, 50.0]]).round(2)[0]}")
sides = np.linspace(-3, 4, 50), np.linspace(-3, 3.5, 50)
grid = np.stack(np.meshgrid(*sides), axis=-1)
share = model.predict_proba(grid.reshape(-1, 2))[:, 1].reshape(50, 50)
ax = plot.points(X, y)
ax.contourf(*sides, share, np.linspace(0, 1, 11), cmap="RdBu_r", alpha=0.5, zorder=0)
plt.show()
