"""
A kernel machine as a network
=============================

Inputs, kernel values, a weighted sum.
"""

import matplotlib.pyplot as plt

from mercer import KernelPerceptron, data, plot

X, y = data.moons(60, noise=0.15)
model = KernelPerceptron("gaussian(0.4)", epochs=30, shuffle=False).fit(X, y)
plot.network(model.expansion_, X[:1])
plt.show()
