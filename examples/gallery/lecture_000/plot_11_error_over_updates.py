"""
The error over the number of updates
====================================

A perceptron that is stopped early overfits less.
"""

import warnings

import matplotlib.pyplot as plt

from mercer import KernelPerceptron, data, plot

X, y = data.moons(60, noise=0.35)
more = data.moons(500, noise=0.35, random_state=1)
updates = [2, 5, 10, 20, 40, 80]
perceptron = KernelPerceptron("gaussian(0.25)", epochs=30, random_state=0)
with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # stopping early is the point
    errors = plot.errors_over(perceptron, X, y, "max_updates", updates, more, cv=5)
plot.error_curves(updates, errors, "updates")
plt.show()
