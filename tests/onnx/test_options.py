"""Options of the learners, feature maps, batches of any size, and labels of any type."""

import numpy as np
import pytest

import mercer.onnx
from mercer.kernels import FromFeatures, Gaussian, Linear, parse
from mercer.learners import (
    KernelCentroidClassifier,
    KernelNeighborsClassifier,
    KernelNeighborsRegressor,
    KernelPerceptron,
    KernelRidge,
    KernelSVC,
    LocalLinearRegressor,
    NadarayaWatsonClassifier,
    NadarayaWatsonRegressor,
    Perceptron,
)
from mercer.maps import (
    NystromMap,
    PolarMap,
    PolynomialMap,
    RandomFourierMap,
    TaylorGaussianMap,
)

onnx = pytest.importorskip("onnx")
ort = pytest.importorskip("onnxruntime")
BOTH = pytest.mark.parametrize("dtype", ["float32", "float64"])
METHODS = {
    "prediction": "predict",
    "label": "predict",
    "decision": "decision_function",
    "probabilities": "predict_proba",
}


def check(model, new, outputs):
    assert outputs
    for name, got in outputs.items():
        want = np.asarray(getattr(model, METHODS[name])(new))
        assert got.shape == want.shape
        if name == "label":
            assert (got == want).all()
        else:
            assert np.abs(got - want).max(initial=0.0) <= 1e-5 * np.abs(want).max(initial=1e-9)


MODELS = {
    "vote, two classes": (
        lambda: KernelPerceptron("gaussian(0.6)", 2, averaging="vote", random_state=0),
        "two",
    ),
    "vote, ranked, with bias": (
        lambda: KernelPerceptron(
            "laplacian(1.1)", 2, averaging="vote", fit_intercept=True, random_state=0
        ),
        "three",
    ),
    "vote, one against the rest": (
        lambda: KernelPerceptron(
            "gaussian(0.6)", 2, averaging="vote", multi_class="ovr", random_state=0
        ),
        "three",
    ),
    "on a budget": (
        lambda: KernelPerceptron("gaussian(0.6)", 3, budget=7, random_state=0),
        "three",
    ),
    "primal": (lambda: Perceptron(epochs=3, fit_intercept=True, random_state=0), "three"),
    "primal, average": (lambda: Perceptron(averaging="average", random_state=0), "two"),
    "primal, vote": (lambda: Perceptron(averaging="vote", epochs=2, random_state=0), "two"),
    "primal on monomials": (
        lambda: Perceptron(PolynomialMap(3, offset=1.0), epochs=2, random_state=0),
        "three",
    ),
    "primal, vote on monomials": (
        lambda: Perceptron(PolynomialMap(2), averaging="vote", epochs=2, random_state=0),
        "three",
    ),
    "primal on a named function": (lambda: Perceptron("log1p", epochs=2, random_state=0), "two"),
    "primal on random features": (
        lambda: Perceptron(RandomFourierMap("gaussian(1)", 11, random_state=0), random_state=0),
        "two",
    ),
    "primal on Nyström features": (
        lambda: Perceptron(NystromMap("gaussian(1)", 9, random_state=0), random_state=0),
        "two",
    ),
    "ridge, two targets": (lambda: KernelRidge("gaussian(0.8)", alpha=[0.1, 2.0]), "both"),
    "ridge, primal": (lambda: KernelRidge("polynomial(3, offset=1)", solver="primal"), "t"),
    "ridge, primal, no penalty to speak of": (
        lambda: KernelRidge("linear()", alpha=1e-10, solver="primal"),
        "t",
    ),
    "ridge, primal sum": (lambda: KernelRidge("linear() + linear()**2", solver="primal"), "t"),
    "ridge, hardly any penalty": (lambda: KernelRidge("gaussian(1)", alpha=1e-6), "t"),
    "ridge, Nyström": (
        lambda: KernelRidge("gaussian(1)", solver="nystrom", n_centers=9, random_state=0),
        "t",
    ),
    "svc, one score per pair": (
        lambda: KernelSVC("gaussian(0.5)", C=5.0, decision_function_shape="ovo"),
        "three",
    ),
    "svc, ties": (lambda: KernelSVC("gaussian(0.5)", C=5.0, break_ties=True), "three"),
    "svc, probabilities": (lambda: KernelSVC("gaussian(0.5)", C=5.0, probability=True), "three"),
    "svc, two probabilities": (lambda: KernelSVC("linear()", probability=True), "two"),
    "svc, hard margin": (lambda: KernelSVC("gaussian(0.3)", C=np.inf), "two"),
    "centroids, medoids": (
        lambda: KernelCentroidClassifier("gaussian(1)", prototype="medoid"),
        "three",
    ),
    "smoother, chosen bandwidth": (lambda: NadarayaWatsonRegressor(), "t"),
    "smoother, one bandwidth per column": (
        lambda: NadarayaWatsonRegressor("laplacian(1)", bandwidth=[0.2, 0.3, 0.4]),
        "both",
    ),
    "smoother, nothing in reach": (
        lambda: NadarayaWatsonRegressor("epanechnikov(1)", bandwidth=0.02),
        "t",
    ),
    "smoother, all weights underflow": (lambda: NadarayaWatsonRegressor(bandwidth=0.003), "t"),
    "smoothing classifier, far": (lambda: NadarayaWatsonClassifier(bandwidth=0.004), "two"),
    "neighbors by distance": (lambda: KernelNeighborsClassifier("gaussian(0.01)", 1), "three"),
    "neighbors, weighted": (
        lambda: KernelNeighborsRegressor("gaussian(0.1)", 4, weights="kernel"),
        "both",
    ),
    "neighbors, no constant diagonal": (
        lambda: KernelNeighborsRegressor("polynomial(2, offset=1)", 4, weights="kernel"),
        "t",
    ),
    "neighbors of a composite": (
        lambda: KernelNeighborsRegressor(
            "(gaussian(0.3) + laplacian(1, norm=1)).normalized()", 4, weights="kernel"
        ),
        "t",
    ),
    "neighbors within": (lambda: KernelNeighborsRegressor("gaussian(1)", radius=0.5), "t"),
    "neighbors within, weighted": (
        lambda: KernelNeighborsClassifier("gaussian(1)", radius=0.6, weights="kernel"),
        "two",
    ),
    "neighbors within, by k": (
        lambda: KernelNeighborsRegressor("polynomial(2, offset=1)", radius=0.9, weights="kernel"),
        "t",
    ),
    "neighbors within, by the 1-norm": (
        lambda: KernelNeighborsRegressor("laplacian(1, norm=1)", radius=0.4),
        "t",
    ),
    "neighbors within, nobody there": (
        lambda: KernelNeighborsRegressor("gaussian(1)", radius=1e-3),
        "t",
    ),
}


