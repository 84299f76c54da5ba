"""
The error over C
================

C is the price of an error in a support vector machine. A high price follows the noise.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import KernelSVC, data, plot

X, y = data.moons(60, noise=0.35)
more = data.moons(500, noise=0.35, random_state=1)
prices = np.geomspace(0.01, 1000, 6)
errors = plot.errors_over(KernelSVC("gaussian(0.4)"), X, y, "C", prices, more, cv=5)
plot.error_curves(prices, errors, "C")
plt.show()
