"""The bandwidth of a density on 5000 × 3, 30 widths: leave-one-out against scikit-learn's search.

The peer is GridSearchCV over the same widths with its five folds, which sees four fifths of the
data and takes five fits per width; all 5000 folds would take a thousand times as long. Densities
at the same bandwidth are compared in the note.
"""

from __future__ import annotations

import numpy as np
from _harness import Row, claim, faster, main, race
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KernelDensity as Peer

from mercer.learners import KernelDensity

N, D = 5000, 3
WIDTHS = np.logspace(-1, 0.5, 30)


def measure() -> list[Row]:
    X = np.random.default_rng(0).normal(size=(N, D))
    ours = KernelDensity(bandwidths=WIDTHS)
    peer = GridSearchCV(Peer(), {"bandwidth": WIDTHS})
    fit = race(lambda: ours.fit(X), lambda: peer.fit(X), rounds=1)
    h, other = ours.bandwidth_, peer.best_params_["bandwidth"]
    same = Peer(bandwidth=h).fit(X).score_samples(X[:500])
    gap = float(np.abs(same - ours.score_samples(X[:500])).max())
    assert gap < 1e-8, gap
    note = f"h {h:.3f}, the peer's {other:.3f}; log p differs by {gap:.0e}; {fit.note}"
    name = "bandwidth of a density, 5000 × 3, 30 widths, by leave-one-out"
    return [claim(name, fit.ours, fit.peer, faster(50), note)]


if __name__ == "__main__":
    main(measure)
