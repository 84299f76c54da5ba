"""
Too hard for a threshold
========================

One class on both sides of the other. The map x ↦ (x, x²) moves the points to a parabola, where
a line separates them.
"""

import matplotlib.pyplot as plt

from mercer import data, plot
from mercer.maps import PowersMap

plot.points(*data.hard_line())
plot.before_and_after(*data.hard_line(), PowersMap(2))
plt.show()
