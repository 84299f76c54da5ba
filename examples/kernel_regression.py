"""Lecture 001's three demonstrations: a weighted mean, a local line and a ridge side by side.

    python examples/kernel_regression.py [folder]

Data: a line with noise, a sine on a line with noise, nothing but noise. Look at the ends of the
first row: the weighted mean turns flat there (all its neighbours lie on one side), the local line
does not. In the last row all three find (nearly) nothing.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

from mercer import KernelRidge, LocalLinearRegressor, NadarayaWatsonRegressor
from mercer.data import linear_noise, pure_noise, sine_linear_noise

DATA: dict[str, tuple[Any, Any]] = {
    "linear + noise": (linear_noise, lambda x: x),
    "sine + linear + noise": (sine_linear_noise, lambda x: x / 2 + 2 * np.sin(x)),
    "completely random": (pure_noise, lambda x: 0 * x),
}
COLOURS = ("#0072B2", "#D55E00", "#009E73")


def models() -> dict[str, Any]:
    """Each chooses its own smoothness by leave-one-out."""
    return {
        "weighted mean (Nadaraya–Watson)": NadarayaWatsonRegressor(),
        "local line": LocalLinearRegressor(),
        "kernel ridge": KernelRidge("gaussian(1.5)", alphas=np.logspace(-4, 3, 30)),
    }


def draw(folder: Path, n: int = 120) -> Path:
    figure, grid = plt.subplots(3, 3, figsize=(12, 9), sharex=True, layout="constrained")
    for ax, title in zip(grid[0], models(), strict=True):
        ax.set_title(title)
    for row, (name, (make, truth)) in zip(grid, DATA.items(), strict=True):
        row[0].set_ylabel(name)
        X, t = make(n=n, random_state=2)
        line = np.linspace(0, 10, 400)
        for ax, model, colour in zip(row, models().values(), COLOURS, strict=True):
            model.fit(X, t)
            ax.scatter(X[:, 0], t, s=9, color="0.6", linewidths=0)
            ax.plot(line, truth(line), "--", color="0.25", linewidth=1, label="truth")
            if hasattr(model, "confidence_band"):
                value, low, high = model.confidence_band(line[:, None])
                ax.fill_between(line, low, high, color=colour, alpha=0.2, linewidth=0)
                chosen = f"h = {model.bandwidth_:.3g}"
            else:
                value, chosen = model.predict(line[:, None]), f"λ = {model.alpha_:.4g}"
            ax.plot(line, value, color=colour, linewidth=2, label=chosen)
            ax.legend(frameon=False, fontsize="small", loc="upper left")
            ax.set_ylim(min(t.min(), truth(line).min()) - 1, max(t.max(), truth(line).max()) + 1.5)
            ax.spines[["top", "right"]].set_visible(False)
    path = folder / "kernel_regression.png"
    figure.savefig(path, dpi=110)
    plt.close(figure)
    return path


def draw_boundary(folder: Path, n: int = 400) -> Path:
    """The same bandwidth for both, and little noise: what is left at the ends is bias."""
    X, t = linear_noise(n=n, noise=0.3, random_state=0)
    line = np.linspace(0, 10, 400)
    figure, axes = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
    for ax, (left, right) in zip(axes, ((-0.2, 3.0), (7.0, 10.2)), strict=True):
        ax.scatter(X[:, 0], t, s=8, color="0.7", linewidths=0)
        ax.plot(line, line, "--", color="0.25", linewidth=1, label="truth")
        for estimator, colour, name in (
            (NadarayaWatsonRegressor, COLOURS[0], "weighted mean"),
            (LocalLinearRegressor, COLOURS[1], "local line"),
        ):
            value = estimator(bandwidth=0.8).fit(X, t).predict(line[:, None])
            ax.plot(line, value, color=colour, linewidth=2, label=name)
        ax.set_xlim(left, right)
        ax.set_ylim(left - 0.8, right + 0.8)
        ax.spines[["top", "right"]].set_visible(False)
    axes[0].set_title("left end, h = 0.8")
    axes[1].set_title("right end")
    axes[0].legend(frameon=False, loc="upper left")
    path = folder / "boundary_bias.png"
    figure.savefig(path, dpi=110)
    plt.close(figure)
    return path


def main(folder: str = "pictures") -> None:
    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    for path in (draw(target), draw_boundary(target)):
        print(path)


if __name__ == "__main__":
    main(*sys.argv[1:2])