@BOTH
@pytest.mark.parametrize("name", MODELS)
@pytest.mark.filterwarnings("ignore")
def test_options_agree(name, dtype, sample, in_onnx):
    make, target = MODELS[name]
    y = (
        np.column_stack([sample["t"], -2 * sample["t"] ** 2])
        if target == "both"
        else sample[target]
    )
    model = make().fit(sample["X"], y)
    check(model, sample["new"], in_onnx(model, sample["new"], dtype))


@BOTH
@pytest.mark.parametrize(
    "phi",
    [
        PolynomialMap(2, offset=0.5),
        TaylorGaussianMap(1.3, degree=3),
        PolarMap(),
        PolarMap((2, 0), winding=2.5),
        NystromMap("gaussian(1)", 6, random_state=0),
        RandomFourierMap("matern(1.5)", 8, random_state=0),
    ],
    ids=lambda phi: type(phi).__name__,
)
def test_kernels_of_mapped_rows(phi, dtype, sample, in_onnx):
    X = np.concatenate([sample["X"] - 0.7, np.zeros((1, 3)), [[0.0, -1.0, 2.0], [-1.0, 0.0, 0.5]]])
    kernel = Gaussian(1.5).warp(phi.fit(X)) + 0.1 * Linear().warp(phi)
    f = mercer.KernelExpansion(kernel, X, np.cos(np.arange(len(X))))
    new = np.concatenate([sample["new"] - 0.7, X[-3:]]).astype(np.float32).astype(float)
    got = in_onnx(f, new, dtype)["prediction"]
    assert np.abs(got - f(new)).max() <= 1e-5 * np.abs(f(new)).max()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("rows", [0, 1, 7])
