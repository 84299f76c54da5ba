"""
Sets of classes
===============

Where the classes overlap, the set that misses one time in twenty holds both.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import KernelLogisticRegression, calibrate, data

random = np.random.default_rng(0)
X, y = data.blobs(300)
X = X + 0.6 * random.normal(size=X.shape)
model = calibrate(KernelLogisticRegression("gaussian(1)"), random_state=0).fit(X, y)
sizes = model.predict_set(X, alpha=0.05).sum(axis=1)
print(f"both classes are possible for {np.mean(sizes > 1):.0%} of the points")
_, ax = plt.subplots(figsize=(4.5, 3.6), layout="constrained")
ax.scatter(X[:, 0], X[:, 1], c=sizes, s=12, cmap="cividis")
ax.set_title("one class, or both (bright)")
plt.show()
