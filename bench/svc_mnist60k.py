"""KernelSVC against sklearn.svm.SVC on all of MNIST: fit 60000 digits, predict 10000.

The peer needs minutes, so it runs once; ours runs twice and the faster counts.
"""

from __future__ import annotations

import numpy as np
from _harness import Row, all_cores, claim, faster, main, no_data, skipped, timed
from _svc import error, fit_floor, machine, mnist, predict_floor
from sklearn.svm import SVC

N, C, GAMMA = 60_000, 5.0, 0.02
FIT = "SVC MNIST 60k fit (C 5, γ 0.02)"
PREDICT = "SVC MNIST 60k predict 10k"


def measure() -> list[Row]:
    data = mnist(N)
    if data is None:
        why = no_data("mnist.npz")
        return [skipped(FIT, faster(20), why), skipped(PREDICT, faster(50), why)]
    X, y, Z, t = data
    ours, peer = machine(C, GAMMA), SVC(C=C, gamma=GAMMA)
    with all_cores():
        machine(C, GAMMA).fit(X[:2000], y[:2000])  # compiles
        fits = [timed(lambda: ours.fit(X, y))]
        theirs = timed(lambda: peer.fit(X, y))
        fits.append(timed(lambda: ours.fit(X, y)))
        predicts = [timed(lambda: ours.predict(Z)) for _ in range(3)]
        answers: list[np.ndarray] = []
        slow = timed(lambda: answers.append(peer.predict(Z)))
    mine, other = error(ours, Z, t), 100 * float((answers[0] != t).mean())
    floors = fit_floor(ours, X, y), predict_floor(ours, Z)
    return [
        claim(
            FIT, min(fits), theirs, faster(20),
            f"{min(fits) / floors[0]:.2f} × floor; {len(ours.support_)} support vectors "
            f"({len(peer.support_)}), error {mine:.2f} % ({other:.2f} %); "
            f"two runs {fits[0]:.1f}, {fits[1]:.1f} s",
        ),
        claim(
            PREDICT, min(predicts), slow, faster(50), f"{min(predicts) / floors[1]:.2f} × floor",
        ),
    ]  # fmt: skip


if __name__ == "__main__":
    main(measure)
