"""
Images are vectors
==================

Each image is a row of pixels. A polynomial kernel of degree 4 on 784 pixels has sixteen billion
features.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import data, plot, theory

digits = data.digits()
names = [str(label) for label in np.asarray(digits.y)[:20]]
plot.images(digits.X[:20], titles=names, columns=10)
for shape, count in theory.monomial_table(785, 4).items():
    print(f"monomials with exponents {shape}: {count:,}")
plt.show()
