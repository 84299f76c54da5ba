"""
Two spirals, unrolled
=====================

In polar form, with the winding taken out, a line separates them. Two turns: the angle runs by ω =
2π·2 per unit of radius.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import data, plot
from mercer.maps import PolarMap

plot.before_and_after(*data.spirals(160), PolarMap(winding=4 * np.pi, unrolled=True))
plt.show()
