"""
Mercer's theorem
================

The first eigenfunctions of two kernels on an interval, with their eigenvalues.
"""

import matplotlib.pyplot as plt

from mercer import Gaussian, Laplacian, plot

row = plt.subplots(1, 2, figsize=(9.5, 3.6), layout="constrained")[1]
plot.eigenfunctions(Gaussian(0.2), ax=row[0])
plot.eigenfunctions(Laplacian(1.0), ax=row[1])
plt.show()
