"""
Intervals that cover
====================

The noise grows with x, and no model knows it: nine of ten new targets are inside all the same.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import KernelQuantileRegressor, KernelRidge, calibrate

random = np.random.default_rng(0)


def draw(n: int) -> tuple[np.ndarray, np.ndarray]:
    x = random.uniform(0, 4, n)
    return x[:, None], np.sin(2 * x) + 0.25 * (0.1 + x) * random.standard_t(4, n)


(x, y), (new, truth) = draw(300), draw(2000)
line = np.linspace(0, 4, 200)
models = {
    "jackknife+": calibrate(KernelRidge("gaussian(0.5)")),
    "calibrated quantiles": calibrate(
        KernelQuantileRegressor("gaussian(0.5)", (0.05, 0.95)), random_state=0
    ),
}
_, row = plt.subplots(1, 2, figsize=(7.5, 3.2), layout="constrained")
for ax, (name, model) in zip(row, models.items(), strict=True):
    low, high = model.fit(x, y).predict_interval(new, alpha=0.1).T
    covered = np.mean((truth >= low) & (truth <= high))
    print(f"{name}: 90 % asked for, {covered:.0%} covered")
    ax.fill_between(line, *model.predict_interval(line[:, None], alpha=0.1).T, alpha=0.25)
    ax.scatter(x, y, s=4, color="0.4")
    ax.set_title(f"{name}: {covered:.0%}")
plt.show()
