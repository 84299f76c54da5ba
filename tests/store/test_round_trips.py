"""Every estimator, map, kernel and pipeline comes back from its file as it was."""

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.feature_selection import VarianceThreshold
from sklearn.impute import SimpleImputer
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    OrdinalEncoder,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    StandardScaler,
)

import mercer
from mercer import kernels, learners, maps
from mercer.kernels.catalog import FUNCTIONS
from mercer.store import StoreError

rng = np.random.default_rng(3)
X = rng.uniform(0.1, 1.0, (40, 4))
T = np.sin(3 * X[:, 0]) + X[:, 1]
Y = np.array(["low", "mid", "top"])[np.digitize(T, np.quantile(T, [0.3, 0.7]))]


@pytest.fixture
def again(tmp_path):
    def through_a_file(model):
        mercer.save(model, tmp_path / "m")
        return mercer.load(tmp_path / "m")

    return through_a_file


def same(a, b):
    if isinstance(a, tuple):
        return all(same(u, v) for u, v in zip(a, b, strict=True))
    a, b = np.asarray(a), np.asarray(b)
    return np.array_equal(a, b, equal_nan=a.dtype.kind == "f")


METHODS = (
    *("predict", "predict_proba", "decision_function", "score_samples", "predict_log_proba"),
    "transform",
)

MODELS = {
    "perceptron, vote": (learners.KernelPerceptron(averaging="vote", random_state=0), Y),
    "perceptron, budget": (
        learners.KernelPerceptron(budget=5, budget_policy="merge", random_state=0),
        Y,
    ),
    "perceptron, held out": (
        learners.KernelPerceptron(validation_fraction=0.3, averaging="average", random_state=0),
        Y,
    ),
    "primal perceptron": (
        learners.Perceptron(maps.PolynomialMap(2), averaging="vote", random_state=0),
        Y,
    ),
    "ridge, a path": (learners.KernelRidge(alphas=[0.1, 1.0], alpha_per_target=True), T),
    "ridge, two targets": (learners.KernelRidge(alpha=[0.1, 1.0]), np.column_stack([T, -T])),
    "ridge, primal": (learners.KernelRidge("polynomial(2, offset=1)", solver="primal"), T),
    "ridge, centers": (
        learners.KernelRidge(solver="nystrom", n_centers=9, random_state=0),
        T,
    ),
    "ridge classifier": (learners.KernelRidgeClassifier(class_weight="balanced"), Y),
    "logistic": (learners.KernelLogisticRegression(alpha=0.1), Y),
    "logistic, centers": (
        learners.KernelLogisticRegression(solver="nystrom", n_centers=7, random_state=0),
        Y,
    ),
    "svc, probabilities": (learners.KernelSVC(probability=True), Y),
    "svc, hard margin": (learners.KernelSVC("gaussian(0.1)", C=np.inf), Y),
    "svc, nu": (learners.KernelSVC(nu=0.3, decision_function_shape="ovo"), Y),
    "svr": (learners.KernelSVR(nu=0.4), T),
    "one class": (learners.KernelOneClass(nu=0.2), None),
    "smoother": (learners.NadarayaWatsonRegressor(), T),
    "smoother, columns": (learners.NadarayaWatsonRegressor("laplacian()", per_column=True), T),
    "smoothing classifier": (learners.NadarayaWatsonClassifier(), Y),
    "local linear": (learners.LocalLinearRegressor(local_degree=2), T),
    "local, features": (
        learners.LocalLinearRegressor(feature_map=maps.PolynomialMap(2, offset=1.0)),
        T,
    ),
    "quantiles": (learners.KernelQuantileRegressor(C=1.0), T),
    "process of classes": (learners.GaussianProcessClassifier("gaussian(1)", max_iter=3), Y),
    "process": (learners.GaussianProcessRegressor("gaussian(1)", max_iter=5), T),
    "neighbours": (learners.KernelNeighborsClassifier(weights="kernel"), Y),
    "neighbors, radius": (learners.KernelNeighborsRegressor(radius=0.5), T),
    "centroids": (learners.KernelCentroidClassifier(prototype="medoid"), Y),
    "density": (learners.KernelDensity(), None),
    "means": (learners.KernelKMeans(n_clusters=3, random_state=0), None),
    "graph": (learners.SpectralClustering(n_clusters=3, random_state=0), None),
    "discriminant": (learners.KernelFisherDiscriminant(), Y),
    "principal components": (learners.KernelPCA(n_components=3), None),
    "learned metric": (learners.RFMRegressor(), T),
    "learned metric, classes": (learners.RFMClassifier("full", 1), Y),
    "templates": (learners.DeformableTemplateClassifier(), Y),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", MODELS)
def test_learners(name, again):
    model, y = MODELS[name]
    model.fit(X, y)
    found = again(model)
    assert type(found) is type(model)
    for method in METHODS:
        if hasattr(model, method):
            assert same(getattr(model, method)(X), getattr(found, method)(X)), method


def test_every_learner_is_tried():
    tried = {type(model).__name__ for model, _ in MODELS.values()}
    assert tried == set(learners.__all__)


@pytest.mark.filterwarnings("ignore")
def test_what_else_a_model_can_do(again):
    ridge = again(learners.KernelRidge(alphas=[0.1, 1.0]).fit(X, T))
    assert np.isfinite(ridge.predict(X, return_std=True)[1]).all()
    assert ridge.loo_predictions_.shape == T.shape
    smoother = again(learners.NadarayaWatsonRegressor().fit(X, T))
    assert len(smoother.confidence_band(X[:3])) == 3
    neighbors = again(learners.KernelNeighborsClassifier().fit(X, Y))
    assert neighbors.kneighbors(X[:2])[1].shape == (2, 5)
    svc = learners.KernelSVC(C=1.0, warm_start=True).fit(X, Y)
    found = again(svc)
    assert same(found.margins_, svc.margins_)
    assert same(
        found.set_params(C=2.0).fit(X, Y).predict(X), svc.set_params(C=2.0).fit(X, Y).predict(X)
    )


@pytest.mark.parametrize("averaging", ["last", "average", "vote"])
def test_learning_goes_on_after_a_file(averaging, again):
    model = learners.KernelPerceptron(averaging=averaging)
    for part in np.array_split(np.arange(40), 4)[:2]:
        model.partial_fit(X[part], Y[part], classes=np.unique(Y))
    found = again(model)
    for part in np.array_split(np.arange(40), 4)[2:]:
        model.partial_fit(X[part], Y[part])
        found.partial_fit(X[part], Y[part])
    assert same(model.decision_function(X), found.decision_function(X))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("kernel", "examples"),
    [
        ("spectrum(2)", ["gattaca", "tag", "cat", "gag"]),
        ("mismatch(3, 1)", ["gattaca", "tagtag", "catcat", "gagaga"]),
        ("subsequence(2, 0.5)", ["gattaca", "tag", "cat", "gag"]),
        ("weighted_degree(2)", ["gat", "tag", "cat", "gag"]),
        ("bag_of_words()", ["a b", "b c", "c", "ä b"]),
        ("precomputed", (X[:4] @ X[:4].T)),
        ("gaussian(1)", csr_matrix(X[:4])),
        ("hamming().on(['a', 'b'])", pd.DataFrame({"a": ["x", "y", "x", "z"], "b": [1, 2, 1, 1]})),
        (
            "gaussian(1).on('n') + hamming().on(['a'])",
            pd.DataFrame({"a": ["x", "y", "x", "z"], "n": [1.0, 2.0, 3.0, 4.0]}),
        ),
        ("gaussian(1)", pd.DataFrame({"u": [1.0, 2.0, 3.0, 4.0]})),
        ("jittered(linear(), angles=[10], shape=[2, 2])", X[:4]),
        ("tangent_distance(2, 2, sigma=1.0)", X[:4]),
    ],
    ids=lambda v: v if isinstance(v, str) else "",
)
def test_examples_of_other_kinds(kernel, examples, again):
    model = learners.KernelRidge(kernel).fit(examples, [0.0, 1.0, 2.0, 3.0])
    assert same(again(model).predict(examples), model.predict(examples))


