"""
Circles, hyperbolas, parabolas
==============================

With squares and products as features, a perceptron draws conic sections.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import Perceptron, plot
from mercer.maps import PolynomialMap

X = np.random.default_rng(0).uniform(-2, 2, (120, 2))
quadrics = {
    "circle": X[:, 0] ** 2 + X[:, 1] ** 2 - 2,
    "hyperbola": X[:, 0] * X[:, 1] - 0.3,
    "parabola": X[:, 1] - X[:, 0] ** 2 + 0.5,
}
row = plt.subplots(1, 3, figsize=(11, 3.4), layout="constrained")[1]
for ax, (name, score) in zip(row, quadrics.items(), strict=True):
    keep = np.abs(score) > 0.15
    y = np.sign(score[keep])
    model = Perceptron(PolynomialMap(2, offset=1), epochs=2000, shuffle=False).fit(X[keep], y)
    plot.decision_regions(model, X[keep], y, ax=ax).set_title(name)
plt.show()
