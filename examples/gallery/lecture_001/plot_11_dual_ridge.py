"""
Ridge regression by kernels alone
=================================

The dual of ridge regression, line by line, and three penalties.
"""

import matplotlib.pyplot as plt

from mercer import KernelRidge, Polynomial, data, plot, theory

X, t = data.sine_linear_noise(6)
print(theory.ridge_dual(Polynomial(7, offset=1.0).features(X / 10), t, 0.1))
X, t = data.sine_linear_noise(60)
fits = {
    f"λ = {a:g}": KernelRidge("gaussian(1)", alpha=a, fit_intercept=False).fit(X, t)
    for a in (1e-4, 0.1, 100)
}
plot.regression_curves(fits, X, t)
plt.show()
