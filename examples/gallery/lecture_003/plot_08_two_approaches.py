"""
A tale of two approaches
========================

Nearest neighbors do not train; a perceptron does. Both take the same similarity.
"""

import matplotlib.pyplot as plt

from mercer import KernelNeighborsClassifier, KernelPerceptron, data, plot

X, y = data.moons(60, noise=0.15)
row = plt.subplots(1, 2, figsize=(9, 3.8), layout="constrained")[1]
lazy = KernelNeighborsClassifier("gaussian(0.4)", n_neighbors=1).fit(X, y)
eager = KernelPerceptron("gaussian(0.4)", epochs=30, shuffle=False).fit(X, y)
plot.decision_regions(lazy, X, y, ax=row[0])
plot.decision_regions(eager, X, y, ax=row[1])
plt.show()
