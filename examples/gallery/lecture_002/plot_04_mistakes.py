"""
Mistakes below their bound
==========================

The convergence theorem next to what happened.
"""

import matplotlib.pyplot as plt

from mercer import KernelPerceptron, data, plot, theory

X, y = data.blobs(40)
X = X + [1.0, 0.5]
model = KernelPerceptron("linear()", fit_intercept=True, shuffle=False, epochs=50).fit(X, y)
print(theory.report(model, X, y))
plot.mistakes_against_bound(model, X, y)
plt.show()
