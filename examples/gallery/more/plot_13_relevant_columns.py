"""
Which columns matter
====================

A length per column, all learned at once: a column that does not matter gets a long one.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import Gaussian, GaussianProcessRegressor

random = np.random.default_rng(1)
X = random.uniform(-2, 2, (120, 5))
y = np.sin(2 * X[:, 0]) + 0.5 * X[:, 3] ** 2 + 0.1 * random.normal(size=120)
model = GaussianProcessRegressor(1.0 * Gaussian(np.ones(5))).fit(X, y)
lengths = model.kernel_.get_params()["kernel__sigma"]
print(f"columns that matter: {np.flatnonzero(lengths < 20).tolist()}")
_, ax = plt.subplots(figsize=(4.5, 3.2), layout="constrained")
ax.bar(range(5), 1 / lengths)
ax.set(title="1 / length of each column", xlabel="column")
plt.show()
