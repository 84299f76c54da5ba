"""
Rings that no line separates
============================

Not linearly separable, with a certificate.
"""

import matplotlib.pyplot as plt

from mercer import data, plot, theory

X, y = data.circles(80)
found = theory.separability("linear()", X, y, fit_intercept=True)
print(f"separable: {found.separable}")
plot.points(X, y)
plt.show()
