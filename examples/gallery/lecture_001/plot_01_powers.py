"""
A line, or five powers
======================

A linear model draws a line through the origin. On φ(x) = (x, …, x⁵) the same method draws a
curve.
"""

import matplotlib.pyplot as plt

from mercer import KernelRidge, data, plot
from mercer.kernels import FromFeatures
from mercer.maps import PowersMap

X, t = data.sine_linear_noise(60)
X = X / 5 - 1  # powers of numbers up to one stay small
row = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")[1]
for ax, degree in zip(row, (1, 5), strict=True):
    kernel = FromFeatures(PowersMap(degree).fit(X).transform)
    plot.regression_curve(
        KernelRidge(kernel, alpha=1e-3, fit_intercept=False).fit(X, t), X, t, ax=ax
    )
    ax.set_title("a line through the origin" if degree == 1 else "powers up to five")
plt.show()
