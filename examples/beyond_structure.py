"""Beyond the lectures: what examples without targets show. Components, pre-images, densities,
groups, discriminants, and centers that stand for all examples.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from gallery import panels, save

from mercer import (
    KernelDensity,
    KernelFisherDiscriminant,
    KernelKMeans,
    KernelPCA,
    SpectralClustering,
    data,
    preimage,
)
from mercer.maps import NystromMap


def scatter(ax: Any, X: np.ndarray, color: Any, title: str) -> None:
    ax.scatter(X[:, 0], X[:, 1], c=color, s=12, cmap="viridis")
    ax.set_title(title)
    ax.set_aspect("equal", "datalim")


def components() -> Any:
    """Two rings become two groups on a line; noise is taken off a circle by pre-images."""
    X, y = data.circles(200)
    row = panels(3)
    scatter(row[0], X, y, "two rings")
    pca = KernelPCA("polynomial(2)", n_components=3).fit(X)
    scatter(row[1], pca.transform(X)[:, [0, 2]], y, "components 1 and 3 of three")
    share = pca.explained_variance_ratio_.sum()
    print(f"three components hold {100 * share:.0f} % of the variance in feature space")
    angle = np.linspace(0, 2 * np.pi, 150)
    noisy = np.column_stack([np.cos(angle), np.sin(angle)])
    noisy += 0.15 * np.random.default_rng(0).normal(size=noisy.shape)
    clean = KernelPCA("gaussian(0.7)", 3, fit_inverse_transform=True, alpha=0.01).fit(noisy)
    scatter(row[2], noisy, "0.7", "a circle, and its pre-images")
    back = clean.inverse_transform(clean.transform(noisy))
    row[2].plot(back[:, 0], back[:, 1], ".", color="#D55E00", markersize=4)
    return row


def density() -> Any:
    """The bandwidth by leave-one-out, one too small, and draws from the density."""
    X, _ = data.moons(150)
    found = KernelDensity().fit(X)
    print(f"h = {found.bandwidth_:.3f} is likeliest, by leave-one-out")
    row = panels(3)
    low, high = X.min(axis=0) - 0.5, X.max(axis=0) + 0.5
    axes = [np.linspace(a, b, 80) for a, b in zip(low, high, strict=True)]
    grid = np.stack(np.meshgrid(*axes), axis=-1)
    for ax, h in zip(row, (found.bandwidth_, found.bandwidth_ / 4), strict=False):
        model = KernelDensity(bandwidth=h).fit(X)
        p = np.exp(model.score_samples(grid.reshape(-1, 2))).reshape(grid.shape[:2])
        ax.contourf(*axes, p, 20, cmap="viridis")
        ax.set_title(f"h = {h:.3f}")
    scatter(row[2], found.sample(300, random_state=0), "#0072B2", "draws")
    return row


def groups() -> Any:
    """Round groups around means, and groups that hang together."""
    X, y = data.moons(200, noise=0.05)
    row = panels(3)
    means = KernelKMeans("linear", n_clusters=2, random_state=0).fit(X)
    scatter(row[0], X, means.labels_, "k-means")
    graph = SpectralClustering("gaussian(0.15)", n_clusters=2, random_state=0).fit(X)
    scatter(row[1], X, graph.labels_, "groups of a graph")
    same = np.mean((graph.labels_ == 1) == (y > 0))
    right = max(same, 1 - same)  # groups have no names
    print(f"{100 * right:.0f} % of the moons are told apart without a label")
    middle = preimage("gaussian(0.5)", X[y == y[0]])
    scatter(row[2], X, np.where(y == y[0], "#0072B2", "0.8"), "the pre-image of a mean")
    row[2].plot(*middle, "*", color="#D55E00", markersize=14)
    return row


def discriminant() -> Any:
    """Three classes along the two directions that separate them best."""
    X, y = data.blobs(90, classes=3)
    model = KernelFisherDiscriminant("gaussian(1)").fit(X, y)
    row = panels(2)
    codes = np.searchsorted(model.classes_, y)
    scatter(row[0], X, codes, "three classes")
    scatter(row[1], model.transform(X), codes, "Fisher's directions")
    return row


def centers() -> Any:
    """Thirty examples that stand for five hundred, by four choices, and what each misses."""
    rng = np.random.default_rng(0)
    X = np.vstack([0.3 * rng.normal(size=(480, 2)), 3 * rng.normal(size=(20, 2))])
    row = panels(4, columns=2)
    for ax, how in zip(row, ("uniform", "kmeans++", "leverage", "greedy"), strict=True):
        phi = NystromMap("gaussian(0.7)", 30, centers=how, random_state=0).fit(X)
        F = phi.transform(X)
        missing = 1 - np.square(F).sum() / len(X)
        scatter(ax, X, "0.8", f"{how}: {100 * missing:.1f} % missing")
        chosen = X[phi.component_indices_]
        ax.plot(chosen[:, 0], chosen[:, 1], ".", color="#D55E00")
    return row


def pictures() -> Iterator[tuple[str, Any]]:
    for draw in (components, density, groups, discriminant, centers):
        yield f"structure_{draw.__name__}", draw()


if __name__ == "__main__":
    save(pictures())
