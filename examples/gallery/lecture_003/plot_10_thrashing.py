"""
A perceptron thrashes
=====================

An update that mends one example breaks others.
"""

import warnings

import matplotlib.pyplot as plt

from mercer import KernelPerceptron, data, plot

X, y = data.moons(40, noise=0.3)
with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # it does not converge, and that is what is shown
    model = KernelPerceptron("gaussian(0.5)", shuffle=False, epochs=5).fit(X, y)
plot.accuracy_over_visits(model, X, y)
plt.show()
