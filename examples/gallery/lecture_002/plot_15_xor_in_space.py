"""
XOR in three dimensions
=======================

Lifted by (x₁², √2x₁x₂, x₂²), a plane separates what no line could.
"""

import matplotlib.pyplot as plt

from mercer import data, plot
from mercer.maps import PolynomialMap

plot.before_and_after(*data.xor(40, noise=0.2), PolynomialMap(2))
plt.show()
