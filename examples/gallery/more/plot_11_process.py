"""
A Gaussian process that learns its kernel
=========================================

The width and the noise maximize the evidence; between the data the error bars open.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import Gaussian, GaussianProcessRegressor, plot

random = np.random.default_rng(1)
x = np.sort(np.append(random.uniform(0, 3, 15), random.uniform(5, 6, 6)))[:, None]
y = np.sin(2 * x[:, 0]) + 0.15 * random.normal(size=21)
model = GaussianProcessRegressor(Gaussian(1.0)).fit(x, y)
print(f"learned: {model.kernel_}, noise {model.noise_:.3f}")
ax = plot.regression_curve(model, x, y, lambda t: np.sin(2 * t))
line = np.linspace(0, 6, 150)[:, None]
ax.plot(line, model.sample_y(line, 4, random_state=0), color="0.6", linewidth=0.6, zorder=1)
plt.show()
