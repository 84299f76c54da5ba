"""Every vector kernel with every learner: onnxruntime gives what the model itself gives."""

import warnings
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline

import mercer.onnx
from mercer import kernels
from mercer.kernels import parse
from mercer.learners import (
    GaussianProcessRegressor,
    KernelCentroidClassifier,
    KernelFisherDiscriminant,
    KernelKMeans,
    KernelLogisticRegression,
    KernelNeighborsClassifier,
    KernelNeighborsRegressor,
    KernelOneClass,
    KernelPCA,
    KernelPerceptron,
    KernelRidge,
    KernelRidgeClassifier,
    KernelSVC,
    KernelSVR,
    NadarayaWatsonClassifier,
    NadarayaWatsonRegressor,
    RFMClassifier,
    RFMRegressor,
)
from mercer.maps import LearnedMetric
from mercer.testing import kernels_on, vector_kernels
from mercer.testing.examples import DATA

pytest.importorskip("onnxruntime")

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

KERNELS = [*vector_kernels(3), *map(parse, COMPOSITES)]

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
    "discriminant": (lambda k: KernelFisherDiscriminant(k, 0.3), "three"),
    "smoother": (lambda k: NadarayaWatsonRegressor(k, bandwidth=0.8), "t"),
    "smoothing classifier": (lambda k: NadarayaWatsonClassifier(k, bandwidth=0.8), "two"),
    "neighbours": (lambda k: KernelNeighborsRegressor(k, 3), "t"),
    "neighbors, classes": (lambda k: KernelNeighborsClassifier(k, 4, weights="kernel"), "three"),
}
#: Smoothers and neighbors read single rows of K; the others sum over an expansion.
LOCAL = [name for name in LEARNERS if name.startswith(("smooth", "neighb"))]
GLOBAL = [name for name in LEARNERS if name not in LOCAL]
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


def pairs():
    """Every kernel with every learner. The fast ones: each kernel with two global learners and one
    local one, each time from other ones on, so that every learner meets several kernels."""
    for i, kernel in enumerate(KERNELS):
        fast = {GLOBAL[i % len(GLOBAL)], GLOBAL[-1 - i % len(GLOBAL)], LOCAL[i % len(LOCAL)]}
        for learner in LEARNERS:
            marks = [] if learner in fast else [pytest.mark.slow]
            yield pytest.param(kernel, learner, id=f"{kernel!r}-{learner}", marks=marks)


def test_every_learner_is_among_the_fast_pairs():
    met = Counter(pair.values[1] for pair in pairs() if not pair.marks)
    assert set(met) == set(LEARNERS)
    assert min(met.values()) >= 3


@pytest.mark.parametrize(("kernel", "learner"), list(pairs()))
def test_onnx_agrees(kernel, learner, sample, in_onnx):
    make, target = LEARNERS[learner]
    model = make(kernel)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(sample["X"], None if target is None else sample[target])
        for dtype in ("float32", "float64"):
            agree(model, sample["new"], in_onnx(model, sample["new"], dtype), dtype)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_expansions_agree(kernel, dtype, sample, in_onnx):
    coef = np.random.default_rng(0).normal(size=(36, 2))
    f = mercer.KernelExpansion(kernel, sample["X"], coef, [0.5, -2.0])
    got = in_onnx(f, sample["new"], dtype)["prediction"]
    want = f(sample["new"])
    assert np.abs(got - want).max() <= 1e-5 * max(np.abs(want).max(), 1e-9)


@pytest.mark.parametrize("learner", ["KernelSVR", "KernelRidge", "NadarayaWatsonRegressor"])
def test_several_targets_agree(learner, sample, in_onnx):
    several = np.c_[sample["t"], sample["X"][:, 0]]
    model = getattr(mercer, learner)("gaussian(0.7)").fit(sample["X"], several)
    got = in_onnx(model, sample["new"], "float64")["prediction"]
    np.testing.assert_allclose(got, model.predict(sample["new"]), atol=1e-9)


@pytest.mark.parametrize("kernel", ["gaussian(0.7)", "linear() + 1", "laplacian(1, norm=1)"])
def test_means_of_processes_agree(kernel, sample, in_onnx):
    t, several = sample["t"], np.c_[sample["t"], sample["X"][:, 0]]
    for target, centers in ((t, "uniform"), (several, np.arange(9))):
        model = GaussianProcessRegressor(kernel, 0.3, optimizer=None, centers=centers)
        model.fit(sample["X"], target)
        for dtype in ("float32", "float64"):
            agree(model, sample["new"], in_onnx(model, sample["new"], dtype), dtype)


