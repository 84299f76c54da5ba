"""
The proof of convergence
========================

A product that grows like j stays below a length that grows like √j, so the mistakes must end.
"""

import matplotlib.pyplot as plt

from mercer import KernelPerceptron, data, plot

X, y = data.blobs(40)
X = X + [1.0, 0.5]
model = KernelPerceptron("linear()", fit_intercept=True, shuffle=False, epochs=50).fit(X, y)
plot.convergence_proof(model, X, y)
plt.show()
