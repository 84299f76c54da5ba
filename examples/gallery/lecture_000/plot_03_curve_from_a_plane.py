"""
A plane above, a curve below
============================

What is linear in the feature space is curved in the input space: both panels show the same
boundary.
"""

import matplotlib.pyplot as plt

from mercer import data, plot
from mercer.maps import PolynomialMap

plot.before_and_after(*data.circles(80), PolynomialMap(2))
plt.show()
