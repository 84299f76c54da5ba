"""
A hyperplane and its weight vector
==================================

w is perpendicular to the boundary.
"""

import matplotlib.pyplot as plt

from mercer import Perceptron, data, plot

X, y = data.blobs(40)
plot.weight_vectors(Perceptron(fit_intercept=True, shuffle=False).fit(X, y), X, y)
plt.show()
