"""Preprocessing travels with the model: scaling, missing values, categories, columns."""

import numpy as np
import pytest
from sklearn.cluster import FeatureAgglomeration
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.feature_selection import SelectKBest, VarianceThreshold, f_regression
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    OrdinalEncoder,
    PowerTransformer,
    RobustScaler,
    StandardScaler,
)

import mercer.onnx
from mercer.learners import KernelLogisticRegression, KernelRidge, KernelSVC
from mercer.maps import PolynomialMap

pytest.importorskip("onnxruntime")
pd = pytest.importorskip("pandas")
BOTH = pytest.mark.parametrize("dtype", ["float32", "float64"])


def close(got, want):
    assert got.shape == want.shape
    assert np.abs(got - want).max() <= 1e-5 * np.abs(want).max()


NUMERIC = {
    "standard": StandardScaler(),
    "standard, no mean": StandardScaler(with_mean=False),
    "standard, no spread": StandardScaler(with_std=False),
    "min max": MinMaxScaler((-1, 2), clip=True),
    "max": MaxAbsScaler(),
    "robust": RobustScaler(),
    "robust, centered only": RobustScaler(with_scaling=False),
    "unit length": Normalizer(),
    "unit sum": Normalizer("l1"),
    "unit maximum": Normalizer("max"),
    "Yeo–Johnson": PowerTransformer(),
    "Box–Cox": PowerTransformer("box-cox", standardize=False),
    "Box–Cox, standardized": PowerTransformer("box-cox"),
    "PCA": PCA(2, whiten=True),
    "SVD": TruncatedSVD(2, random_state=0),
    "best columns": SelectKBest(f_regression, k=2),
    "columns that vary": VarianceThreshold(0.01),
    "monomials": PolynomialMap(2, offset=1.0),
    "nothing": "passthrough",
    "logarithm": FunctionTransformer(np.log1p),
    "nested": make_pipeline(StandardScaler(), PCA(2)),
    "side by side": FeatureUnion(
        [("a", StandardScaler()), ("b", PCA(1)), ("c", "drop"), ("d", "passthrough")],
        transformer_weights={"a": 0.5},
    ),
    "column by column": ColumnTransformer(
        [("a", StandardScaler(), [2, 0]), ("b", "drop", [1])], remainder="passthrough"
    ),
    "by a slice": ColumnTransformer(
        [("a", StandardScaler(), slice(0, 2))], remainder=MinMaxScaler()
    ),
    "by indices from the end": ColumnTransformer(
        [("a", StandardScaler(), [-1, 0])], remainder="passthrough"
    ),
    "by a mask": ColumnTransformer([("a", RobustScaler(), [True, False, True])]),
    "numbers as categories": ColumnTransformer(
        [("a", OneHotEncoder(drop="first"), [2])], remainder="passthrough"
    ),
}


@BOTH
@pytest.mark.parametrize("name", NUMERIC)
def test_steps_on_numbers(name, dtype, sample, in_onnx):
    model = make_pipeline(NUMERIC[name], KernelRidge("gaussian(1.2)", alpha=0.2))
    model.fit(sample["X"] + 0.05, sample["t"])
    new = (sample["new"] + 0.05).astype(dtype).astype(float)
    if name == "numbers as categories":
        model.fit(sample["X"], sample["t"])
        new = sample["new"]
    close(in_onnx(model, new, dtype)["prediction"], model.predict(new))


def test_years_keep_their_digits(in_onnx):
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(1_990_000, 1_990_100, 60), rng.normal(size=60)]).astype(float)
    X = X.astype(np.float32).astype(float)
    model = make_pipeline(StandardScaler(), KernelSVC("gaussian(0.5)")).fit(X, X[:, 0] % 3)
    close(in_onnx(model, X, "float32")["decision"], model.decision_function(X))


@BOTH
@pytest.mark.parametrize(
    "imputer",
    [
        SimpleImputer(),
        SimpleImputer(strategy="median", add_indicator=True),
        SimpleImputer(missing_values=0.0, strategy="constant", fill_value=-1.0),
        SimpleImputer(keep_empty_features=True, add_indicator=True),
        FeatureUnion([("values", SimpleImputer()), ("gaps", MissingIndicator())]),
    ],
    ids=["mean", "median, marked", "zeros", "empty kept", "indicator"],
)
def test_missing_numbers(imputer, dtype, sample, in_onnx):
    X, new = sample["X"].copy(), sample["new"].copy()
    if getattr(imputer, "missing_values", None) != 0.0:
        X[::5, 0] = X[1::7, 1] = new[::4, 0] = new[1, 1] = np.nan
        X[:, 2] = np.nan if getattr(imputer, "keep_empty_features", None) else X[:, 2]
    model = make_pipeline(imputer, StandardScaler(), KernelRidge("laplacian(0.7)", alpha=0.2))
    model.fit(X, sample["t"])
    close(in_onnx(model, new, dtype)["prediction"], model.predict(new))


