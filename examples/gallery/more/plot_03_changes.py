"""
When a series changes
=====================

First the mean changes, then the spread.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import plot, stats

random = np.random.default_rng(1)
parts = [random.normal(size=80), 2.5 + random.normal(size=60), 2.5 + 4 * random.normal(size=70)]
changes = stats.change_points(np.concatenate(parts), random_state=0)
print(changes)
plot.change_points(changes)
plt.show()
