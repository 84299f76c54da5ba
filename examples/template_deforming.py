"""A picture: ideal digits, and how they bend to fit an image, each at its price.

    python examples/template_deforming.py [folder]

writes template_deforming.png.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from scipy.ndimage import zoom
from sklearn.datasets import load_digits

from mercer import DeformableTemplateClassifier
from mercer.solvers.images.warping import fit_warps

SIDE, DIGITS = 16, (0, 2, 3, 5, 7)


def show(axis: Any, image: np.ndarray, title: str) -> None:
    axis.imshow(image.reshape(SIDE, SIDE), cmap="gray_r")
    axis.set_title(title, fontsize=9)
    axis.set_xticks([])
    axis.set_yticks([])


def grid(axis: Any, model: DeformableTemplateClassifier, image: np.ndarray, place: int) -> None:
    """The lines of the template's own grid, as the best fit bends them."""
    template = model.templates_[place].ravel()
    steps, _ = fit_warps(model._warps, image[None], template, model.scale_, model.iterations)
    rows, columns = (at.reshape(SIDE, SIDE) for at in model._warps.places(steps))
    for i in range(0, SIDE, 3):
        axis.plot(columns[i], rows[i], color="tab:red", linewidth=0.6)
        axis.plot(columns[:, i], rows[:, i], color="tab:red", linewidth=0.6)


def main(folder: Path) -> None:
    X, y = load_digits(return_X_y=True)
    chosen = np.isin(y, DIGITS)
    X = zoom(X[chosen].reshape(-1, 8, 8) / 16, (1, 2, 2), order=1).reshape(chosen.sum(), -1)
    y = y[chosen]
    model = DeformableTemplateClassifier((SIDE, SIDE), stiffness=4.0).fit(X[:300], y[:300])
    print(f"accuracy on 200 new digits: {100 * model.score(X[300:500], y[300:500]):.1f} %")

    shown = [int(np.flatnonzero(y[300:] == digit)[1]) + 300 for digit in (2, 3, 5)]
    prices = model.energies(X[shown])
    figure, axes = plt.subplots(1 + len(shown), 1 + len(DIGITS), figsize=(10, 7.4))
    axes[0, 0].set_axis_off()
    for place, digit in enumerate(DIGITS):
        show(axes[0, place + 1], model.templates_[place], f"the ideal {digit}")
    for row, i in enumerate(shown, start=1):
        show(axes[row, 0], X[i], "an image")
        best = int(np.argmin(prices[row - 1]))
        for place, digit in enumerate(DIGITS):
            mark = " ← best" if place == best else ""
            bent = model.deform(X[i : i + 1], digit)
            show(axes[row, place + 1], bent, f"price {prices[row - 1, place]:.0f}{mark}")
            grid(axes[row, place + 1], model, X[i], place)
    figure.suptitle("Each template bent to fit the image on the left, and where it was read")
    figure.tight_layout()
    figure.savefig(folder / "template_deforming.png", dpi=110)
    plt.close(figure)
    print(f"wrote template_deforming.png to {folder}")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path())
