"""Models and their ONNX files, asked the same: ``python tests/onnx/fuzz_onnx.py 10000 0``.

Every learner that is exported with random kernels, on grids of whole numbers (where distances tie),
on rows of any scale, and far outside of the training data. The file answers what the library
answers; where the library refuses rows, it answers NaN; or the export is refused.
"""

import sys
import warnings
from functools import partial

import numpy as np

import mercer
from mercer import learners
from mercer.onnx import NotExportable, export

#: How near answers must be, as a share of the largest.
CLOSE = {"float32": 2e-5, "float64": 1e-7}
KERNELS = ["linear()", "polynomial(2, offset=1)", "polynomial(5)", "gaussian(1)", "gaussian(0.1)",
           "laplacian(1)", "matern(1.5)", "wendland(1, 2.0)", "epanechnikov(2)", "uniform(1.5)",
           "tricube(2)", "cosine()", "rational_quadratic(1, 1)", "arc_cosine(1)",
           "gaussian(1) + linear()", "gaussian(1) * polynomial(2)", "sigmoid(0.1, 0)",
           "linear().exp()", "polynomial(2).normalized()"]  # fmt: skip
#: A learner and what it predicts: numbers (t), two or three classes, or nothing.
LEARNERS = [
    (partial(learners.KernelRidge, alpha=0.3), "t"),
    (partial(learners.KernelRidgeClassifier, alpha=0.3), "three"),
    (partial(learners.KernelLogisticRegression, alpha=0.1), "three"),
    (partial(learners.KernelSVC, C=2.0, max_iter=2000), "two"),
    (partial(learners.KernelSVC, C=2, max_iter=2000, decision_function_shape="ovo"), "three"),
    (partial(learners.KernelSVR, max_iter=2000), "t"),
    (partial(learners.KernelOneClass, nu=0.4, max_iter=2000), None),
    (learners.KernelCentroidClassifier, "three"),
    (partial(learners.KernelPerceptron, epochs=3), "three"),
    (partial(learners.NadarayaWatsonRegressor, bandwidth=0.8), "t"),
    (partial(learners.NadarayaWatsonClassifier, bandwidth=0.8), "three"),
    (partial(learners.KernelNeighborsRegressor, n_neighbors=3), "t"),
    (partial(learners.KernelNeighborsClassifier, n_neighbors=4), "three"),
    (partial(learners.KernelNeighborsClassifier, n_neighbors=5, weights="kernel"), "two"),
    (partial(learners.KernelNeighborsRegressor, radius=1.0), "t"),
]
METHODS = {"prediction": "predict", "label": "predict", "decision": "decision_function",
           "probabilities": "predict_proba"}  # fmt: skip


class Wrong(Exception):
    """Another answer than the library's."""


def rows(rng, radial):
    """Training rows and others, held by float32; far from 0 where only differences count."""
    kind = int(rng.integers(6))
    X = rng.normal(size=(60, int(rng.integers(1, 4))))
    if kind == 0:
        X = rng.integers(0, 3, X.shape).astype(float)
    if kind == 1:
        X *= 10.0 ** rng.uniform(-3, 3)
    if kind == 2:
        X[50:] *= 10.0 ** rng.uniform(1, 12)
    if kind == 4:
        X = rng.integers(0, 4, X.shape) / 10
    if kind == 5 and radial:
        X += 10.0 ** rng.uniform(1, 5)
    if kind == 3:
        X[40:] = X[rng.integers(0, 40, 20)]
    X = X.astype(np.float32).astype(float)
    return X[:45], X[35:]


def compared(rng, i):
    make, target = LEARNERS[i % len(LEARNERS)]
    kernel = str(rng.choice(KERNELS))
    X, new = rows(rng, mercer.parse(kernel).radial())
    t = np.sin(X[:, 0]) + X[:, -1]
    y = {"t": t, "two": t > np.median(t), "three": np.digitize(t, np.quantile(t, [0.3, 0.7]))}
    if target in ("two", "three") and len(np.unique(y[target])) < 2:
        raise ValueError("one class is no task")
    model = make(kernel).fit(X, *([] if target is None else [y[target]]))
    dtype = ("float32", "float64")[i % 2]
    found = answers(export(model, dtype=dtype), new.astype(dtype))
    name = f"{type(model).__name__} with {kernel}"
    clear = told_apart(model, new)
    for output, got in reversed(found.items()):
        clear &= agreement(f"{name}, {output} in {dtype}", model, METHODS[output], new, got, clear)


