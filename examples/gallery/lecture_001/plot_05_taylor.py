"""
The Gaussian as a series
========================

The Gaussian has infinitely many features. Cut the series after some terms, and it is an
approximation.
"""

import matplotlib.pyplot as plt

from mercer import plot, theory

print(theory.gaussian_series([0.5, 1.0], [1.0, 0.0]))
plot.taylor_truncations()
plt.show()
