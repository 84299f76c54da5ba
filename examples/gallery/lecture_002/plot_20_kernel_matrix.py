"""
The kernel matrix
=================

Sorted by class, a good kernel shows blocks.
"""

import matplotlib.pyplot as plt

from mercer import Gaussian, data, plot

X, y = data.circles(60)
plot.gram(Gaussian(0.5), X, y)
plt.show()
