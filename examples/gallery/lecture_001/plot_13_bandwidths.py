"""
Bandwidths
==========

How far a weighted mean looks, and the error over the bandwidth.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import NadarayaWatsonRegressor, data, plot

X, t = data.sine_linear_noise()
fits = {f"h = {h}": NadarayaWatsonRegressor(bandwidth=h).fit(X, t) for h in (0.1, 0.5, 2.0)}
plot.regression_curves(fits, X, t, lambda x: x / 2 + 2 * np.sin(x))
widths = np.geomspace(0.05, 5, 10)
more = data.sine_linear_noise(400, random_state=1)
errors = plot.errors_over(NadarayaWatsonRegressor(), X, t, "bandwidth", widths, more, cv=10)
plot.error_curves(widths, errors, "h")
plt.show()
