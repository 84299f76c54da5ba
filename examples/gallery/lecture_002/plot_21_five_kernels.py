"""
Five kernels
============

Linear, Laplacian, Gaussian, polynomial and B-spline, as surfaces.
"""

import matplotlib.pyplot as plt

from mercer import plot

plot.kernel_gallery()
plt.show()
