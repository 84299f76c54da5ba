"""
Nine quantiles at once
======================

The levels of 10 to 90 per cent, learned together; none crosses another.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import KernelQuantileRegressor

random = np.random.default_rng(0)
x = random.uniform(0, 4, (300, 1))
y = np.sin(2 * x[:, 0]) + 0.3 * (0.1 + x[:, 0]) * random.normal(size=300)
model = KernelQuantileRegressor("gaussian(0.5)", np.arange(1, 10) / 10).fit(x, y)
below = np.mean(y[:, None] < model.predict_quantiles(x), axis=0)
print("below each level:", below.round(2))
line = np.linspace(0, 4, 200)[:, None]
_, ax = plt.subplots(figsize=(5.0, 3.6), layout="constrained")
ax.plot(line, model.predict_quantiles(line), linewidth=0.8, color="#0072B2")
ax.scatter(x, y, s=4, color="0.4")
plt.show()
