"""
The line, lifted
================

(x, x²): 1 goes to (1, 1), and −1 to (−1, 1).
"""

import matplotlib.pyplot as plt

from mercer import data, plot
from mercer.maps import PowersMap

X, y = data.hard_line()
plot.feature_space(X, y, PowersMap(2))
plt.show()
