"""
All rotations of an image
=========================

A curve in 256 dimensions, seen from a good side, with its tangent.
"""

import matplotlib.pyplot as plt

from mercer import data, plot

plot.rotation_curve(data.glyphs(size=16, pen=1.2)[0][6])
plt.show()
