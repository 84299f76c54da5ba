"""
Three data sets, three smoothers
================================

A weighted mean, a local line and kernel ridge regression; each chooses its own smoothness by
leave-one-out errors.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import KernelRidge, LocalLinearRegressor, NadarayaWatsonRegressor, data, plot

sets = {
    "linear + noise": data.linear_noise,
    "sine + linear + noise": data.sine_linear_noise,
    "completely random": data.pure_noise,
}
models = {
    "weighted mean": NadarayaWatsonRegressor(),
    "local line": LocalLinearRegressor(),
    "kernel ridge": KernelRidge(
        "gaussian(1.5)", alphas=np.logspace(-4, 3, 30), fit_intercept=False
    ),
}
grid = plt.subplots(3, 3, figsize=(10, 8), layout="constrained")[1]
for row, (name, make) in zip(grid, sets.items(), strict=True):
    X, t = make(n=120, random_state=2)
    for ax, (method, model) in zip(row, models.items(), strict=True):
        plot.regression_curve(model.fit(X, t), X, t, ax=ax, label=method)
        ax.set_title(name, fontsize="medium")
plt.show()
