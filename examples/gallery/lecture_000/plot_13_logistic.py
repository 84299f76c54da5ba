"""
Logistic regression in terms of the examples
============================================

The same trick for another linear model: w = Σ αⱼ φ(xⱼ).
"""

import matplotlib.pyplot as plt

from mercer import KernelLogisticRegression, data, plot

X, y = data.moons(60, noise=0.35)
model = KernelLogisticRegression("gaussian(0.6)", alpha=0.1).fit(X, y)
plot.decision_regions(model, X, y)
plt.show()
