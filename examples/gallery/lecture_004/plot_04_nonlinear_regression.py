"""
Non-linear regression
=====================

θ·x, and θ·φ(x) with a radial basis.
"""

import matplotlib.pyplot as plt

from mercer import KernelRidge, Linear, data, plot

X, t = data.sine_linear_noise(60)
fits = {
    "θ·x": KernelRidge(Linear(), fit_intercept=False).fit(X, t),
    "θ·φ(x), radial basis": KernelRidge("gaussian(1)", alpha=0.1, fit_intercept=False).fit(X, t),
}
plot.regression_curves(fits, X, t)
plt.show()
