"""
Only support vectors matter
===========================

Fitted on its support vectors alone, the machine is the same.
"""

import matplotlib.pyplot as plt

from mercer import KernelSVC, data, plot

X, y = data.blobs(40)
widest = KernelSVC("linear()", C=1e4).fit(X, y)
kept = widest.support_
alone = KernelSVC("linear()", C=1e4).fit(X[kept], y[kept])
row = plt.subplots(1, 2, figsize=(9, 3.8), layout="constrained")[1]
plot.decision_regions(widest, X, y, ax=row[0]).set_title(f"all {len(X)} examples")
plot.decision_regions(alone, X, y, ax=row[1], support=kept)
row[1].set_title(f"{len(kept)} support vectors alone")
plt.show()
