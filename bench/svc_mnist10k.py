"""KernelSVC against sklearn.svm.SVC on the first 10000 digits: fit, and predict 10000 others.

C = 5, γ = 0.02, both at their default tolerance. The floor beside each time is the matrix products
alone: rows of the support vectors over each pair for fit, test rows over all of them for predict.
"""

from __future__ import annotations

from _harness import Row, claim, faster, main, no_data, race, skipped
from _svc import error, fit_floor, machine, mnist, predict_floor
from sklearn.svm import SVC

N, C, GAMMA = 10_000, 5.0, 0.02
FIT = "SVC MNIST 10k fit (C 5, γ 0.02)"
PREDICT = "SVC MNIST 10k predict 10k"


def measure() -> list[Row]:
    data = mnist(N)
    if data is None:
        why = no_data("mnist.npz")
        return [skipped(FIT, faster(8), why), skipped(PREDICT, faster(20), why)]
    X, y, Z, t = data
    ours, peer = machine(C, GAMMA), SVC(C=C, gamma=GAMMA)
    fit = race(lambda: ours.fit(X, y), lambda: peer.fit(X, y), rounds=3)
    mine, other = error(ours, Z, t), error(peer, Z, t)
    assert abs(mine - other) < 0.05, (mine, other)
    predict = race(lambda: ours.predict(Z), lambda: peer.predict(Z), rounds=2)
    floors = fit_floor(ours, X, y), predict_floor(ours, Z)
    return [
        claim(
            FIT, fit.ours, fit.peer, faster(8),
            f"{fit.ours / floors[0]:.2f} × floor; {len(ours.support_)} support vectors "
            f"({len(peer.support_)}), error {mine:.2f} % ({other:.2f} %); {fit.note}",
        ),
        claim(
            PREDICT, predict.ours, predict.peer, faster(20),
            f"{predict.ours / floors[1]:.2f} × floor; {predict.note}",
        ),
    ]  # fmt: skip


if __name__ == "__main__":
    main(measure)
