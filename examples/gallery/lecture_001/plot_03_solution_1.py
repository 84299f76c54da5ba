"""
Rings, solution 1: the squared distance
=======================================

Add x₁² + x₂² as a third feature: a plane separates the rings.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import data, plot

plot.before_and_after(*data.circles(80), lambda Z: np.c_[Z, (Z**2).sum(axis=1)])
plt.show()
