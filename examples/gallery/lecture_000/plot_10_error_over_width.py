"""
The error over the width
========================

The training error falls with the width for ever. The error on new examples does not.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import KernelSVC, data, plot

X, y = data.moons(60, noise=0.35)
more = data.moons(500, noise=0.35, random_state=1)
widths = np.geomspace(0.05, 5, 7)
machine = KernelSVC("gaussian(1)", C=10)
errors = plot.errors_over(machine, X, y, "kernel__sigma", widths, more, cv=5)
plot.error_curves(widths, errors, "σ")
plt.show()