def test_a_column_that_was_empty_is_left_out(sample, in_onnx):
    X = sample["X"].copy()
    X[:, 1] = np.nan
    model = make_pipeline(SimpleImputer(), KernelRidge())
    with pytest.warns(UserWarning, match="without any observed"):
        model.fit(X, sample["t"])
    with pytest.warns(UserWarning, match="without any observed"):
        want = model.predict(X)
    close(in_onnx(model, X, "float64")["prediction"], want)


@pytest.fixture
def frame():
    rng = np.random.default_rng(2)
    n = 80
    return pd.DataFrame(
        {
            "height": rng.normal(170, 9, n).astype(np.float32).astype(float),
            "town": rng.choice(["Ulm", "Bonn", "Köln", "Trier"], n, p=[0.5, 0.3, 0.15, 0.05]),
            "rooms": rng.integers(1, 5, n).astype(float),
            "unused": rng.choice(["p", "q"], n),
            "kind": rng.choice(["x", "y"], n),
        }
    )


def fed(table, used, dtype):
    """One tensor a column."""
    return {
        c: table[[c]].fillna("").to_numpy(object)
        if table[c].dtype.kind not in "biuf"
        else table[[c]].to_numpy(dtype)
        for c in used
    }


ENCODERS = {
    "one hot": OneHotEncoder(handle_unknown="ignore"),
    "one hot, first dropped": OneHotEncoder(drop="first", handle_unknown="ignore"),
    "one hot, binary ones dropped": OneHotEncoder(drop="if_binary", handle_unknown="ignore"),
    "one hot, rare ones together": OneHotEncoder(
        handle_unknown="infrequent_if_exist", max_categories=3
    ),
    "one hot, rare and dropped": OneHotEncoder(
        handle_unknown="infrequent_if_exist", min_frequency=10, drop="first"
    ),
    "codes": OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1),
    "filled in": make_pipeline(
        SimpleImputer(strategy="most_frequent"), OneHotEncoder(handle_unknown="ignore")
    ),
    "filled in with a word": make_pipeline(
        SimpleImputer(strategy="constant", fill_value="?"),
        OneHotEncoder(handle_unknown="ignore"),
    ),
}


@BOTH
@pytest.mark.filterwarnings("ignore:Found unknown categories")
@pytest.mark.parametrize("name", ENCODERS)
def test_text(name, dtype, frame, in_onnx):
    gaps = name.startswith("filled")
    if gaps:
        frame.loc[::9, "town"] = np.nan
    model = Pipeline(
        [
            (
                "columns",
                ColumnTransformer(
                    [
                        ("numbers", StandardScaler(), make_column_selector(dtype_include="number")),
                        ("text", ENCODERS[name], ["town", "kind"]),
                        ("slice of names", "passthrough", slice("rooms", "rooms")),
                    ]
                ),
            ),
            ("model", KernelLogisticRegression("gaussian(1.5)", alpha=0.1)),
        ]
    )
    model.fit(frame, np.where(frame.height + 9 * (frame.town == "Ulm") > 172, "tall", "small"))
    new = frame.iloc[:20].copy()
    new.loc[3, "town"] = "Mainz"  # was not there in training
    got = in_onnx(model, None, dtype, fed(new, ["height", "town", "rooms", "kind"], dtype))
    close(got["probabilities"], model.predict_proba(new))
    assert (got["label"] == model.predict(new)).all()


def test_codes_of_missing_numbers_and_text(frame, in_onnx):
    frame.loc[::7, "rooms"] = np.nan
    frame.loc[::8, "town"] = np.nan
    encoder = OrdinalEncoder(encoded_missing_value=-2)
    encode = ColumnTransformer([("codes", encoder, ["rooms", "town"])])
    model = make_pipeline(encode, KernelRidge("gaussian(1)")).fit(frame, frame.height)
    got = in_onnx(model, None, "float64", fed(frame, ["rooms", "town"], "float64"))
    close(got["prediction"], model.predict(frame))
    one_hot = ColumnTransformer([("hot", OneHotEncoder(), ["rooms", "town"])])
    model = make_pipeline(one_hot, KernelRidge("gaussian(1)")).fit(frame, frame.height)
    got = in_onnx(model, None, "float32", fed(frame, ["rooms", "town"], "float32"))
    close(got["prediction"], model.predict(frame))


