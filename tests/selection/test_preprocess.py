"""What compare makes of data before it races: preprocessing, folds, metrics and budgets."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.pipeline import Pipeline

import mercer
from mercer.data import Dataset
from mercer.selection.folds import draw_order, splits_of, within
from mercer.selection.metrics import METRICS, metric_of, needs
from mercer.selection.preprocess import preprocessing
from mercer.selection.racing.clock import seconds_of

Y = np.array([0, 1] * 10)


def prepared(X, y=Y):
    found = Dataset.of(X, y)
    made = preprocessing(found)
    return Pipeline(list(made.steps)).fit_transform(found.X), made


@pytest.mark.parametrize(
    ("X", "y", "task", "message"),
    [
        (np.ones((20, 2)), None, None, "targets are needed"),
        (np.ones((3, 2)), [0, 1, 0], None, "too few"),
        (np.ones((20, 2)), [f"c{i}" for i in range(20)], None, "one row each"),
        (np.ones((999, 2)), [i // 2 for i in range(999)], "classification", "too many to learn"),
    ],
)
def test_targets_that_cannot_be_learned(X, y, task, message):
    with pytest.raises(ValueError, match=message):
        preprocessing(Dataset.of(X, y, task=task))


@pytest.mark.parametrize("text", ["soon", "-5s", "1.2.3s", ".", 0, float("nan"), "inf", True])
def test_budgets_that_are_none(text):
    with pytest.raises(ValueError, match="budget"):
        seconds_of(text)


def test_budgets():
    assert [seconds_of(b) for b in ("90", "2min", "0.5h", "500ms")] == [90.0, 120.0, 1800.0, 0.5]


# --- preprocessing -------------------------------------------------------------------------------


def test_numbers_are_standardized_and_gaps_marked():
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
    said = " ".join([*Dataset.of(table).notes, *made.notes])
    for words in ("left out: same", "seconds: when", "median and marked: gap", "per value: word"):
        assert words in said


def test_one_column_of_text_is_text():
    y = np.array([0, 1] * 20)
    table = pd.DataFrame({"sms": [f"message number {i}" for i in range(40)]})
    rows, made = prepared(table, y)
    assert made.kind == "strings"
    assert rows[3] == "message number 3"
    # Of several the longest is learned from, and the rows of a table are read as well as strings.
    rows, made = prepared(table.assign(id=[f"id{i}" for i in range(40)])[["id", "sms"]], y)
    assert rows[3] == "message number 3"
    assert Pipeline(list(made.steps)).fit_transform(table)[3] == "message number 3"
    found = Dataset.of(table.assign(n=range(40), id=[f"id{i}" for i in range(40)]), y)
    assert found.names == ("sms", "n")
    assert "free text left out: id" in " ".join(found.notes)


def test_text_beside_columns_becomes_topics(tmp_path):
    rng = np.random.default_rng(0)
    dull = [" ".join(rng.choice(["a", "the", "of", "then", "when", "so"], 6)) for _ in range(300)]
    kind = rng.integers(2, size=300)
    X = pd.DataFrame({
        "n": rng.normal(size=300),
        "town": rng.choice(["Ulm", "Bonn"], 300),
        "said": [f"{w} {('quite good', 'rather bad')[k]}" for w, k in zip(dull, kind, strict=True)],
    })  # fmt: skip
    X.loc[3, "said"] = None
    y = np.where(kind == 1, "bad", "good")
    rows, made = prepared(X, y)
    assert rows.shape == (300, 1 + 2 + 50)
    assert "text becomes 50 topics: said" in made.notes
    # Numbers have a variance of 1 each, and so have all topics together as much as all of these.
    assert np.square(rows[:, 3:]).sum(axis=1).mean() == pytest.approx(3.0, rel=0.1)
    board = mercer.compare(X[:200], y[:200], learners=["ridge"], holdout=None)
    assert board.best.score(X[200:], y[200:]) > 0.95
    mercer.save(board.best, tmp_path / "m")
    new = X[200:][["said", "town", "n"]]  # in another order, with a gap
    assert np.array_equal(mercer.load(tmp_path / "m").predict(new), board.best.predict(X[200:]))


def test_rows_of_a_table_may_come_as_arrays():
    X = np.array([[i % 7, "ab"[i % 2], "same", f"{i % 5}"] for i in range(20)], dtype=object)
    rows, made = prepared(X)
    assert rows.shape == (20, 1 + 2 + 5)
    new = Pipeline(list(made.steps)).fit(Dataset.of(X, Y).X).transform(X[:3])
    np.testing.assert_array_equal(new, rows[:3])


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
    answering = {k: f for k, f in METRICS["classification"].items() if needs(f) == "answers"}
    made = {name: f(truth, guess) for name, f in answering.items()}
    assert made == pytest.approx(
        {"accuracy": 0.75, "balanced_accuracy": 5 / 6, "f1_macro": (0.8 + 2 / 3) / 2}
    )
    truth, guess = np.array([1.0, 2.0, 4.0]), np.array([1.0, 2.0, 3.0])
    made = {name: f(truth, guess) for name, f in METRICS["regression"].items()}
    assert made["r2"] == pytest.approx(1 - 1 / (14 / 3))
    assert made["neg_mean_absolute_error"] == pytest.approx(-1 / 3)
    assert made["neg_root_mean_squared_error"] == pytest.approx(-np.sqrt(1 / 3))
    assert METRICS["regression"]["r2"](np.ones(2), np.zeros(2)) == 0.0
    named = set(METRICS["classification"]) | set(METRICS["regression"])
    assert named - {"neg_mean_pinball_loss"} <= set(get_scorer_names())
    with pytest.raises(ValueError, match="accuracy, balanced_accuracy"):
        metric_of("classification", "r2")
