"""
Where two samples differ
========================

The same mean and variance, and yet two distributions: a test finds it, and the witness function
shows where.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import data, plot, stats

random = np.random.default_rng(0)
normal, heavy = random.normal(size=300), random.laplace(scale=np.sqrt(0.5), size=300)
found = stats.mmd_test(normal, heavy, random_state=0)
print(f"two distributions? {found!r}")
plot.witness(found)
X, y = data.moons(200, noise=0.1)
plot.witness(stats.mmd_test(X[y < 0], X[y > 0], random_state=0))
plt.show()
