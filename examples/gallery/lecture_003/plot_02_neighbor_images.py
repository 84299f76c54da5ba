"""
The nearest images
==================

New digits, and the training images closest to them.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import KernelNeighborsClassifier, data, plot

digits = data.digits()
X, y = np.asarray(digits.X), np.asarray(digits.y)
model = KernelNeighborsClassifier("linear()", n_neighbors=4).fit(X[:1000], y[:1000])
plot.neighbor_images(model, X[:1000], y[:1000], X[1000:1003])
plt.show()