@BOTH
def test_what_compare_puts_in_front(dtype, frame, in_onnx):
    from mercer.data import Dataset
    from mercer.selection.preprocess import preprocessing

    frame.loc[::6, "rooms"] = np.nan
    frame.loc[::8, "town"] = None
    frame["day"] = pd.date_range("2024-01-01", periods=len(frame)).strftime("%Y-%m-%d")
    y = (frame.height > 170).astype(int).to_numpy()
    steps = preprocessing(Dataset.of(frame, y)).steps
    model = Pipeline([*steps, ("model", KernelSVC("gaussian(1.5)", C=3.0))]).fit(frame, y)
    new = frame.iloc[:25]
    feed = fed(new.drop(columns="day"), [c for c in frame if c != "day"], dtype)
    seconds = (pd.to_datetime(new["day"]) - pd.Timestamp(0)).dt.total_seconds()
    feed["day"] = seconds.to_numpy(dtype)[:, None]
    names = {i.name for i in mercer.onnx.export(model, dtype=dtype).graph.input}
    got = in_onnx(model, None, dtype, {k: v for k, v in feed.items() if k in names})
    if dtype == "float64":  # float32 has no room for the seconds of a day fifty years after 1970
        close(got["decision"], model.decision_function(new))
    else:
        assert (got["label"] == model.predict(new)).mean() > 0.9


def test_steps_without_a_rule_are_named(sample, frame):
    model = make_pipeline(FeatureAgglomeration(2), KernelRidge()).fit(sample["X"], sample["t"])
    with pytest.raises(mercer.onnx.NotExportable, match=r"FeatureAgglomeration.*StandardScaler"):
        mercer.onnx.export(model)
    function = make_pipeline(FunctionTransformer(lambda Z: Z + 1), KernelRidge())
    with pytest.raises(mercer.onnx.NotExportable, match="Python"):
        mercer.onnx.export(function.fit(sample["X"], sample["t"]))
    rare = OrdinalEncoder(max_categories=2)
    model = make_pipeline(rare, KernelRidge()).fit(frame[["town"]], frame.height)
    with pytest.raises(mercer.onnx.NotExportable, match="rare"):
        mercer.onnx.export(model)
    weighted = ColumnTransformer([("a", StandardScaler(), [0])], transformer_weights={"a": 2.0})
    model = make_pipeline(weighted, KernelRidge()).fit(sample["X"], sample["t"])
    with pytest.raises(mercer.onnx.NotExportable, match="transformer_weights"):
        mercer.onnx.export(model)
    with pytest.raises(mercer.onnx.NotExportable, match="not a model"):
        mercer.onnx.export(make_pipeline(StandardScaler(), PCA()).fit(sample["X"]))
    text = ColumnTransformer([("a", OrdinalEncoder(), ["town"])], remainder="passthrough")
    text.set_output(transform="default")
    model = make_pipeline(text, KernelRidge("hamming()"))
    model.fit(frame[["town", "height"]], frame.height)
    mercer.onnx.export(model)


def test_a_column_named_like_an_output(frame):
    frame = frame.rename(columns={"town": "label"})
    encode = ColumnTransformer([("hot", OneHotEncoder(), ["label"])])
    model = make_pipeline(encode, KernelSVC()).fit(frame, frame["kind"])
    with pytest.raises(mercer.onnx.NotExportable, match="rename"):
        mercer.onnx.export(model)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", ["numbers", "gaps", "pixels", "sparse", "regression"])
def test_what_compare_finds(kind, in_onnx):
    from scipy.sparse import csr_matrix

    from mercer.selection import compare

    rng = np.random.default_rng(4)
    X = rng.uniform(0, 1, (60, 20)).astype(np.float32).astype(float)
    t = np.sin(4 * X[:, 0]) + X[:, 1]
    y = t if kind == "regression" else (t > np.median(t)).astype(int)
    rows = X
    if kind == "gaps":
        rows = np.where(rng.uniform(size=X.shape) < 0.1, np.nan, X)
    elif kind == "pixels":
        rows = np.round(16 * X / X.max(axis=0))
    elif kind == "sparse":
        rows = np.where(X > 0.6, X, 0.0)
    given = csr_matrix(rows) if kind == "sparse" else rows
    learners = ["ridge", "svm"] if kind == "regression" else ["svm", "logistic"]
    board = compare(given, y, learners=learners, cv=2, random_state=0, holdout=None)
    outputs = in_onnx(board.best, rows, "float32")
    if kind == "regression":
        close(outputs["prediction"], board.best.predict(given))
    else:
        assert (outputs["label"] == board.best.predict(given)).all()
        close(outputs["decision"], board.best.decision_function(given))
