"""
Building blocks
===============

Sums, products and multiples of kernels are kernels; the proof shows which rule was used where.
"""

import matplotlib.pyplot as plt

from mercer import Gaussian, Linear, Polynomial, plot, prove

print(prove(Gaussian(2.0) * Polynomial(2, offset=1.0) + 3 * Linear()))
row = plt.subplots(1, 3, figsize=(11, 3.4), layout="constrained")[1]
for ax, one in zip(row, (Gaussian(0.5), Polynomial(2), Gaussian(0.5) * Linear()), strict=True):
    plot.kernel_shape(one, ax=ax)
plt.show()