def agreement(name, model, method, new, got, clear):
    """The rows whose classes are told apart; raises where an answer is another."""
    try:
        want = np.asarray(getattr(model, method)(new))
    except ValueError as error:
        # What overflows there is asked by its logarithm or its distance here.
        if got.dtype.kind == "f" and "overflow" not in str(error):
            refused = [bool(alone(model, method, row)) for row in new]
            if any(refused) and not np.isnan(got).reshape(len(new), -1).any(axis=1)[refused].all():
                raise Wrong(f"{name}: the library refuses ({error}), the file answers") from None
        return np.zeros(len(new), dtype=bool)
    if got.dtype.kind != "f":
        if not (got == want)[clear].all():
            row = int(np.flatnonzero((got != want) & clear)[0])
            raise Wrong(f"{name}: {got[row]!r} for {want[row]!r} at {new[row]}")
        return clear
    close = CLOSE[str(got.dtype)]
    largest = max(np.abs(want).max(initial=0.0), 1e-9)
    size = largest + (noise(model, new) + rounded_distances(model, new) * largest) / close
    if want.size and size > np.finfo(got.dtype).max:  # no such number there, or nothing but noise
        return clear & (largest > np.finfo(got.dtype).max)
    off = ~(np.abs(got - want) <= close * size)
    off = off.reshape(len(new), -1).any(axis=1) & (clear | (not hasattr(model, "kneighbors")))
    if off.any():
        row = int(np.flatnonzero(off)[0])
        raise Wrong(f"{name}: {got[row]} for {want[row]} at {new[row]}")
    if hasattr(model, "support_"):
        return clear & (np.abs(want).reshape(len(new), -1).min(axis=1) > 2 * close * size)
    top = np.sort(np.column_stack([want, -want]) if want.ndim == 1 else want, axis=1)
    return clear & (top[:, -1] - top[:, -2] > 2 * close * size)


def noise(model, new):
    """What the roundings of Σ αᵢ k(xᵢ, x) come to, where that cancels."""
    f = getattr(model, "expansion_", None)
    if not isinstance(f, mercer.KernelExpansion):
        return 0.0
    return 1e-13 * float((np.abs(f.kernel(new, f.points)) @ np.abs(f.coef)).max(initial=0.0))


def rounded_distances(model, new):
    """What the rounding of far distances comes to in weights that kernels give, as a share."""
    weighs = hasattr(model, "bandwidth_") or getattr(model, "weights", None) == "kernel"
    far = np.abs(new).max(initial=0.0) * np.finfo(float).eps
    return 4.0 * far / getattr(model, "bandwidth_", 1.0) if weighs else 0.0


def told_apart(model, new):
    """The rows of whose neighbors none is in or out by rounding alone.

    Angles of rows tie up to rounding where the rows are whole numbers; distances tie exactly.
    """
    if not hasattr(model, "kneighbors") or "normalized" not in str(model.kernel_):
        return np.ones(len(new), dtype=bool)
    distances = np.sort(model.kernel_.distance(new, model.X_fit_), axis=1)
    if model.radius is None:
        border = distances[:, model.n_neighbors - 1 : model.n_neighbors + 1].mean(axis=1)
    else:
        border = np.full(len(new), model.radius)
    return (np.abs(distances - border[:, None]) > 1e-6).all(axis=1)


def alone(model, method, row):
    """The sentence with which the library refuses one row; empty if it does not."""
    try:
        getattr(model, method)(row[None])
    except ValueError as error:
        return str(error)
    return ""


def answers(proto, new):
    import onnxruntime as ort

    session = ort.InferenceSession(proto.SerializeToString(), providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(None, {"X": new}), strict=True))


def main(count, seed):
    import onnxruntime as ort
    from fuzzing import Guard, turns

    ort.set_default_logger_severity(4)
    warnings.simplefilter("ignore")
    mercer.set_config(progress=False, threads=1)
    guard = Guard((ValueError, NotExportable), extra_memory=16 * 2**30, audit=False)
    for i in turns(count):
        label = f"onnx {i} of seed {seed}"
        guard.attempt(label, partial(compared, np.random.default_rng([seed, i]), i))
    guard.report()


if __name__ == "__main__":
    from pathlib import Path

    sys.path.insert(0, str(Path(__file__).parents[1]))
    main(int(sys.argv[1]), int(sys.argv[2]))
