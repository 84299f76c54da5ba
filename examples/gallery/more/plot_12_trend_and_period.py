"""
A trend and a period
====================

The evidence finds the period of a series, and the process goes on beyond the data.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import GaussianProcessRegressor, Linear, Periodic

random = np.random.default_rng(1)
t = np.arange(0, 10, 0.2)[:, None]
y = 0.4 * t[:, 0] + np.sin(2 * np.pi * t[:, 0] / 2.5) + 0.2 * random.normal(size=len(t))
kernel = 1.0 * Linear() + 1.0 * Periodic(2.0, 1.0)
model = GaussianProcessRegressor(kernel, n_restarts=2, random_state=0).fit(t, y)
print(f"a period of {model.kernel_.get_params()['right__kernel__period']:.1f}")
ahead = np.linspace(0, 15, 200)
mean, std = model.predict(ahead[:, None], return_std=True)
_, ax = plt.subplots(figsize=(6.5, 3.2), layout="constrained")
ax.fill_between(ahead, mean - 2 * std, mean + 2 * std, alpha=0.2)
ax.plot(ahead, mean)
ax.scatter(t, y, s=8, color="0.4")
plt.show()