@pytest.mark.parametrize("kernel", ["gaussian(0.7)", "linear() + 1", "laplacian(1, norm=1)"])
def test_components_and_groups_agree(kernel, sample, in_onnx):
    for model in (KernelPCA(kernel, 2), KernelKMeans(kernel, 3, random_state=0)):
        model.fit(sample["X"])
        got = in_onnx(model, sample["new"], "float64")
        for name, method in (("transformed", "transform"), ("label", "predict")):
            if name in got:
                np.testing.assert_allclose(got[name], getattr(model, method)(sample["new"]), 1e-8)
    chain = make_pipeline(KernelPCA(kernel, 2), KernelRidge("linear", alpha=0.1))
    chain.fit(sample["X"], sample["t"])
    found = in_onnx(chain, sample["new"], "float64")["prediction"]
    np.testing.assert_allclose(found, chain.predict(sample["new"]), rtol=1e-8)


@pytest.mark.parametrize("inputs", ["values", "ranks", "both"])
@pytest.mark.parametrize(("metric", "norm"), [("full", 2), ("diagonal", 1), ("fixed", 1.5)])
def test_learned_metrics_agree(inputs, metric, norm, sample, in_onnx):
    options = {"rounds": 1, "norm": norm, "inputs": inputs}
    several = np.c_[sample["t"], sample["X"][:, 0]]
    new = np.vstack([sample["new"], 2 * sample["new"], -sample["new"]])
    for target in (sample["t"], several):
        model = RFMRegressor(metric, **options).fit(sample["X"], target)
        got = in_onnx(model, new, "float64")["prediction"]
        np.testing.assert_allclose(got, model.predict(new), rtol=1e-8, atol=1e-8)
    for target in (sample["two"], sample["three"]):
        model = RFMClassifier(metric, **options).fit(sample["X"], target)
        found = in_onnx(model, new, "float64")
        np.testing.assert_allclose(found["probabilities"], model.predict_proba(new), atol=1e-8)
        assert (found["label"] == model.predict(new)).all()
    if metric != "fixed":
        chain = make_pipeline(LearnedMetric(metric, 1, inputs=inputs), KernelRidge("rbf"))
        chain.fit(sample["X"], sample["t"])
        got = in_onnx(chain, new, "float64")["prediction"]
        np.testing.assert_allclose(got, chain.predict(new), rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("kernel", kernels_on("vectors", "strings", "graphs", "images", "anything"))
def test_what_is_not_exported_says_so(kernel):
    if type(kernel) in {type(inner(k)) for k in vector_kernels(3)}:
        return
    X = DATA[kernel.takes](np.random.default_rng(0), 5)
    f = mercer.KernelExpansion(kernel, X, np.ones(5))
    with pytest.raises(mercer.onnx.NotExportable):
        mercer.onnx.export(f)


def inner(kernel):
    """What `on` picks columns for."""
    return kernel.kernel if isinstance(kernel, kernels.On) else kernel


def test_the_documentation_lists_what_is_exported():
    text = (Path(__file__).parents[2] / "docs" / "onnx.md").read_text()
    listed = {}
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("| `") and len(cells) >= 2:
            listed[cells[0].strip("`")] = cells[1]
    tried = {type(inner(k)).__name__ for k in vector_kernels(3)}
    for name in kernels.KERNELS:
        assert listed[name] == ("yes" if name in tried else "no"), name
    from mercer.onnx.exporting import LEARNERS as rules
    from mercer.onnx.models.expansions import refused

    for name in [*mercer.learners.__all__, "KernelExpansion"]:
        assert listed[name] == ("no" if rules[name] is refused else "yes"), name
    from mercer.onnx.models import ensembles
    from mercer.onnx.preprocessing import transformers

    # Two of our own that `compare` puts in front, and what all selections derive from.
    unnamed = {"TableColumns", "CommonScale", "SelectorMixin"}
    for name in (transformers.RULES.keys() | ensembles.RULES.keys()) - unnamed:
        assert f"`{name}`" in text, name


def test_a_factor_of_k_keeps_its_digits_in_float64(sample, in_onnx):
    X = sample["X"].astype(np.float64)
    f = mercer.KernelExpansion(0.36 * mercer.Gaussian(5.0), X, np.eye(len(X)))
    assert np.abs(in_onnx(f, X, "float64")["prediction"] - f(X)).max() < 1e-14
