"""
Principal components of two rings
=================================

Center the Gram matrix and take its eigenvectors: the rings come apart.
"""

import matplotlib.pyplot as plt

from mercer import KernelPCA, data, plot

X, y = data.circles(120)
components = KernelPCA("gaussian(0.5)", 2).fit_transform(X)
plot.points(X, y).set_title("two rings")
plot.points(components, y).set_title("their first two kernel principal components")
plt.show()
