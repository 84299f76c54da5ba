"""
Dependent, but not correlated
=============================

Points on a circle: the correlation is nothing, the dependence is complete.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import stats

random = np.random.default_rng(0)
angle = random.uniform(0, 2 * np.pi, 150)
row = plt.subplots(1, 3, figsize=(11, 3.6), layout="constrained")[1]
for ax, share in zip(row, (0.0, 0.3, 1.0), strict=True):
    x, z = np.cos(angle), np.sin(angle)
    z = np.where(random.uniform(size=150) < share, z, random.permutation(z))
    p = stats.hsic_test(x, z, random_state=0).pvalue
    ax.scatter(x, z, s=8)
    ax.set_title(f"correlation {np.corrcoef(x, z)[0, 1]:.2f}, p = {p:.3f}")
plt.show()
