"""Klein, "Lecture 14: Kernel Methods": which of the separators is optimal, its margin δ, and the
examples that matter.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from gallery import panels, save

from mercer import KernelSVC, Perceptron, data, plot, theory


def pictures() -> Iterator[tuple[str, Any]]:
    X, y = data.blobs(40)
    fits: list[Any] = [Perceptron(fit_intercept=True, random_state=s).fit(X, y) for s in range(8)]
    widest = KernelSVC("linear()", C=1e4).fit(X, y)
    yield "which_separator", plot.separators([*fits, widest], X, y)
    yield "margin", plot.margin(X, y)
    kept = widest.support_
    row = panels(2)
    plot.decision_regions(widest, X, y, ax=row[0]).set_title(f"all {len(X)} examples")
    alone = KernelSVC("linear()", C=1e4).fit(X[kept], y[kept])
    plot.decision_regions(alone, X, y, ax=row[1], support=kept)
    row[1].set_title(f"{len(kept)} support vectors alone")
    yield "support_vectors", row
    found = theory.separability("linear()", X, y, fit_intercept=True)
    R = theory.radius("linear()", X)
    for n in (40, 4_000, 400_000):
        bound = theory.margin_bound(n, R, found.margin)
        print(f"PAC: {n:>7,} examples of this margin: error at most {bound:.3f} (95 %)")
    digits = data.digits()
    labels = np.asarray(digits.y)
    pair = np.isin(labels, (3, 8))
    machine = KernelSVC("gaussian(2)").fit(digits.X[pair], labels[pair])
    yield "support_images", plot.support_images(machine)
    one = digits.X[pair][:1]
    yield "contributions", plot.contributions(machine.expansion_, one)


if __name__ == "__main__":
    save(pictures())
