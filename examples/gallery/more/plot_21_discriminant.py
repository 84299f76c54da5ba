"""
Fisher's directions
===================

Three classes along the two directions of feature space that separate them best.
"""

import matplotlib.pyplot as plt

from mercer import KernelFisherDiscriminant, data

X, y = data.blobs(90, classes=3)
model = KernelFisherDiscriminant("gaussian(1)").fit(X, y)
print(f"between the classes: {model.strengths_.round(1)} times the variance within them")
figure, row = plt.subplots(1, 2, figsize=(8, 3.5), layout="constrained")
for ax, rows, title in ((row[0], X, "x"), (row[1], model.transform(X), "along the directions")):
    ax.scatter(rows[:, 0], rows[:, 1], c=y, s=10)
    ax.set_title(title)
plt.show()