@pytest.mark.parametrize(
    "model",
    [
        KernelSVC("gaussian(0.5)"),
        KernelPerceptron("gaussian(1)", averaging="vote", epochs=1, random_state=0),
        KernelNeighborsClassifier("laplacian(1)", 3),
        NadarayaWatsonClassifier("tricube(1)", bandwidth=0.3),
        mercer.learners.KernelLogisticRegression("chi_squared(1)"),
    ],
    ids=lambda m: type(m).__name__,
)
def test_batches_of_any_size(model, rows, sample, in_onnx):
    model.fit(sample["X"], sample["three"])
    new = sample["new"][:rows]
    outputs = in_onnx(model, new, "float64")
    if rows:
        check(model, new, outputs)
    else:
        assert all(value.shape[0] == 0 for value in outputs.values())


@pytest.mark.parametrize(
    "classes",
    [[3, 1, 7], ["b", "a", "ü"], [True, False], [0.0, -2.0], np.array(["x", "y"], object)],
)
def test_labels_of_any_type(classes, sample, in_onnx):
    y = np.asarray(classes)[sample["three"] % len(classes)]
    model = KernelSVC("gaussian(0.5)").fit(sample["X"], y)
    got = in_onnx(model, sample["new"], "float32")["label"]
    assert (got == model.predict(sample["new"])).all()


def test_labels_that_are_neither_numbers_nor_text_are_refused(sample):
    model = KernelSVC("gaussian(0.5)").fit(sample["X"], sample["two"])
    model.classes_ = np.array([b"a", b"b"])
    with pytest.raises(mercer.onnx.NotExportable, match="numbers or text"):
        mercer.onnx.export(model)
    model.classes_ = np.array([b"a", b"b"], dtype=object)
    with pytest.raises(mercer.onnx.NotExportable, match="numbers or text"):
        mercer.onnx.export(model)


def test_far_from_the_origin_the_digits_stay(in_onnx):
    """Centered before the product, or in float64: float32 would lose all of ‖x − z‖² here."""
    X = np.random.default_rng(0).uniform(4095, 4097, (50, 4)).astype(np.float32).astype(float)
    t = np.sin(X.sum(axis=1))
    for text in ("gaussian(0.8)", "laplacian(1)", "laplacian(1, norm=1)", "bspline(3, 2.0)"):
        model = KernelRidge(parse(text), alpha=0.1).fit(X, t)
        check(model, X, in_onnx(model, X, "float32"))


def test_widely_spread_clusters_take_differences(in_onnx):
    """Where even float64 products cancel, differences are taken."""
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(size=(12, 2)), 1e7 + rng.normal(size=(12, 2))])
    model = KernelRidge("laplacian(1)", alpha=0.1).fit(X, np.sin(np.arange(24.0)))
    check(model, X, in_onnx(model, X, "float64"))


@pytest.mark.parametrize("width", [16, 17, 40])
def test_many_columns_are_looked_at_a_few_at_a_time(width, in_onnx):
    rng = np.random.default_rng(0)
    X = rng.uniform(0.1, 1.0, (12, width)).astype(np.float32).astype(float)
    for text in (
        "laplacian(0.1, norm=1)",
        "laplacian(1, norm='inf')",
        "bspline(3, 4.0)",
        "intersection().normalized()",
        "hamming()",
        "anova(2, 1.0).normalized()",
    ):
        f = mercer.KernelExpansion(parse(text), X, np.cos(np.arange(12.0)))
        for dtype in ("float32", "float64"):
            got = in_onnx(f, X, dtype)["prediction"]
            assert np.abs(got - f(X)).max() <= 1e-5 * np.abs(f(X)).max()
    model = KernelNeighborsRegressor("gaussian(2)", radius=1.1).fit(X, X[:, 0])
    check(model, X, in_onnx(model, X, "float64"))


def test_an_expansion_without_points(in_onnx):
    f = mercer.KernelExpansion(Gaussian(), np.empty((0, 2)), np.empty((0, 3)), [1.0, 2.0, 3.0])
    assert in_onnx(f, np.ones((2, 2)), "float32")["prediction"].tolist() == [[1, 2, 3], [1, 2, 3]]


def test_sparse_points_and_float32_models(sample, in_onnx):
    from scipy.sparse import csr_matrix

    model = KernelRidge("gaussian(1)").fit(csr_matrix(sample["X"]), sample["t"])
    check(model, sample["new"], in_onnx(model, sample["new"], "float64"))
    model = KernelSVC("laplacian(1)").fit(sample["X"].astype(np.float32), sample["three"])
    check(model, sample["new"].astype(np.float32), in_onnx(model, sample["new"], "float32"))


