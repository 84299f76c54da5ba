"""
A metric, round by round
========================

Two of eight directions matter, and neither is a column. A recursive feature machine fits, sees how
f changes with x, and bends its metric M: the picture of M becomes that of the two directions.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import RFMRegressor

random = np.random.default_rng(0)
X = random.normal(size=(500, 8))
along, across = (X[:, 0] + X[:, 1]) / np.sqrt(2), (X[:, 4] - X[:, 5]) / np.sqrt(2)
y = np.sin(2 * along) + across**2

model = RFMRegressor("full", rounds=3, norm=2, inputs="values").fit(X[:400], y[:400])
fixed = RFMRegressor("fixed", norm=2, inputs="values").fit(X[:400], y[:400])
print(f"R² with a fixed metric  {fixed.score(X[400:], y[400:]):.3f}")
print(f"R² with a learned one   {model.score(X[400:], y[400:]):.3f}")

truth = np.zeros((8, 8))
truth[np.ix_([0, 1], [0, 1])] = 1.0
truth[np.ix_([4, 5], [4, 5])] = [[1.0, -1.0], [-1.0, 1.0]]
pictures = {"M at first": np.eye(8)}
pictures |= {f"after round {i + 1}": M for i, M in enumerate(model.metrics_)}
pictures["directions that matter"] = truth
figure, axes = plt.subplots(1, len(pictures), figsize=(11, 2.6), layout="constrained")
for ax, (title, M) in zip(axes, pictures.items(), strict=True):
    ax.imshow(M / np.abs(M).max(), cmap="RdBu_r", vmin=-1, vmax=1)
    ax.set(title=title, xticks=[], yticks=[])
plt.show()