@pytest.mark.parametrize("name", maps.__all__)
@pytest.mark.filterwarnings("ignore")
def test_maps(name, again):
    cls = getattr(maps, name)
    data = {
        "EmailFeatures": ["From: a@b.c\n\nhello world", "From: d@e.f\n\nhello there"],
        "GlyphFeatures": (rng.uniform(size=(5, 784)) > 0.8).astype(float),
        "SpectrumRepair": X[:8] @ X[:8].T,
    }.get(name, X)
    model = cls().fit(data, T) if name == "LearnedMetric" else cls().fit(data)
    before, after = model.transform(data), again(model).transform(data)
    if hasattr(before, "toarray"):
        before, after = before.toarray(), after.toarray()
    assert same(before, after)


STEPS = {
    "standard": StandardScaler(),
    "min max": MinMaxScaler(),
    "max": MaxAbsScaler(),
    "robust": RobustScaler(),
    "unit": Normalizer(),
    "power": PowerTransformer(),
    "quantile": QuantileTransformer(n_quantiles=20, output_distribution="normal"),
    "pca": PCA(2),
    "svd": TruncatedSVD(2),
    "variance": VarianceThreshold(),
    "impute": SimpleImputer(strategy="median", add_indicator=True),
    "identity": FunctionTransformer(),
    "union": FeatureUnion([("a", StandardScaler()), ("b", PCA(1))]),
    "columns": ColumnTransformer(
        [("a", StandardScaler(), slice(0, 2)), ("b", "drop", [2])], remainder="passthrough"
    ),
    "nyström": maps.NystromMap(n_components=9, random_state=0),
}


@pytest.mark.parametrize("name", STEPS)
def test_pipelines(name, again):
    model = make_pipeline(STEPS[name], learners.KernelRidge("gaussian(1)")).fit(X, T)
    found = again(model)
    assert same(found.predict(X), model.predict(X))
    assert str(found) == str(model)


