"""Traps in data: each is said, and nothing is said of clean tables."""

import importlib
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import Pipeline

import mercer
from mercer.data.dataset import Dataset
from mercer.selection.data_checks import check
from mercer.selection.preprocess import preprocessing

N = 300
EVERY_DAY = pd.date_range("2024-01-01", periods=N).astype(str)


def table(seed=0, task="classification"):
    """Columns that say something about the target, and nothing that is odd."""
    random = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "a": random.normal(size=N),
            "b": random.exponential(size=N).round(2) + random.random(N),
            "town": random.choice(["Ulm", "Bonn", "Kiel"], N),
            "count": random.poisson(4, N),
            "bit": random.integers(2, size=N),
        }
    )
    score = frame["a"] + (frame["town"] == "Ulm") + 0.3 * frame["b"] + 0.7 * random.normal(size=N)
    frame["y"] = score if task == "regression" else np.where(score > 0.6, "yes", "no")
    return frame


def said(frame, **options):
    return [str(n) for n in check(Dataset.of(frame, target="y", **options)).notes]


@pytest.fixture(scope="module")
def leaks():
    """bench/leaks.py: tables that are clean, and leaks to be planted in them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(Path(__file__).resolve().parents[2] / "bench"))
        return importlib.import_module("leaks")


@pytest.mark.parametrize("task", ["classification", "regression"])
@pytest.mark.parametrize("seed", range(5))
def test_nothing_is_said_of_clean_tables(leaks, seed, task):
    assert leaks.told(leaks.clean_table(np.random.default_rng(seed), task)) == []


def test_nothing_is_said_of_tables_that_are_known_to_be_clean(leaks):
    assert [leaks.told(frame) for frame in leaks.known_tables()] == [[]] * 4


def test_planted_leaks_are_told_with_what_was_done(leaks):
    random = np.random.default_rng(0)
    assert len(leaks.LEAKS) >= 12
    for name, (tasks, plant, word) in leaks.LEAKS.items():
        for task in tasks:
            said = leaks.told(plant(leaks.clean_table(random, task), random))
            note = next((n for n in said if word in n), "")
            assert re.search("left out|kept|held out|folds hold them", note), (name, task, said)


def test_arrays_do_without_numbers_of_rows_and_huge_ones(tmp_path):
    random = np.random.default_rng(0)
    X = np.round(100 * random.normal(size=(N, 2))).astype(int)
    huge, running = 2**62 + random.integers(0, 10**6, N), random.permutation(N)
    rows = np.column_stack([huge, X, running])
    y = np.where(X[:, 0] + 20 * random.normal(size=N) > 0, "up", "down")
    options = {"kernels": ["gaussian(1)"], "learners": ["ridge"], "cv": 3, "holdout": 0.3}
    board = mercer.selection.compare(rows, y, **options)
    assert any("number the rows: x3" in note for note in board.notes)
    assert any("beyond 2⁵³ cannot be told apart: x0" in note for note in board.notes)
    assert board.headline.score > 0.8
    mercer.save(board.best, tmp_path / "m.mercer")
    changed = rows.copy()
    changed[:, [0, 3]] = 1
    answers = mercer.load(tmp_path / "m.mercer").predict(changed)
    assert (answers == board.best.predict(rows)).all()


@pytest.mark.parametrize("container", [np.asarray, pd.DataFrame])
def test_a_fit_without_a_comparison_leaves_huge_numbers_out(container):
    random = np.random.default_rng(0)
    X = np.column_stack([2**62 + random.integers(0, 10**6, N), random.integers(0, 99, N)])
    made = preprocessing(Dataset.of(container(X), X[:, 1] > 50, task="classification"))
    assert any("beyond 2⁵³" in note for note in made.notes)
    assert Pipeline(list(made.steps)).fit_transform(container(X)).shape == (N, 1)


def test_rare_classes_and_targets_in_order():
    frame = table()
    frame["y"] = np.where(np.arange(N) % 50 == 0, "fraud", "fine")
    assert any("rare classes: 'fraud'" in n for n in said(frame))
    series = table(task="regression").assign(y=np.cumsum(np.random.default_rng(0).normal(size=N)))
    assert any("order of time" in n for n in said(series))


def test_what_is_taken_care_of_is_not_told():
    frame = table().sort_values("y").assign(day=EVERY_DAY, user_id=np.arange(N) // 6)
    found = Dataset.of(frame, target="y")
    told = " ".join(check(found).notes)
    assert "order of 'day'" in told
    assert "sorted" in told
    assert "groups='user_id'" in told
    assert list(check(found, groups="user_id", time="day").notes) == [
        "'user_id' is left out of the columns: rows are held out by its values",
        "'day' is left out of the columns: rows are held out after those before it",
    ]


def test_a_number_of_the_rows_stays_where_it_is_all_there_is():
    frame = pd.DataFrame({"t": np.arange(N), "y": np.random.default_rng(0).normal(size=N)})
    checked = check(Dataset.of(frame, target="y"))
    assert list(checked.found.X.columns) == ["t"]


def test_the_model_does_without_the_numbers_of_the_rows():
    frame = table().assign(id=np.arange(N))
    options = {"kernels": ["gaussian(1)"], "learners": ["ridge"], "cv": 3, "holdout": 0.2}
    board = mercer.selection.compare(frame, "y", **options)
    assert any("number the rows: id" in note for note in board.notes)
    rows = frame.drop(columns="y")
    answers = board.best.predict(rows)
    assert (board.best.predict(rows.assign(id=0)) == answers).all()
    assert board.headline.rows == 60


def test_copies_are_held_out_together():
    frame = pd.concat([table(), table().head(60)], ignore_index=True)
    checked = check(Dataset.of(frame, target="y"))
    assert any("60 rows are copies" in n for n in checked.notes)
    groups = checked.groups
    assert (groups[:60] == groups[300:]).all()
    from mercer.selection.folds import splits_of
    from mercer.selection.holdout import plan_holdout
    from mercer.selection.racing.clock import Clock

    plan = plan_holdout(checked, "auto", Clock(None), 0)
    splits = splits_of(5, checked.found.X, checked.found.y, True, 1, 0, groups=groups)[0][0]
    for train, test in [*plan.parts, *plan_holdout(checked, 0.2, Clock(None), 0).parts, *splits]:
        assert set(groups[train]).isdisjoint(groups[test])


def test_copies_that_could_be_remembered_do_not_flatter():
    """Noise, every row twice: a nearest neighbor remembers, and must not look good for it."""
    random = np.random.default_rng(0)
    X, y = random.normal(size=(60, 3)), random.integers(2, size=60)
    X, y = np.vstack([X, X]), np.concatenate([y, y])
    options = {"kernels": ["gaussian(0.3)"], "learners": ["neighbors"], "cv": 3}
    board = mercer.selection.compare(X, y, **options)
    assert board.headline.score < 0.7
    assert board.best_row.mean < 0.7


@pytest.mark.parametrize(
    ("y", "task"),
    [
        (np.repeat(np.arange(1, 27), 20), "classification"),  # letters
        (np.random.default_rng(0).poisson(40, 600), "regression"),  # counts
        (np.arange(26).repeat(1), "regression"),
        (np.repeat(np.arange(0, 52, 2), 20), "regression"),
        (np.repeat(np.arange(25), 400 // np.arange(1, 26) ** 2 + 1), "regression"),  # rare events
        (np.repeat([0, 1, 2], 20), "classification"),
        (np.repeat(np.arange(0, 101, 10), 900), "regression"),  # doses
        (np.repeat([-1, 1], 20), "classification"),
        (np.repeat([1, 2, 4, 8, 16], 20), "classification"),
    ],
)
def test_labels_and_counts(y, task):
    assert mercer.data.targets.guess_task(y)[0] == task


def test_what_nobody_asked_for_is_not_said_to_be_asked_for():
    random = np.random.default_rng(0)
    frame = pd.DataFrame({"id": np.arange(60), "a": random.normal(size=60)})
    notes = mercer.compare(frame, np.repeat(["u", "v"], 30), kernels=["linear"], learners=["ridge"],
                           cv=2, holdout=None).notes  # fmt: skip
    assert [n for n in notes if "number the rows: id" in n]
    assert not [n for n in notes if "asked for" in n]


def test_the_first_line_says_how_to_take_classes_for_numbers_and_numbers_for_classes():
    random = np.random.default_rng(0)
    X, y = random.normal(size=(60, 2)), np.repeat([0, 1, 2], 20)
    few = {"kernels": ["linear"], "learners": ["ridge"], "cv": 2, "holdout": None}
    assert "task='regression'" in str(mercer.compare(X, y, **few)).partition("kernel ")[0]
    assert "task=" not in str(mercer.compare(X, y, task="classification", **few))[:40]
    spaced = str(mercer.compare(X, np.repeat(np.arange(0, 60, 10), 10), **few))
    assert "task='classification'" in spaced.partition("kernel ")[0]


def test_a_target_with_decimal_commas_is_a_number(tmp_path):
    path = tmp_path / "prices.csv"
    lines = [f"{i};{i // 10}.{100 + i},{i % 10}5" for i in range(60)]
    path.write_text("\n".join(["x;price", *lines]))
    found = mercer.data.load(path, "price")
    assert (found.task, found.y.dtype) == ("regression", float)
    assert found.y[42] == 4142.25
    assert mercer.data.Dataset.of(np.eye(3), ["1,5", "2", "3,25"]).y.tolist() == [1.5, 2.0, 3.25]
    words = mercer.data.Dataset.of(np.eye(3), ["1,5", "2", "three"])
    assert words.task == "classification"


def test_decimal_commas_and_dates_as_people_write_them(tmp_path):
    random = np.random.default_rng(0)
    price = random.uniform(0, 3000, N).round(2)
    days = pd.Timestamp("2024-01-01") + pd.to_timedelta(random.integers(0, 700, N), "D")
    label = np.where(price > 1500, "dear", "cheap")
    frame = pd.DataFrame(
        {
            "price": [f"{p:,.2f}".translate(str.maketrans(",.", ".,")) for p in price],
            "day": days.strftime("%d.%m.%Y"),
            "us": days.strftime("%m/%d/%Y"),
            "size": random.normal(size=N),
            "label": label,
        }
    )
    path = tmp_path / "prices.csv"
    frame.to_csv(path, sep=";", index=False)
    for found in (Dataset.of(frame, target="label"), mercer.data.load(path, "label")):
        assert found.schema.types == ("comma", "day.month", "month/day", "number")
        assert np.allclose(found.X["price"], price)
        seconds = (days - pd.Timestamp("1970-01-01")).total_seconds()
        assert np.array_equal(found.X["day"], seconds)
        assert np.array_equal(found.X["us"], seconds)
        options = {"kernels": ["gaussian(1)"], "learners": ["ridge"], "cv": 3, "holdout": None}
        board = mercer.selection.compare(found, **options)
        mercer.save(board.best, tmp_path / "m.mercer")
        again = mercer.load(tmp_path / "m.mercer")
        rows = frame.drop(columns="label") if found.given else found.schema.table(frame)
        assert (again.predict(rows) == board.best.predict(rows)).all()
        assert (again.predict(rows) == label).mean() > 0.9
