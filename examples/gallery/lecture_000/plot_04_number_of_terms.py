"""
How many features a polynomial has
==================================

The number of monomials of degree d in m inputs grows fast: with d = 6 and m = 100 it is 1.6
billion.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import Polynomial, plot
from mercer.maps import PolynomialMap

plot.monomial_growth()
print(f"d = 6, m = 100: {Polynomial(6).n_dims(100):,} terms")
phi = PolynomialMap(2, offset=1).fit(np.zeros((1, 2)))
print(f"(1 + u·v)² = φ(u)·φ(v), φ(x) = {phi.formula()}")
plt.show()