@pytest.mark.parametrize(
    "encoder",
    [
        OneHotEncoder(handle_unknown="infrequent_if_exist", max_categories=2, dtype=np.float64),
        OneHotEncoder(drop="first", sparse_output=False, dtype=np.dtype("float32")),
        OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1),
        make_pipeline(SimpleImputer(strategy="most_frequent"), OneHotEncoder()),
    ],
    ids=["rare", "dropped", "codes", "filled"],
)
def test_tables(encoder, again):
    frame = pd.DataFrame(X, columns=list("abcd"))
    frame["town"] = rng.choice(["Ulm", "Bonn", "Köln"], 40)
    encode = ColumnTransformer([("n", StandardScaler(), list("abcd")), ("t", encoder, ["town"])])
    model = make_pipeline(encode, learners.KernelSVC("gaussian(1)")).fit(frame, Y)
    assert same(again(model).decision_function(frame), model.decision_function(frame))


@pytest.mark.filterwarnings("ignore")
def test_what_compare_finds(again):
    frame = pd.DataFrame(X, columns=list("abcd"))
    frame["town"] = rng.choice(["Ulm", "Bonn", None], 40)
    board = mercer.selection.compare(
        frame, Y, kernels=["gaussian(1)"], learners=["ridge"], cv=2, random_state=0, holdout=None
    )
    assert same(again(board.best).predict(frame), board.best.predict(frame))


# --- what is refused ---------------------------------------------------------------------------


def test_functions_without_a_name_are_refused(tmp_path):
    def double(rows):
        return np.asarray(rows) * 2

    for model in (
        learners.KernelRidge(kernels.Linear().warp(double)),
        learners.KernelRidge(kernels.Linear().reweight(lambda rows: rows[:, 0])),
        learners.KernelRidge(kernels.FromFeatures(double)),
        learners.KernelRidge(kernels.Similarity(lambda a, b: float(a @ b))),
        learners.Perceptron(double, epochs=1),
    ):
        y = T if isinstance(model, learners.KernelRidge) else Y
        with pytest.raises(StoreError, match=r"register\(name, function\)"):
            mercer.save(model.fit(X, y), tmp_path / "m")
    with pytest.raises(StoreError, match="holds no code"):
        mercer.save(FunctionTransformer(double), tmp_path / "m")
    assert not list(tmp_path.iterdir())


def test_a_name_must_be_known_where_the_file_is_read(tmp_path, monkeypatch):
    kernels.register("thirds", lambda rows: np.asarray(rows) / 3)
    model = learners.KernelRidge("linear().warp('thirds')").fit(X, T)
    mercer.save(model, tmp_path / "m")
    assert same(mercer.load(tmp_path / "m").predict(X), model.predict(X))
    monkeypatch.delitem(FUNCTIONS, "thirds")
    with pytest.raises(StoreError, match=r"no function is registered as 'thirds'"):
        mercer.load(tmp_path / "m")


def test_values_of_every_kind(again):
    value = {
        "lists": np.array([[1, 2], [3, 4], None], dtype=object)[:2],
        "zero dimensions": np.array(3.5),
        "fortran": np.asfortranarray(X),
        "empty": np.empty((0, 3)),
        "times": np.array(["2024-01-01"], dtype="datetime64[D]"),
        "complex": np.array([1 + 2j]),
        "big end": np.arange(3, dtype=">i4"),
        "truth": np.array([True, False]),
        "bytes": b"",
        "surrogate": "\ud800",
        "dtype": np.dtype("float32"),
        "slice": slice(np.int64(1), None),
        "big": 10**40,
        "infinite": float("-inf"),
        "numbers": (np.float64(0.1), np.float64("inf"), np.float32(0.1), np.int64(3)),
    }
    value["lists"] = np.empty(2, dtype=object)
    value["lists"][:] = [[1, 2], [3, 4]]
    found = again(value)
    for key, before in value.items():
        after = found[key]
        if isinstance(before, np.ndarray):
            assert before.dtype == after.dtype, key
            assert before.shape == after.shape, key
            assert (before == after).all(), key
        else:
            assert before == after, key
    assert list(map(type, found["numbers"])) == list(map(type, value["numbers"]))
    assert found["fortran"].flags.f_contiguous


@pytest.mark.parametrize("array", [np.zeros(2, dtype=[("a", float)]), np.zeros(2, dtype="V4")])
def test_arrays_that_no_file_holds(array, tmp_path):
    with pytest.raises(StoreError, match="no model file holds"):
        mercer.save({"a": array}, tmp_path / "m")


def test_another_version_of_scikit_learn_is_mentioned(tmp_path, monkeypatch):
    import sklearn

    mercer.save(StandardScaler().fit(X), tmp_path / "m")
    monkeypatch.setattr(sklearn, "__version__", "0.1.2")
    with pytest.warns(UserWarning, match=r"saved with scikit-learn .*and this is 0\.1\.2"):
        mercer.load(tmp_path / "m")


def test_a_vote_that_speaks_of_points_it_does_not_have(again):
    model = learners.KernelPerceptron(averaging="vote", epochs=1, random_state=0).fit(X, Y)
    model._memory._columns = model._memory._columns + 10**6
    with pytest.raises(ValueError, match="does not have"):
        again(model).predict(X)