def test_columns_by_name(sample, in_onnx):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(sample["X"], columns=["a", "b", "c"])
    new = pd.DataFrame(sample["new"], columns=["a", "b", "c"])
    kernel = Gaussian(0.5).on(["c", "a"]) + Linear().on("b")
    model = KernelRidge(kernel).fit(frame, sample["t"])
    got = in_onnx(model, sample["new"], "float32")["prediction"]
    assert np.allclose(got, model.predict(new), atol=1e-5)
    proto = mercer.onnx.export(model)
    notes = {entry.key: entry.value for entry in proto.metadata_props}
    assert notes["mercer.columns"] == "a\nb\nc"
    assert parse(notes["mercer.kernel"].replace("G", "g").replace("L", "l")) == kernel


def test_the_file_is_written_whole(sample, tmp_path):
    model = KernelRidge("gaussian(1)").fit(sample["X"], sample["t"])
    proto = mercer.onnx.export(model, tmp_path / "model.onnx", dtype="float64")
    assert onnx.load(tmp_path / "model.onnx") == proto
    assert [p.name for p in tmp_path.iterdir()] == ["model.onnx"]
    session = ort.InferenceSession(tmp_path / "model.onnx", providers=["CPUExecutionProvider"])
    (found,) = session.run(None, {"X": sample["new"]})
    assert np.allclose(found, model.predict(sample["new"]))


@pytest.mark.filterwarnings("ignore")
def test_what_cannot_be_exported_is_said(sample, tmp_path):
    X, t, three = sample["X"], sample["t"], sample["three"]
    refused = mercer.onnx.NotExportable

    def square(rows):
        return rows**2

    cases = [
        (KernelRidge(Gaussian().warp(square)).fit(X, t), "Python function"),
        (KernelRidge(Gaussian().reweight(lambda rows: rows[:, 0])).fit(X, t), "Python function"),
        (KernelRidge(lambda a, b: float(a @ b)).fit(X, t), "stay in Python"),
        (KernelRidge("precomputed").fit(X @ X.T, t), "stay in Python"),
        (KernelRidge("spectrum(2)").fit(["ab", "ba", "bb"], [0.0, 1.0, 2.0]), "no rows of numbers"),
        (KernelRidge(FromFeatures(square)).fit(X, t), "warp"),
        (LocalLinearRegressor(bandwidth=1.0).fit(X, t), "no operator"),
        (mercer.DeformableTemplateClassifier().fit(X, three), "deformations"),
        (Perceptron(lambda rows: rows**2, epochs=1).fit(X, three), "Python function"),
        (object(), "not a model"),
    ]
    for model, message in cases:
        with pytest.raises(refused, match=message):
            mercer.onnx.export(model, tmp_path / "m")
    assert not list(tmp_path.iterdir())
    with pytest.raises(ValueError, match="float16"):
        mercer.onnx.export(cases[0][0], dtype="float16")
    from sklearn.exceptions import NotFittedError

    with pytest.raises(NotFittedError):
        mercer.onnx.export(KernelRidge())


def test_categories(in_onnx):
    X = np.array([[0.1, 1.0], [0.1, 2.0], [0.7, 1.0]])
    f = mercer.KernelExpansion(parse("hamming()"), X, np.arange(3.0))
    assert np.allclose(in_onnx(f, X, "float32")["prediction"], f(X))
    close = np.array([[2.0**24], [2.0**24 + 1]])
    f = mercer.KernelExpansion(parse("hamming()"), close, np.arange(2.0))
    with pytest.raises(mercer.onnx.NotExportable, match="float64"):
        mercer.onnx.export(f)
    assert np.allclose(in_onnx(f, close, "float64")["prediction"], f(close))


WORDS = {
    "svc": lambda k: KernelSVC(k),
    "perceptron": lambda k: KernelPerceptron(k, epochs=2, averaging="average", random_state=0),
    "vote": lambda k: KernelPerceptron(k, epochs=2, averaging="vote", random_state=0),
    "neighbours": lambda k: KernelNeighborsClassifier(k, 3),
    "centroids": lambda k: KernelCentroidClassifier(k),
    "smoother": lambda k: NadarayaWatsonClassifier(k, bandwidth=1.0),
    "logistic": lambda k: mercer.learners.KernelLogisticRegression(k),
}


