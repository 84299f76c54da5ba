"""Every vector kernel with every learner: onnxruntime gives what the model itself gives."""

import warnings
from pathlib import Path

import numpy as np
import pytest

import mercer.onnx
from mercer import kernels
from mercer.kernels import parse
from mercer.learners import (
    KernelCentroidClassifier,
    KernelLogisticRegression,
    KernelNeighborsClassifier,
    KernelNeighborsRegressor,
    KernelOneClass,
    KernelPerceptron,
    KernelRidge,
    KernelRidgeClassifier,
    KernelSVC,
    KernelSVR,
    NadarayaWatsonClassifier,
    NadarayaWatsonRegressor,
)

pytest.importorskip("onnxruntime")

VECTOR_LEAVES = [
    "linear()",
    "polynomial(3, offset=1)",
    "polynomial(2)",
    "gaussian(0.7)",
    "gaussian([0.5, 1.0, 2.0])",
    "laplacian(1.3)",
    "laplacian(0.8, norm=1)",
    "laplacian(0.8, norm='inf')",
    "sigmoid(0.5, 0.1)",
    "bspline(1, 2.0)",
    "bspline(2, 2.0)",
    "bspline(3, 2.0)",
    "bilinear([[2.0, 0.5, 0.0], [0.5, 1.0, 0.0], [0.0, 0.0, 0.3]])",
    "bilinear([[1.0, 0.0, 0.0], [0.0, -1.0, 0.0], [0.0, 0.0, 1.0]])",
    "constant(2.0)",
    "squared_distance()",
    "negative_squared_distance()",
    "matern(0.5, 1.0)",
    "matern(1.5, 0.8)",
    "matern(2.5, 1.5)",
    "rational_quadratic(1.5, 0.9)",
    "periodic(2.3, 1.1)",
    "cosine()",
    "chi_squared(0.7)",
    "intersection()",
    "tanimoto()",
    "arc_cosine(0)",
    "arc_cosine(1)",
    "arc_cosine(2)",
    "hamming()",
    "delta()",
    "anova(2, 0.8)",
    "epanechnikov(1.7)",
    "tricube(1.7)",
    "uniform(1.03)",
    "wendland(0, 1.9)",
    "wendland(2, 1.9)",
    "wendland(3, 1.9)",
    "from_features('square')",
]
COMPOSITES = [
    "0.5 * gaussian(0.6).on([0, 2]) + polynomial(2, offset=1).normalized()",
    "(linear() + 1) * laplacian(0.5, norm=1)",
    "2.5 * linear() + 0.5",
    "gaussian(2).exp() ** 2",
    "linear().on(1).polynomial([1, 0.5, 0.25])",
    "cosine().warp('log1p').reweight('norm')",
    "(gaussian(0.9) - 0.3 * linear().reweight('inverse_norm')).on([1, 0])",
    "intersection().normalized() + anova(3, 1.0).normalized()",
]

LEARNERS = {
    "perceptron, last": (lambda k: KernelPerceptron(k, epochs=2, random_state=0), "two"),
    "perceptron, average": (
        lambda k: KernelPerceptron(
            k, epochs=2, averaging="average", fit_intercept=True, random_state=0
        ),
        "three",
    ),
    "ridge": (lambda k: KernelRidge(k, alpha=0.3, fit_intercept=True), "t"),
    "ridge, two classes": (lambda k: KernelRidgeClassifier(k, alpha=0.3), "two"),
    "ridge, three classes": (lambda k: KernelRidgeClassifier(k, alpha=0.3), "three"),
    "logistic, two classes": (lambda k: KernelLogisticRegression(k, alpha=0.1), "two"),
    "logistic, three classes": (lambda k: KernelLogisticRegression(k, alpha=0.1), "three"),
    "svc, two classes": (lambda k: KernelSVC(k, C=2.0, max_iter=2000), "two"),
    "svc, three classes": (lambda k: KernelSVC(k, C=2.0, max_iter=2000), "three"),
    "svr": (lambda k: KernelSVR(k, C=2.0, max_iter=2000), "t"),
    "one class": (lambda k: KernelOneClass(k, nu=0.4, max_iter=2000), None),
    "centroids, two": (lambda k: KernelCentroidClassifier(k, shrinkage=0.1), "two"),
    "centroids, three": (lambda k: KernelCentroidClassifier(k), "three"),
    "smoother": (lambda k: NadarayaWatsonRegressor(k, bandwidth=0.8), "t"),
    "smoothing classifier": (lambda k: NadarayaWatsonClassifier(k, bandwidth=0.8), "two"),
    "neighbours": (lambda k: KernelNeighborsRegressor(k, 3), "t"),
    "neighbours, classes": (lambda k: KernelNeighborsClassifier(k, 4, weights="kernel"), "three"),
}
METHODS = {
    "prediction": "predict",
    "label": "predict",
    "decision": "decision_function",
    "probabilities": "predict_proba",
}


