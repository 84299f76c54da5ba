"""
All separators at once
======================

Each separator is a point: the direction of w, and the offset.
"""

import matplotlib.pyplot as plt

from mercer import data, plot

plot.version_space(*data.blobs(40))
plt.show()
