"""Tests by kernels: where two samples differ, whether two columns depend, when a series changes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from gallery import panels, save

from mercer import data, plot, stats


def pictures() -> Iterator[tuple[str, Any]]:
    random = np.random.default_rng(0)
    normal, heavy = random.normal(size=300), random.laplace(scale=np.sqrt(0.5), size=300)
    found = stats.mmd_test(normal, heavy, random_state=0)
    print(f"the same mean and variance, and yet two distributions: {found!r}")
    yield "witness_on_a_line", plot.witness(found)
    X, y = data.moons(200, noise=0.1)
    found = stats.mmd_test(X[y < 0], X[y > 0], random_state=0)
    print(found)
    yield "witness_in_the_plane", plot.witness(found)
    row = panels(3)
    angle = random.uniform(0, 2 * np.pi, 150)
    for ax, share in zip(row, (0.0, 0.3, 1.0), strict=True):
        x, z = np.cos(angle), np.sin(angle)
        z = np.where(random.uniform(size=150) < share, z, random.permutation(z))
        p = stats.hsic_test(x, z, random_state=0).pvalue
        ax.scatter(x, z, s=8)
        ax.set_title(f"correlation {np.corrcoef(x, z)[0, 1]:.2f}, p = {p:.3f}")
    yield "dependence", row
    parts = [random.normal(size=80), 2.5 + random.normal(size=60), 2.5 + 4 * random.normal(size=70)]
    changes = stats.change_points(np.concatenate(parts), random_state=0)
    print(changes)
    yield "changes", plot.change_points(changes)


if __name__ == "__main__":
    save(pictures())
