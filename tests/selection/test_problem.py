"""What compare makes of examples and targets, and what it refuses."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import mercer
from mercer.data import Dataset
from mercer.selection.folds import draw_order, splits_of, within
from mercer.selection.metrics import METRICS, metric_of
from mercer.selection.preprocess import preprocessing
from mercer.selection.problem import as_problem, seconds_of

Y = np.array([0, 1] * 10)


def prepared(X, y=Y):
    from sklearn.pipeline import Pipeline

    problem = as_problem(X, y)
    made = preprocessing(problem)
    return Pipeline(list(made.steps)).fit_transform(problem.X), made


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
        (np.array([["a", 1]] * 20, dtype=object), "table"),
    ],
)
def test_the_kind_of_data_is_seen(X, kind):
    assert as_problem(X, Y).kind == kind


def test_task_and_reason():
    X = np.arange(20.0)[:, None]
    problem = as_problem(X, Y)
    assert (problem.task, problem.reason) == ("classification", "the target takes 2 whole values")
    assert as_problem(X, X[:, 0] + 0.5).task == "regression"
    forced = as_problem(X, Y, "regression")
    assert (forced.task, forced.reason, forced.y.dtype) == ("regression", "as asked for", float)
    assert as_problem(X, np.array([1.0] * 10 + ["b"] * 10, dtype=object)).task == "classification"
    assert as_problem(X, list(range(20))).task == "regression"


def test_a_data_set_brings_its_own():
    data = Dataset(np.eye(20), Y, "vectors", "classification", notes=("classification: so", "hm"))
    problem = as_problem(data)
    assert problem.notes == ("hm",)
    assert as_problem(mercer.data.digits()).kind == "images"


def test_a_column_is_taken_out_of_a_table():
    table = pd.DataFrame({"a": range(20), "label": Y.astype(float)})
    table.loc[3, "label"] = np.nan
    problem = as_problem(table, "label")
    assert list(problem.X.columns) == ["a"]
    assert problem.n == 19
    assert problem.notes == ("1 rows without a target were left out",)
    with pytest.raises(ValueError, match="Did you mean 'label'"):
        as_problem(table, "lable")
    with pytest.raises(ValueError, match="no column beside"):
        as_problem(table[["label"]], "label")


@pytest.mark.parametrize(
    ("X", "y", "task", "message"),
    [
        (np.ones((20, 2)), None, None, "compare needs targets"),
        (np.ones((20, 2)), Y[:5], None, "20 rows but 5 targets"),
        (np.ones((3, 2)), [0, 1, 0], None, "too few"),
        (np.ones((20, 2)), np.zeros(20), None, "every row has the class"),
        (np.ones((20, 2)), np.zeros(20), "regression", "is 0 in every row"),
        (np.ones((20, 2)), ["a"] * 20, None, "every row has the class"),
        (np.ones((20, 2)), [f"c{i}" for i in range(20)], None, "one row each"),
        (np.ones((999, 2)), [i // 2 for i in range(999)], "classification", "too many to learn"),
        (np.ones((20, 2)), ["a", "b"] * 10, "regression", "numbers as targets"),
        (np.ones((20, 2)), [np.nan] + [1.0] * 19, None, "1 targets are missing"),
        (np.ones((20, 2)), [None] + ["x"] * 19, None, "1 targets are missing"),
        (np.ones((20, 2)), [np.inf] + [1.0] * 19, None, "must be finite"),
        (np.ones((20, 2)), np.ones((20, 2)), None, "one target a row"),
        (np.ones(20), Y, None, "rows and columns"),
        ([[1], [1, 2]] * 10, Y, None, "different lengths"),
        (np.ones((20, 2)), Y, "ranking", "task is"),
    ],
)
def test_what_cannot_be_learnt_is_said(X, y, task, message):
    with pytest.raises(ValueError, match=message):
        as_problem(X, y, task)


def test_a_column_of_targets_is_flattened():
    assert as_problem(np.ones((20, 1)), Y[:, None]).y.shape == (20,)


@pytest.mark.parametrize("text", ["soon", "-5s", "1.2.3s", ".", 0, float("nan"), "inf", True])
def test_budgets_that_are_none(text):
    with pytest.raises(ValueError, match="budget"):
        seconds_of(text)


def test_budgets():
    assert [seconds_of(b) for b in ("90", "2min", "0.5h", "500ms")] == [90.0, 120.0, 1800.0, 0.5]


# --- preprocessing -------------------------------------------------------------------------------


def test_numbers_are_standardised_and_gaps_marked():
    X = np.column_stack([np.arange(20.0), np.ones(20), [np.nan] + [3.0, 5.0] * 9 + [4.0]])
    rows, made = prepared(X)
    assert rows.shape == (20, 4)  # with a column that marks the gap
    np.testing.assert_allclose(rows[:, 0].std(), 1.0)
    assert "1 missing values in 1 columns" in made.notes[0]
    X[:, 1] = np.nan
    assert "1 columns hold nothing" in prepared(X)[1].notes[1]


def test_bits_stay_as_they_are():
    bits = np.eye(20)
    rows, made = prepared(bits)
    np.testing.assert_array_equal(rows, bits)
    mixed = np.column_stack([bits, np.arange(20.0)])
    rows, made = prepared(mixed)
    np.testing.assert_array_equal(rows[:, 1:], bits)
    np.testing.assert_allclose(rows[:, 0].std(), 1.0)
    assert "zeros and ones" in made.notes[0]


def test_pixels_share_one_scale():
    rows, made = prepared(np.tile(np.arange(20.0)[:, None], (1, 16)))
    assert made.kind == "pixels"
    assert rows.max() == 1.0


def test_sparse_rows_stay_sparse():
    rows, made = prepared(sparse.csr_matrix(np.diag(np.arange(20.0))))
    assert sparse.issparse(rows)
    assert made.kind == "sparse"
    with pytest.raises(ValueError, match="sparse rows hold NaN"):
        prepared(sparse.csr_matrix(np.diag([np.nan] * 20)))


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (np.ones((20, 2)), "every column of X is constant"),
        (np.full((20, 2), np.nan), "every value of X is missing"),
        (np.full((20, 2), np.inf), "infinite"),
    ],
)
def test_hopeless_numbers(X, message):
    with pytest.raises(ValueError, match=message):
        prepared(X)


def test_tables_are_encoded():
    table = pd.DataFrame(
        {
            "number": np.arange(20.0),
            "bit": [0, 1] * 10,
            "word": ["u", "v", "w", None] * 5,
            "when": pd.date_range("2020-01-01", periods=20),
            "gap": [np.nan, 1.5, 2.5, 3.5] * 5,
            "same": "x",
        }
    )
    rows, made = prepared(table)
    # number, gap and its mark, when, bit, and four values of word
    assert rows.shape == (20, 9)
    said = " ".join(made.notes)
    for words in ("left out: same", "seconds: when", "median and marked: gap", "a value: word"):
        assert words in said


def test_one_column_of_text_is_text():
    table = pd.DataFrame({"sms": [f"message number {i}" for i in range(40)]})
    rows, made = prepared(table, np.array([0, 1] * 20))
    assert made.kind == "strings"
    assert rows[3] == "message number 3"
    other = table.assign(id=[f"id{i}" for i in range(40)])
    assert "left out" in prepared(other, np.array([0, 1] * 20))[1].notes[0]
    mixed = table.assign(n=range(40))
    assert "nearly every row differs: sms" in prepared(mixed, np.array([0, 1] * 20))[1].notes[0]


def test_many_categories_share_a_column():
    words = [f"w{i % 150}" for i in range(600)]
    table = pd.DataFrame({"word": words, "n": np.arange(600.0)})
    rows, made = prepared(table, np.array([0, 1] * 300))
    assert rows.shape[1] == 101
    assert "rare values of 'word'" in " ".join(made.notes)


def test_wide_one_hot_stays_sparse():
    table = pd.DataFrame({f"c{j}": [f"v{i % 90}" for i in range(200)] for j in range(30)})
    rows, made = prepared(table, np.array([0, 1] * 100))
    assert sparse.issparse(rows)
    assert made.kind == "sparse"


# --- folds and metrics ---------------------------------------------------------------------------


def test_every_beginning_of_the_order_is_stratified():
    y = np.array([0] * 90 + [1] * 10)
    order = draw_order(y, True, 3)
    assert sorted(order) == list(range(100))
    assert abs(y[order[:50]].sum() - 5) <= 1
    assert sorted(draw_order(y, False, 0)) == list(range(100))


def test_splits_cover_and_are_seeded():
    y = np.array([0, 1] * 10)
    (first,), name, notes = splits_of(5, None, y, True, 1, 0)
    assert sorted(np.concatenate([test for _, test in first])) == list(range(20))
    assert (name, notes) == ("5-fold cross-validation", ())
    again = splits_of(5, None, y, True, 2, 0)[0]
    np.testing.assert_array_equal(again[0][0][1], first[0][1])
    assert len(again) == 2
    assert not np.array_equal(again[0][0][1], again[1][0][1])


def test_small_classes_are_said():
    y = np.array([0] * 17 + [1] * 3)
    assert "1 of 2 classes have fewer rows" in splits_of(5, None, y, True, 1, 0)[2][0]
    few = np.array([0, 0, 0, 1, 1, 2])
    splits, _, notes = splits_of(5, None, few, True, 1, 0)
    assert len(splits[0]) == 3
    assert "3 folds, because no class has 5 rows" in notes[0]


def test_a_splitter_may_be_given():
    from sklearn.model_selection import LeaveOneOut

    splits, name, _ = splits_of(LeaveOneOut(), None, np.arange(6.0), False, 1, 0)
    assert len(splits[0]) == 6
    assert name.startswith("LeaveOneOut")
    for cv, repeats in ((1, 1), (True, 1), ("five", 1), (3, 0)):
        with pytest.raises(ValueError, match=r"cv is|repeats is"):
            splits_of(cv, None, np.arange(6.0), False, repeats, 0)


def test_a_split_within_some_rows():
    train, test = within((np.array([0, 2, 4]), np.array([1, 3])), np.array([1, 2, 4]), 5)
    assert train.tolist() == [1, 2]
    assert test.tolist() == [0]


def test_metrics_agree_with_scikit_learn():
    from sklearn.metrics import get_scorer_names

    truth, guess = np.array([0, 0, 0, 1]), np.array([0, 1, 0, 1])
    made = {name: f(truth, guess) for name, f in METRICS["classification"].items()}
    assert made == pytest.approx(
        {"accuracy": 0.75, "balanced_accuracy": 5 / 6, "f1_macro": (0.8 + 2 / 3) / 2}
    )
    truth, guess = np.array([1.0, 2.0, 4.0]), np.array([1.0, 2.0, 3.0])
    made = {name: f(truth, guess) for name, f in METRICS["regression"].items()}
    assert made["r2"] == pytest.approx(1 - 1 / (14 / 3))
    assert made["neg_mean_absolute_error"] == pytest.approx(-1 / 3)
    assert made["neg_root_mean_squared_error"] == pytest.approx(-np.sqrt(1 / 3))
    assert METRICS["regression"]["r2"](np.ones(2), np.zeros(2)) == 0.0
    assert set(METRICS["classification"]) | set(METRICS["regression"]) <= set(get_scorer_names())
    with pytest.raises(ValueError, match="accuracy, balanced_accuracy"):
        metric_of("classification", "r2")
