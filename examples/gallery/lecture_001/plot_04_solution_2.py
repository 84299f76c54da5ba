"""
Rings, solution 2: the squares
==============================

Use x₁² and x₂² alone: a line separates the rings.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import data, plot

plot.before_and_after(*data.circles(80), np.square)
plt.show()
