"""Dataset.of: one way in for examples and targets, whatever holds them, and what it refuses."""

import pickle

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import mercer
from mercer.data import Dataset

Y = np.array([0, 1] * 10)


@pytest.mark.parametrize(
    ("X", "kind"),
    [
        (np.ones((20, 2)), "vectors"),
        (np.ones((20, 4, 4)), "images"),
        (sparse.csc_matrix(np.eye(20)), "vectors"),
        (["a"] * 20, "strings"),
        (np.array(["a"] * 20), "strings"),
        ([b"Subject: x\n\ny"] * 20, "mail"),
        ([[1.0, 2.0]] * 20, "vectors"),
        (pd.DataFrame({"a": range(20)}), "table"),
        (np.array([["a", 1], ["b", 2]] * 10, dtype=object), "table"),
    ],
)
def test_the_kind_of_data_is_seen(X, kind):
    assert Dataset.of(X, Y).kind == kind


def test_task_and_reason():
    X = np.arange(20.0)[:, None]
    found = Dataset.of(X, Y)
    assert (found.task, found.reason) == ("classification", "the target takes 2 whole values")
    assert found.classes.tolist() == [0, 1]
    assert Dataset.of(X, X[:, 0] + 0.5).task == "regression"
    forced = Dataset.of(X, Y, task="regression")
    assert (forced.task, forced.reason, forced.y.dtype) == ("regression", "as asked for", float)
    assert forced.classes is None
    mixed = np.array([1.0] * 10 + ["b"] * 10, dtype=object)
    assert Dataset.of(X, mixed).task == "classification"
    assert Dataset.of(X, list(range(20))).task == "regression"
    back = Dataset.of(Dataset.of(X, list(range(20))), task="classification")
    assert back.classes.tolist() == list(range(20))


def test_a_data_set_is_taken_as_it_is():
    found = mercer.data.digits()
    assert Dataset.of(found) is found
    other = Dataset.of(found, found.y % 2)
    assert other.kind == "images"
    assert other.classes.tolist() == [0, 1]


def test_notes_have_a_kind():
    frame = pd.DataFrame({"a": range(6), "b": [None, *"uvuvu"], "c": 1, "y": [0, 1, 0, 1, 0, None]})
    notes = {note.kind: note for note in Dataset.of(frame, "y").notes}
    assert notes.keys() == {"target", "columns", "missing", "task"}
    assert notes["target"] == "1 rows without a target were left out"
    copy = pickle.loads(pickle.dumps(notes["task"]))
    assert (copy, copy.kind) == (notes["task"], "task")


def table():
    days = pd.date_range("2024-01-01", periods=20)
    return pd.DataFrame(
        {"n": np.arange(20.0), "w": ["u", "v"] * 10, "t": Y == 0, "d": days, "y": Y.astype(str)}
    )


def same(found, expected):
    assert (found.kind, found.task) == (expected.kind, expected.task)
    assert found.schema == expected.schema
    assert found.y.tolist() == expected.y.tolist()
    pd.testing.assert_frame_equal(found.X, expected.X, check_dtype=False)


def test_every_form_of_a_table_gives_the_same(tmp_path):
    pa = pytest.importorskip("pyarrow")
    expected = Dataset.of(table(), "y")
    assert expected.schema.types == ("number", "category", "truth", "date")
    same(Dataset.of(pa.table(table()), "y"), expected)
    table().to_parquet(tmp_path / "t.parquet")
    table().to_csv(tmp_path / "t.csv", index=False)
    same(Dataset.of(tmp_path / "t.parquet", target="y"), expected)
    by_file = Dataset.of(str(tmp_path / "t.csv"), target="y")
    pd.testing.assert_frame_equal(by_file.X, expected.X, check_dtype=False)
    assert by_file.schema == expected.schema


def test_polars_is_read():
    polars = pytest.importorskip("polars")
    same(Dataset.of(polars.from_pandas(table()), "y"), Dataset.of(table(), "y"))


def test_truths_and_dates_as_targets():
    assert Dataset.of(np.ones((20, 1)), Y > 0).classes.tolist() == [False, True]
    frame = pd.DataFrame({"a": range(4), "y": [True, False, True, None]})
    assert Dataset.of(frame, "y").classes.tolist() == [False, True]
    days = np.array(["2024-01-01", "2024-01-02"], dtype="datetime64[D]")
    assert Dataset.of(np.ones((2, 1)), days).classes.tolist() == ["2024-01-01", "2024-01-02"]


def test_a_column_is_taken_out_of_a_table():
    table = pd.DataFrame({"a": range(20), "label": Y.astype(float)})
    table.loc[3, "label"] = np.nan
    found = Dataset.of(table, "label")
    assert list(found.X.columns) == ["a"]
    assert len(found) == 19
    assert found.y.dtype == np.int64
    with pytest.raises(ValueError, match="Did you mean 'label'"):
        Dataset.of(table, "lable")
    with pytest.raises(ValueError, match="no column beside"):
        Dataset.of(table[["label"]], "label")


@pytest.mark.parametrize(
    ("X", "y", "task", "message"),
    [
        (np.ones((20, 2)), Y[:5], None, "20 rows but 5 targets"),
        (np.ones((20, 2)), np.zeros(20), None, "takes a single value"),
        (np.ones((20, 2)), np.zeros(20), "regression", "takes a single value"),
        (np.ones((20, 2)), ["a"] * 20, None, "takes a single value"),
        (np.ones((20, 2)), ["a", "b"] * 10, "regression", "numbers as targets"),
        (np.ones((20, 2)), [np.nan] + [1.0] * 19, None, "1 targets are missing"),
        (np.ones((20, 2)), [None] + ["x"] * 19, None, "1 targets are missing"),
        (np.ones((20, 2)), [np.inf] + [1.0] * 19, None, "must be finite"),
        (np.ones((20, 2)), np.ones((20, 2)), None, "one target per row"),
        (np.ones(20), Y, None, "rows and columns"),
        ([[1], [1, 2]] * 10, Y, None, "different lengths"),
        (np.ones((20, 2)), Y, "ranking", "task is"),
    ],
)
def test_what_cannot_be_learned_is_said(X, y, task, message):
    with pytest.raises(ValueError, match=message):
        Dataset.of(X, y, task=task)


def test_a_column_of_targets_is_flattened():
    assert Dataset.of(np.ones((20, 1)), Y[:, None]).y.shape == (20,)
