"""
Principal components of two rings
=================================

Center the Gram matrix and take its eigenvectors: the rings come apart.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import Gaussian, data, plot

X, y = data.circles(120)
center = np.eye(len(X)) - 1 / len(X)
values, vectors = np.linalg.eigh(center @ Gaussian(0.5)(X) @ center)
components = vectors[:, :-3:-1] * np.sqrt(values[:-3:-1])
plot.points(X, y).set_title("two rings")
plot.points(components, y).set_title("their first two kernel principal components")
plt.show()
