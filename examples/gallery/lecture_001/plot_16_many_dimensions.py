"""
Many dimensions
===============

Only the first input matters; the others move the neighbors away. Both smoothers suffer.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import LocalLinearRegressor, NadarayaWatsonRegressor

columns = (1, 2, 4, 8, 16)
models = {"weighted mean": NadarayaWatsonRegressor(), "local line": LocalLinearRegressor()}
for name, model in models.items():
    errors = []
    for width in columns:
        rng = np.random.default_rng(0)
        X, Q = rng.random((250, width)), rng.random((300, width))
        t = np.sin(6 * X[:, 0]) + 0.1 * rng.normal(size=250)
        error = model.fit(X, t).predict(Q) - np.sin(6 * Q[:, 0])
        errors.append(np.sqrt(np.mean(error**2)))
    plt.plot(columns, errors, "o-", label=name)
plt.xlabel("inputs")
plt.ylabel("root mean square error")
plt.legend()
plt.show()