def model_refuses(ask, X):
    """Whether weights are negative here."""
    try:
        ask(X)
    except ValueError as error:
        return "negative values" in str(error)
    return False


def agree(model, X, outputs, dtype):
    """Every output against the method it stands for; a refusal is NaN there."""
    clear = np.ones(len(X), dtype=bool)
    for name, got in reversed(outputs.items()):
        ask = getattr(model, METHODS[name])
        if model_refuses(ask, X):
            assert name == "label" or np.isnan(got).any()
            continue
        want = np.asarray(ask(X))
        assert got.shape == want.shape
        if name == "label":
            assert (got == want)[clear].all()
            continue
        assert got.dtype == dtype
        size = max(np.abs(want).max(), 1e-9)
        assert np.abs(got - want).max() <= 1e-5 * size, name
        if name in ("decision", "probabilities"):
            # Where two classes are equal but for rounding, rounding decides.
            top = np.sort(np.column_stack([want, -want]) if want.ndim == 1 else want, axis=1)
            clear &= top[:, -1] - top[:, -2] > 2e-5 * size


@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize("text", VECTOR_LEAVES + COMPOSITES)
def test_onnx_agrees(text, learner, sample, in_onnx):
    make, target = LEARNERS[learner]
    model = make(parse(text))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(sample["X"], None if target is None else sample[target])
        for dtype in ("float32", "float64"):
            agree(model, sample["new"], in_onnx(model, sample["new"], dtype), dtype)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("text", VECTOR_LEAVES + COMPOSITES)
def test_expansions_agree(text, dtype, sample, in_onnx):
    coef = np.random.default_rng(0).normal(size=(36, 2))
    f = mercer.KernelExpansion(parse(text), sample["X"], coef, [0.5, -2.0])
    got = in_onnx(f, sample["new"], dtype)["prediction"]
    want = f(sample["new"])
    assert np.abs(got - want).max() <= 1e-5 * np.abs(want).max()


def test_every_vector_leaf_is_tried():
    tried = {type(parse(text)) for text in VECTOR_LEAVES}
    files = ("dots", "radial", "columnwise")
    on_vectors = {cls for cls in kernels.LEAVES if cls.__module__.rsplit(".", 1)[1] in files}
    on_vectors.add(kernels.FromFeatures)
    assert tried == on_vectors


def test_the_documentation_lists_what_is_exported():
    text = (Path(__file__).parents[2] / "docs" / "onnx.md").read_text()
    listed = {}
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("| `") and len(cells) >= 2:
            listed[cells[0].strip("`")] = cells[1]
    tried = {type(parse(text)).__name__ for text in VECTOR_LEAVES}
    for cls in kernels.LEAVES:
        assert listed[cls.__name__] == ("yes" if cls.__name__ in tried else "no"), cls.__name__
    from mercer.onnx.expansions import refused
    from mercer.onnx.exporting import LEARNERS as rules

    for name in [*mercer.learners.__all__, "KernelExpansion"]:
        assert listed[name] == ("no" if rules[name] is refused else "yes"), name
