"""
One threshold, and some noise
=============================

Data on a line that one threshold parts. A little noise moves a few points to the wrong side.
"""

import matplotlib.pyplot as plt

from mercer import KernelSVC, data, plot

X, y = data.easy_line(noise=0.1)
plot.thresholds(KernelSVC("linear()", C=10).fit(X, y), X, y)
plt.show()
