"""Random fits: ``python tests/fuzz_fits.py batches 10000 0``.

batches     every learner predicts the same for all rows at once, for some, and for one at a time
standstill  solvers on duplicates, constants, float32 and wild scales end within `SECONDS`
"""

import sys
import warnings
from functools import partial

import numpy as np

import mercer

SECONDS = 20.0
KERNELS = ["gaussian(1)", "polynomial(3, offset=1)", "linear()", "laplacian(1)", "matern(1.5)",
           "wendland(1, 3.0)", "rational_quadratic(1, 1)", "gaussian(1) + linear()"]  # fmt: skip
#: A learner, and whether it learns classes.
LEARNERS = [
    (mercer.KernelRidge, False),
    (mercer.KernelRidgeClassifier, True),
    (mercer.KernelSVC, True),
    (mercer.KernelSVR, False),
    (mercer.KernelLogisticRegression, True),
    (mercer.KernelPerceptron, True),
    (mercer.KernelCentroidClassifier, True),
    (mercer.KernelFisherDiscriminant, True),
    (mercer.KernelQuantileRegressor, False),
    (mercer.NadarayaWatsonRegressor, False),
    (mercer.NadarayaWatsonClassifier, True),
    (mercer.KernelNeighborsRegressor, False),
    (mercer.KernelNeighborsClassifier, True),
    (mercer.GaussianProcessRegressor, False),
]
SOLVERS = [
    partial(mercer.KernelSVR),
    partial(mercer.KernelSVR, nu=0.5),
    partial(mercer.KernelSVC),
    partial(mercer.KernelSVC, nu=0.2),
    partial(mercer.KernelOneClass, nu=0.3),
    partial(mercer.KernelLogisticRegression, alpha=1e-3),
    partial(mercer.KernelQuantileRegressor),
    partial(mercer.KernelRidge, solver="cg"),
]


class Wrong(Exception):
    """An answer that depends on how many were asked."""


def scores(model, X):
    ask = getattr(model, "decision_function", None) or getattr(model, "predict_proba", None)
    return np.asarray((ask or model.predict)(X), dtype=float).reshape(len(X), -1)


def batches(rng, i):
    make, classes = LEARNERS[i % len(LEARNERS)]
    columns = int(rng.integers(1, 40))
    n = int(rng.integers(20, 400))
    X = rng.normal(size=(n, columns)) * 10.0 ** rng.uniform(-2, 1)
    X += rng.choice([0.0, 1.0, 1e3])
    t = X[:, 0] - X[:, 0].mean()
    kernel = str(rng.choice(KERNELS))
    model = make(kernel).fit(X, t > np.median(t) if classes else t)
    new = X[: min(n, 150)] + 0.01 * X.std()
    whole = scores(model, new)
    size = max(np.abs(whole).max(), 1e-9) + noise(model, new)
    for rows in (1, int(rng.integers(2, 60))):
        parts = [scores(model, new[a : a + rows]) for a in range(0, len(new), rows)]
        gap = np.abs(np.concatenate(parts) - whole).max() / size
        if not gap <= 1e-6:
            name = f"{make.__name__} with {kernel}, {n} rows of {columns} columns"
            raise Wrong(f"{name}: {rows} at a time differ by {gap:.1e} of the largest")


def noise(model, new):
    """What the roundings of Σ αᵢ k(xᵢ, x) come to where that cancels, in units of 1e-6."""
    f = getattr(model, "expansion_", None)
    if not isinstance(f, mercer.KernelExpansion):
        return 0.0
    return 1e-7 * float((np.abs(f.kernel(new, f.points)) @ np.abs(f.coef)).max(initial=0.0))


def standstill(rng, i):
    make = SOLVERS[i % len(SOLVERS)]
    n = int(rng.integers(4, 300))
    X = rng.normal(size=(n, int(rng.integers(1, 5))))
    if rng.random() < 0.5:
        X = X[rng.integers(0, max(2, n // 3), n)]
    X = (X * 10.0 ** rng.uniform(-3, 3)).astype(rng.choice(["float32", "float64"]))
    y = rng.choice([X[:, 0], rng.normal(size=n), 1e6 * rng.normal(size=n)])
    model = make(str(rng.choice(KERNELS)))
    classes = isinstance(model, mercer.KernelSVC | mercer.KernelLogisticRegression)
    model.fit(X, (y > np.median(y)) if classes else y)


def main(kind, count, seed):
    from fuzzing import Guard, turns

    warnings.simplefilter("ignore")
    mercer.set_config(progress=False, threads=1)
    act = {"batches": batches, "standstill": standstill}[kind]
    guard = Guard((ValueError,), seconds=SECONDS, extra_memory=32 * 2**30, audit=False)
    for i in turns(count):
        label = f"{kind} {i} of seed {seed}"
        guard.attempt(label, partial(act, np.random.default_rng([seed, i]), i))
    guard.report()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
