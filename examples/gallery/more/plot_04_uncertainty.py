"""
A curve with its uncertainty
============================

Kernel ridge regression is the mean of a Gaussian process, and gives standard deviations.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import KernelRidge, data, plot

X, t = data.sine_linear_noise(40)
keep = (X[:, 0] < 4) | (X[:, 0] > 7)  # a gap, in which nobody knows
model = KernelRidge("gaussian(1)", alpha=0.25).fit(X[keep], t[keep])
ax = plot.regression_curve(model, X[keep], t[keep], lambda x: x / 2 + 2 * np.sin(x))
ax.set_title("no data, wide band")
plt.show()
