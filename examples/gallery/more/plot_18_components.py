"""
Components and pre-images
=========================

Two rings become two groups along a component of φ(x), and pre-images take noise off a circle.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import KernelPCA, data

X, y = data.circles(200)
pca = KernelPCA("polynomial(2)", n_components=3).fit(X)
share = pca.explained_variance_ratio_.sum()
print(f"three components hold {100 * share:.0f} % of the variance in feature space")
angle = np.linspace(0, 2 * np.pi, 150)
noisy = np.column_stack([np.cos(angle), np.sin(angle)])
noisy += 0.15 * np.random.default_rng(0).normal(size=noisy.shape)
cleaner = KernelPCA("gaussian(0.7)", 3, fit_inverse_transform=True, alpha=0.01).fit(noisy)
clean = cleaner.inverse_transform(cleaner.transform(noisy))
figure, row = plt.subplots(1, 3, figsize=(11, 3.5), layout="constrained")
for ax, rows, color, title in (
    (row[0], X, y, "two rings"),
    (row[1], pca.transform(X)[:, [0, 2]], y, "components 1 and 3 of three"),
    (row[2], noisy, "0.7", "a circle, and its pre-images"),
):
    ax.scatter(rows[:, 0], rows[:, 1], c=color, s=10)
    ax.set(title=title, aspect="equal")
row[2].plot(clean[:, 0], clean[:, 1], ".", color="#D55E00")
plt.show()
