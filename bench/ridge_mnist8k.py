"""KernelRidge against scikit-learn's on 8192 digits: ten outputs, fit, predict 10000, memory, path.

X is float32, as images come; the ten targets are what one-hot encoding gives, float64. Mercer
computes in the precision of X; scikit-learn computes K in float32 and then solves in float64. With
targets turned into float32 beforehand it solves in float32, too: the note has that race as well.

The path is 50 penalties with exact leave-one-out errors from one reduction of K to a
tridiagonal matrix. It is compared with one fit by Cholesky, and with one fit by the eigenvectors
of K.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from _harness import (
    MB,
    Row,
    all_cores,
    at_most,
    claim,
    faster,
    in_new_process,
    main,
    no_data,
    peak_growth,
    race,
    skipped,
    timed,
)
from _svc import mnist
from sklearn.kernel_ridge import KernelRidge as Peer

from mercer.kernels import Gaussian
from mercer.learners import KernelRidge

N, GAMMA, ALPHA = 8192, 0.02, 0.1
ALPHAS = np.logspace(-2, 2, 50)
FIT = "ridge MNIST 8k, ten outputs, float32: fit"
PREDICT, MEMORY = "  predict 10k", "  peak memory of fit"
PATH = "  path of 50 alphas with leave-one-out, vs one fit by Cholesky"
SAME = "  the same, vs one fit by eigh"


def models() -> tuple[Any, Any]:
    ours = KernelRidge(Gaussian.from_gamma(GAMMA), ALPHA, solver="cholesky", fit_intercept=False)
    return ours, Peer(kernel="rbf", gamma=GAMMA, alpha=ALPHA)


def growth(which: int) -> float:
    """Bytes that a fit adds at its highest; a small one has compiled and loaded before."""
    data = mnist(N)
    assert data is not None
    X, Y = data[0], np.eye(10)[data[1]]
    model = models()[which]
    with all_cores():
        model.fit(X[:1500], Y[:1500])
        return peak_growth(lambda: model.fit(X, Y))


def measure() -> list[Row]:
    data = mnist(N)
    if data is None:
        why = no_data("mnist.npz")
        names = [(FIT, faster(3)), (PREDICT, faster(5)), (MEMORY, at_most(0.5, "MB"))]
        return [skipped(n, t, why) for n, t in [*names, (PATH, at_most(4)), (SAME, at_most(4))]]
    X, y, Z, t = data
    Y = np.eye(10)[y]
    ours, peer = models()
    fit = race(lambda: ours.fit(X, Y), lambda: peer.fit(X, Y), rounds=3)
    predict = race(lambda: ours.predict(Z), lambda: peer.predict(Z), rounds=3)
    gap = float(np.abs(ours.predict(Z) - peer.predict(Z)).max())
    assert gap < 1e-3, gap
    wrong = float((ours.predict(Z).argmax(axis=1) != t).mean())
    single = race(
        lambda: ours.fit(X, Y.astype(np.float32)), lambda: peer.fit(X, Y.astype(np.float32)), 1
    )
    memory = [in_new_process(__file__, "growth", which) / MB for which in (0, 1)]
    kernel = Gaussian.from_gamma(GAMMA)
    path = KernelRidge(kernel, alphas=ALPHAS, solver="eigh", fit_intercept=False)
    one = KernelRidge(kernel, ALPHA, solver="eigh", fit_intercept=False)
    with all_cores():
        seconds, by_eigh = timed(lambda: path.fit(X, Y)), timed(lambda: one.fit(X, Y))
    best = f"best alpha {path.alpha_:.3g}"
    return [
        claim(
            FIT, fit.ours, fit.peer, faster(3),
            f"error {100 * wrong:.2f} %, largest difference {gap:.1e}; with float32 targets "
            f"{single.peer / single.ours:.2f} ×; {fit.note}",
        ),
        claim(PREDICT, predict.ours, predict.peer, faster(5), predict.note),
        claim(MEMORY, memory[0], memory[1], at_most(0.5, "MB"), "of the peer's"),
        claim(PATH, seconds, fit.ours, at_most(4), best),
        claim(SAME, seconds, by_eigh, at_most(4), best),
    ]  # fmt: skip


if __name__ == "__main__":
    main(measure)
