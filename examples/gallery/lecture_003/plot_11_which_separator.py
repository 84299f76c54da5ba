"""
Which separator is optimal?
===========================

Eight perceptrons in eight orders, and a support vector machine.
"""

from typing import Any

import matplotlib.pyplot as plt

from mercer import KernelSVC, Perceptron, data, plot

X, y = data.blobs(40)
fits: list[Any] = [Perceptron(fit_intercept=True, random_state=s).fit(X, y) for s in range(8)]
plot.separators([*fits, KernelSVC("linear()", C=1e4).fit(X, y)], X, y)
plt.show()