@BOTH
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", WORDS)
@pytest.mark.parametrize(
    "text",
    [
        "hamming()",
        "hamming().normalized()",
        "hamming().on(['town', 'size']) + 0.3*gaussian(0.8).on('n')",
        "0.5 + delta().on('town') * laplacian(1).on(['n', 'size'])",
    ],
)
def test_categories_that_are_words(text, name, dtype, in_onnx):
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "town": rng.choice(["Ulm", "Köln", "Bonn"], 30),
            "size": rng.integers(1, 4, 30),
            "n": rng.normal(size=30).astype(np.float32).astype(float),
        }
    )
    y = np.where((frame["town"] == "Ulm") ^ (frame["n"] > 0), "a", "b")
    model = WORDS[name](parse(text)).fit(frame, y)
    new = frame[10:].assign(town=frame["town"][10:].replace("Bonn", "Trier"))
    feed = {c: new[[c]].to_numpy(object if c == "town" else dtype) for c in ("town", "size", "n")}
    outputs = in_onnx(model, None, dtype, feed)
    for output in ("decision", "probabilities"):
        if output in outputs:
            want = np.asarray(getattr(model, METHODS[output])(new))
            assert np.abs(outputs[output] - want).max() <= 1e-5 * max(1e-9, np.abs(want).max())


def test_arrays_of_words(in_onnx):
    X = np.array([["x", "u"], ["y", "u"], ["y", "v"], ["x", "v"]], dtype=object)
    model = KernelRidge("hamming()", alpha=0.1).fit(X, [0.0, 1.0, 2.0, 4.0])
    got = in_onnx(model, None, "float32", {"x0": X[:, :1], "x1": X[:, 1:]})["prediction"]
    assert np.allclose(got, model.predict(X), atol=1e-6)
    f = mercer.KernelExpansion(parse("delta()"), X.astype(str), np.arange(4.0))
    got = in_onnx(f, None, "float64", {"x0": X[:, :1], "x1": X[:, 1:]})["prediction"]
    assert np.allclose(got, f(X))


def test_words_where_a_kernel_needs_numbers():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"a": ["x", "y"], "b": [1.0, 2.0]})
    f = mercer.KernelExpansion(parse("hamming() + gaussian().on('b')"), frame, np.arange(2.0))
    mercer.onnx.export(f)
    f = mercer.KernelExpansion(parse("hamming().on('b')"), frame[["b"]], np.arange(2.0))
    assert [i.name for i in mercer.onnx.export(f).graph.input] == ["X"]


def test_without_the_package_the_error_says_what_to_install(monkeypatch, sample):
    import sys

    model = KernelRidge("gaussian(1)").fit(sample["X"], sample["t"])
    for name in [n for n in sys.modules if n.startswith("mercer.onnx.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(ImportError, match="pip install"):
        mercer.onnx.export(model)


def test_a_model_too_large_for_the_format(monkeypatch, sample):
    from mercer.onnx import graph

    monkeypatch.setattr(graph, "LARGEST", 100)
    with pytest.raises(mercer.onnx.NotExportable, match="2 GB"):
        mercer.onnx.export(KernelRidge("gaussian(1)").fit(sample["X"], sample["t"]))


def test_models_that_were_fitted_on_a_device(run_on_device):
    run_on_device("""
        import numpy as np, onnxruntime, torch
        import mercer.onnx
        from mercer.learners import KernelNeighborsClassifier, KernelPerceptron, KernelRidge

        DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
        X = np.random.default_rng(0).normal(size=(40, 3)).astype(np.float32)
        y = (X[:, 0] > 0).astype(int)
        there = torch.tensor(X, device=DEVICE)
        for model in (
            KernelRidge("gaussian(1)", alpha=0.1),
            KernelNeighborsClassifier("gaussian(1)", 3),
            KernelPerceptron("gaussian(1)", epochs=1, averaging="average", shuffle=False),
        ):
            model.fit(there, y)
            proto = mercer.onnx.export(model)
            session = onnxruntime.InferenceSession(
                proto.SerializeToString(), providers=["CPUExecutionProvider"]
            )
            found = session.run(None, {"X": X})[0]
            wanted = model.predict(there)
            wanted = wanted.cpu().numpy() if hasattr(wanted, "cpu") else wanted
            assert np.abs(found - wanted).max() < 1e-3, type(model)
        print("checked")
    """)
