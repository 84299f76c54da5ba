"""Multinomial kernel logistic regression on 10000 digits: time against one exact ridge fit of the
same size, and log-loss on 10000 others against support vector machines with Platt's sigmoids.

The Platt-scaled machine is what scikit-learn advises since `SVC(probability=True)` is deprecated:
`CalibratedClassifierCV` with sigmoids fitted on held-out folds. `SVC(probability=True)` itself,
whose sigmoids are fitted to each pair and coupled, takes minutes; it is measured with `--full`.
"""

from __future__ import annotations

import sys
import warnings

import numpy as np
from _harness import Row, at_most, claim, main, no_data, race, skipped
from _svc import machine, mnist
from sklearn.calibration import CalibratedClassifierCV
from sklearn.metrics import log_loss
from sklearn.svm import SVC

from mercer.kernels import Gaussian
from mercer.learners import KernelLogisticRegression, KernelRidge

N, GAMMA, ALPHA, C = 10_000, 0.02, 1e-3, 5.0
TIME = "logistic MNIST 10k, ten classes: fit, vs one exact ridge fit"
LOSS = "  log-loss on 10k, vs Platt-scaled SVC"


def measure() -> list[Row]:
    data = mnist(N)
    if data is None:
        why = no_data("mnist.npz")
        return [skipped(TIME, at_most(3), why), skipped(LOSS, at_most(1, "nats"), why)]
    X, y, Z, t = data
    kernel = Gaussian.from_gamma(GAMMA)
    ours = KernelLogisticRegression(kernel, ALPHA, random_state=0)
    ridge = KernelRidge(kernel, 0.1, solver="cholesky")
    Y = np.eye(10)[y]
    fit = race(lambda: ours.fit(X, y), lambda: ridge.fit(X, Y), rounds=2)
    p = ours.predict_proba(Z)
    loss = log_loss(t, p)
    platt = CalibratedClassifierCV(machine(C, GAMMA), method="sigmoid", ensemble=False, cv=5)
    losses = [log_loss(t, platt.fit(X, y).predict_proba(Z))]
    note = f"{losses[0]:.4f} by CalibratedClassifierCV"
    if "--full" in sys.argv[1:]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)
            coupled = SVC(C=C, gamma=GAMMA, probability=True, random_state=0).fit(X, y)
        losses.append(log_loss(t, coupled.predict_proba(Z)))
        note += f", {losses[1]:.4f} by SVC(probability=True)"
    wrong = 100 * float((p.argmax(axis=1) != t).mean())
    return [
        claim(
            TIME, fit.ours, fit.peer, at_most(3),
            f"{ours.n_iter_} steps, error {wrong:.2f} %; {fit.note}",
        ),
        claim(LOSS, loss, min(losses), at_most(1, "nats"), note),
    ]  # fmt: skip


if __name__ == "__main__":
    main(measure)
