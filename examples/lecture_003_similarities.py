"""Klein, "Lecture 14: Kernel Methods": nearest neighbors with ever more examples, digits and their
neighbors, rotations, tangents, deformable templates.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from gallery import panels, save
from scipy.ndimage import zoom

from mercer import (
    DeformableTemplateClassifier,
    Gaussian,
    KernelNeighborsClassifier,
    TangentDistance,
    data,
    plot,
)

SIDE = 16


def truth(X: np.ndarray) -> np.ndarray:
    """A wavy border in the unit square, and an island."""
    wave = X[:, 1] > 0.55 + 0.2 * np.sin(2.2 * np.pi * X[:, 0])
    island = np.hypot(X[:, 0] - 0.75, X[:, 1] - 0.2) < 0.13
    return np.where(wave | island, 1, 0)


def large_digits(n: int) -> tuple[np.ndarray, np.ndarray]:
    """scikit-learn's digits, enlarged to 16 × 16 so that a derivative means something."""
    digits = data.digits()
    images = zoom(digits.X[:n].reshape(-1, 8, 8), (1, 2, 2), order=1)
    return images.reshape(n, -1).astype(np.float32), np.asarray(digits.y)[:n]


def pictures() -> Iterator[tuple[str, Any]]:
    examples = np.random.default_rng(6).random((3000, 2))
    examples[0], examples[1] = (0.15, 0.45), (0.75, 0.2)  # one of each class
    row = panels(4, 2.6, 2.6)
    for ax, n in zip(row, (2, 10, 100, 3000), strict=True):
        X, y = examples[:n], truth(examples[:n])
        model = KernelNeighborsClassifier(Gaussian(0.1), n_neighbors=1).fit(X, y)
        plot.decision_regions(model, X[:100], y[:100], ax=ax, points=120, extent=(0, 1, 0, 1))
        wrong = np.mean(model.predict(examples[:1000]) != truth(examples[:1000]))
        ax.set_title(f"{n} examples, {wrong:.1%} wrong", fontsize="medium")
    yield "neighbors", row
    X, y = large_digits(600)
    train, test = slice(0, 300), slice(300, 600)
    euclid = KernelNeighborsClassifier("linear()", n_neighbors=4).fit(X[train], y[train])
    yield "neighbor_images", plot.neighbor_images(euclid, X[train], y[train], X[300:303])
    plain = np.linalg.norm(X[test][:, None] - X[train][None], axis=2)
    moved = TangentDistance(SIDE, SIDE).tangent_distance(X[test], X[train])
    errors = [100 * np.mean(y[train][d.argmin(axis=1)] != y[test]) for d in (plain, moved)]
    print(f"1-NN error on 300 digits: Euclid {errors[0]:.1f} %, tangent {errors[1]:.1f} %")
    yield "rotation_curve", plot.rotation_curve(data.glyphs(size=SIDE, pen=1.2)[0][6])
    yield "tangent_vectors", plot.tangent_vectors(X[np.flatnonzero(y == 4)[0]])
    few = np.isin(y, (0, 2, 3, 5, 7))
    templates = DeformableTemplateClassifier((SIDE, SIDE), stiffness=4.0).fit(
        X[few][:200], y[few][:200]
    )
    right = templates.score(X[few][200:], y[few][200:])
    print(f"deformable templates: {right:.1%} of {few.sum() - 200} new digits right")
    yield "deformed_templates", plot.deformed_templates(templates, X[few][200:203])
    yield "deformation", plot.deformation(templates, X[few][200])


if __name__ == "__main__":
    save(pictures())
