"""
More data, or a better model?
=============================

The score on training and held-out examples as the number of examples grows.
"""

import matplotlib.pyplot as plt

from mercer import KernelSVC, data, plot

X, y = data.moons(300, noise=0.3)
plot.learning_curve(KernelSVC("gaussian(0.5)"), X, y)
plt.show()
