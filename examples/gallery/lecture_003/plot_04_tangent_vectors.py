"""
Tangent vectors
===============

What small shifts, rotations and the like do to a 4, and what that is worth for nearest
neighbors.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.ndimage import zoom

from mercer import data, plot
from mercer.kernels import TangentDistance

digits = data.digits()
y = np.asarray(digits.y)[:600]
X = zoom(digits.X[:600].reshape(-1, 8, 8), (1, 2, 2), order=1).reshape(600, -1)
plain = np.linalg.norm(X[300:, None] - X[None, :300], axis=2)
moved = TangentDistance(16, 16).tangent_distance(X[300:], X[:300])
for name, distance in (("Euclid", plain), ("tangent", moved)):
    print(f"{name}: {100 * np.mean(y[:300][distance.argmin(axis=1)] != y[300:]):.1f} % wrong")
plot.tangent_vectors(X[np.flatnonzero(y == 4)[0]])
plt.show()
