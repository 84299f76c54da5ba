"""
Three classes, three weight vectors
===================================

The highest score wins.
"""

import matplotlib.pyplot as plt

from mercer import Perceptron, data, plot

X, y = data.blobs(60, classes=3)
plot.weight_vectors(Perceptron(fit_intercept=True, shuffle=False).fit(X, y), X, y)
plt.show()
