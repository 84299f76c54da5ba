"""What people put into a model file: functions of NumPy, searches, models of data frames."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import mercer
from mercer.learners import KernelRidge, LocalLinearRegressor, NadarayaWatsonRegressor
from mercer.store import StoreError

RNG = np.random.default_rng(0)
X = RNG.uniform(size=(40, 3))
t = X.sum(axis=1)


def test_a_function_of_numpy_is_saved_by_its_name(tmp_path):
    model = make_pipeline(FunctionTransformer(np.log1p), KernelRidge("gaussian(1)")).fit(X, t)
    mercer.save(model, tmp_path / "m.mercer")
    np.testing.assert_array_equal(mercer.load(tmp_path / "m.mercer").predict(X), model.predict(X))


def test_a_function_of_ones_own_is_refused_with_what_to_do(tmp_path):
    model = make_pipeline(FunctionTransformer(lambda A: A), KernelRidge("gaussian(1)")).fit(X, t)
    with pytest.raises(StoreError, match=r"holds no code. A function of NumPy \(np.log1p"):
        mercer.save(model, tmp_path / "m.mercer")


@pytest.mark.parametrize(
    "model",
    [NadarayaWatsonRegressor(bandwidth=0.3), LocalLinearRegressor(bandwidth=0.5)],
    ids=lambda model: type(model).__name__,
)
def test_a_model_of_a_frame_predicts_the_same_bits_after_a_round_trip(model, tmp_path):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"a": X[:, 0]})
    frame["b"], frame["c"] = X[:, 1], X[::-1, 2]  # columns that lie apart in memory
    model.fit(frame, t)
    expected = model.predict(frame)
    mercer.save(model, tmp_path / "m.mercer")
    np.testing.assert_array_equal(mercer.load(tmp_path / "m.mercer").predict(frame), expected)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict(frame), expected)
    np.testing.assert_array_equal(model.predict(frame[["a", "b", "c"]].copy()), expected)


def test_masked_entries_are_refused():
    masked = np.ma.masked_less(X, 0.1)
    with pytest.raises(ValueError, match="entries are masked"):
        KernelRidge("gaussian(1)").fit(masked, t)
    with pytest.raises(ValueError, match="entries are masked"):
        mercer.Gaussian()(masked)
    mercer.Gaussian()(np.ma.masked_less(X, -1.0))


def test_a_gram_is_an_array_when_asked_to_be_one():
    G = mercer.Gaussian().gram(X)
    np.testing.assert_array_equal(np.asarray(G), G.dense())
    assert np.asarray(G, dtype=np.float32).dtype == np.float32


@pytest.mark.parametrize(
    ("numbers", "words"), [("number", "object"), (np.number, [object, "string"])]
)
def test_columns_chosen_by_their_types(tmp_path, numbers, words):
    from sklearn.compose import make_column_selector, make_column_transformer
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    frame = pd.DataFrame({"a": [1.0, 2.0, 3.0, 4.0], "b": ["u", "v", "u", "v"]})
    columns = make_column_transformer(
        (StandardScaler(), make_column_selector(dtype_include=numbers)),
        (OneHotEncoder(), make_column_selector(dtype_include=words)),
    )
    model = make_pipeline(columns, mercer.KernelSVC("gaussian(1)")).fit(frame, [0, 1, 0, 1])
    mercer.save(model, tmp_path / "m.mercer")
    again = mercer.load(tmp_path / "m.mercer")
    assert np.array_equal(again.decision_function(frame), model.decision_function(frame))
    assert again.fit(frame, [0, 1, 0, 1]).predict(frame).tolist() == [0, 1, 0, 1]
