"""
XOR: the points and the Gram table
==================================

Four points that no line separates, and all values of K(u, v) = (u·v)².
"""

import matplotlib.pyplot as plt

from mercer import Polynomial, data, plot

X, y = data.xor()
plot.points(X, y)
plot.gram(Polynomial(2), X)
plt.show()
