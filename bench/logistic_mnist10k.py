"""Multinomial kernel logistic regression on 10000 digits: time against one exact ridge fit of the
same size and kernel, and log-loss on 10000 others against support vector machines with Platt's
sigmoids.

The machine is the one of the other benchmarks (C = 5, γ = 0.02), scaled in both ways there are:
`CalibratedClassifierCV`, which scikit-learn advises since it has deprecated the other, and
`SVC(probability=True)`, with one sigmoid a pair of classes and the pairs coupled. `--full` adds the
latter with the kernel of the logistic model.
"""

from __future__ import annotations

import sys
import warnings
from typing import Any

import numpy as np
from _harness import Row, at_most, claim, main, no_data, race, skipped
from _svc import machine, mnist
from sklearn.calibration import CalibratedClassifierCV
from sklearn.metrics import log_loss
from sklearn.preprocessing import normalize
from sklearn.svm import SVC

from mercer.kernels import Polynomial
from mercer.learners import KernelLogisticRegression, KernelRidge

N, ALPHA, C, GAMMA = 10_000, 1e-3, 5.0, 0.02
KERNEL = Polynomial(4).normalized()
TIME = "logistic MNIST 10k, ten classes: fit, vs one exact ridge fit"
LOSS = "  log-loss on 10k, vs Platt-scaled SVC"


def coupled(X: Any, y: Any, Z: Any, t: Any, **kernel: Any) -> float:
    """Log-loss of LIBSVM's own probabilities."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        svc = SVC(C=C, probability=True, random_state=0, cache_size=1000, **kernel).fit(X, y)
        return float(log_loss(t, svc.predict_proba(Z)))


def measure() -> list[Row]:
    data = mnist(N)
    if data is None:
        why = no_data("mnist.npz")
        return [skipped(TIME, at_most(3), why), skipped(LOSS, at_most(1, "nats"), why)]
    X, y, Z, t = data
    ours = KernelLogisticRegression(KERNEL, ALPHA, random_state=0)
    ridge = KernelRidge(KERNEL, 0.1, solver="cholesky")
    Y = np.eye(10)[y]
    fit = race(lambda: ours.fit(X, y), lambda: ridge.fit(X, Y), rounds=2)
    p = ours.predict_proba(Z)
    platt = CalibratedClassifierCV(machine(C, GAMMA), method="sigmoid", ensemble=False, cv=5)
    calibrated = float(log_loss(t, platt.fit(X, y).predict_proba(Z)))
    pairs = coupled(X, y, Z, t, gamma=GAMMA)
    note = f"SVC(probability=True) {pairs:.4f}, CalibratedClassifierCV {calibrated:.4f}"
    if "--full" in sys.argv[1:]:
        same = coupled(normalize(X), y, normalize(Z), t, kernel="poly", degree=4, gamma=1.0)
        note += f"; SVC(probability=True) with the kernel of ours {same:.4f}"
    wrong = 100 * float((p.argmax(axis=1) != t).mean())
    return [
        claim(
            TIME, fit.ours, fit.peer, at_most(3),
            f"{ours.n_iter_} steps, error {wrong:.2f} %; {fit.note}",
        ),
        claim(LOSS, float(log_loss(t, p)), min(pairs, calibrated), at_most(1, "nats"), note),
    ]  # fmt: skip


if __name__ == "__main__":
    main(measure)
