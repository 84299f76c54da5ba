"""
A support vector machine with a polynomial kernel
=================================================

The machine in the plane, and the same data lifted.
"""

import matplotlib.pyplot as plt

from mercer import KernelSVC, Polynomial, data, plot
from mercer.maps import PolynomialMap

X, y = data.circles(60)
machine = KernelSVC(Polynomial(2), C=1e3).fit(X, y)
print(f"f(x) = {machine.expansion_.formula()}")
plot.decision_regions(machine, X, y)
plot.feature_space(X, y, PolynomialMap(2))
plt.show()
