"""
Hebb's rule and the perceptron
==============================

Hebb adds every example; the perceptron adds only those it got wrong.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import data, plot

X, y = data.blobs(40)
stretched, labels = np.vstack([X * [1, 2], [[1.5, -2.0]]]), np.append(y, 1)
plot.hebb_and_perceptron(stretched, labels)
plt.show()
