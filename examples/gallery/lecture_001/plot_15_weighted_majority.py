"""
Weighted majority
=================

Kernel regression for classes: the sign of a weighted sum of labels.
"""

import matplotlib.pyplot as plt

from mercer import NadarayaWatsonClassifier, data, plot

X, y = data.moons(100, noise=0.2)
plot.decision_regions(NadarayaWatsonClassifier(bandwidth=0.2).fit(X, y), X, y)
plt.show()
