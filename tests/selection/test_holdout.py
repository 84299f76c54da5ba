"""The headline: rows that no choice has seen, and the interval of their score."""

import math

import numpy as np
import pandas as pd
import pytest

import mercer
from mercer.data.dataset import Dataset
from mercer.selection.data_checks import check
from mercer.selection.holdout import (
    FEWEST_ANSWERS,
    Headline,
    answers,
    answers_until,
    headline_of,
    interval,
    plan_holdout,
)
from mercer.selection.metrics import accuracy, r2
from mercer.selection.racing.clock import Clock

FEW = {"kernels": ["gaussian(1)", "linear()"], "learners": ["ridge"], "cv": 3}


def data(n, seed=0):
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, 3))
    return X, X[:, 0] + np.sin(2 * X[:, 1]) + 0.3 * random.normal(size=n)


def test_few_rows_are_all_judged_by_models_that_had_not_seen_them():
    X, y = data(60)
    board = mercer.selection.compare(X, y, **FEW)
    top = board.headline
    assert top.rows == 60
    assert np.array_equal(top.predictions.rows, np.arange(60))
    assert np.array_equal(top.predictions.truth, y)
    assert top.score == pytest.approx(r2(y, top.predictions.predicted))
    assert top.low < top.score < top.high
    # The saved model has seen all rows, and so it answers better on them than it is said to.
    assert r2(y, board.best.predict(X)) > top.score
    assert board.saved.rows == 60
    assert board.to_dict()["headline"]["how"].startswith("5 parts")


def test_a_choice_by_chance_does_not_flatter_the_headline():
    """Columns without any pattern: the best of many of them looks good, and is not."""
    kernels = [mercer.Gaussian().on([column]) for column in range(16)]
    raced, unseen = [], []
    for seed in range(4):
        X, y = np.random.default_rng(seed).normal(size=(40, 16)), np.arange(40) % 2
        board = mercer.selection.compare(X, y, kernels=kernels, learners=["ridge"], cv=3)
        raced.append(board.best_row.mean)
        unseen.append(board.headline.score)
    assert np.mean(raced) > 0.56
    assert 0.38 < np.mean(unseen) < 0.58  # three standard errors of 160 tosses of a coin
    assert np.mean(unseen) < np.mean(raced) - 0.05


def test_of_many_rows_a_fifth_is_kept_back_and_later_fitted(monkeypatch):
    monkeypatch.setattr("mercer.selection.holdout.TURN_ROWS", 100)
    X, y = data(150)
    board = mercer.selection.compare(X, y, **FEW)
    assert board.headline.rows == 30
    assert "30 rows kept back" in board.headline.how
    assert (board.n_rows, board.saved.rows) == (150, 150)
    assert set(board.oof.rows).isdisjoint(board.headline.predictions.rows)
    assert len(board.oof.rows) == 120
    monkeypatch.setattr("mercer.selection.comparison.ALL_ROWS", 100)
    board = mercer.selection.compare(X, y, **FEW)
    assert board.saved.rows == 120
    assert "fitted on 120 of 150 rows" in str(board)
    kept = board.headline.predictions
    assert np.array_equal(board.best.predict(X[kept.rows]), kept.predicted)


def test_a_share_none_and_nonsense():
    X, y = data(40)
    assert mercer.selection.compare(X, y, holdout=0.5, **FEW).headline.rows == 20
    board = mercer.selection.compare(X, y, holdout=None, **FEW)
    assert board.headline is None
    assert "in the race" in repr(board)
    with pytest.raises(ValueError, match="holdout is 'auto'"):
        mercer.selection.compare(X, y, holdout=7, **FEW)


def test_parts_have_the_shares_of_the_classes():
    y = np.array(["a"] * 80 + ["b"] * 20)
    found = check(Dataset.of(np.random.default_rng(0).normal(size=(100, 2)), y))
    plan = plan_holdout(found, "auto", Clock(None), 0)
    assert plan.in_turn
    assert [int((y[test] == "b").sum()) for _, test in plan.parts] == [4] * 5
    assert np.array_equal(np.sort(np.concatenate([t for _, t in plan.parts])), np.arange(100))
    assert all(set(train).isdisjoint(test) for train, test in plan.parts)
    assert not plan_holdout(found, "auto", Clock(2.0), 0).in_turn  # no time for six choices


def test_parts_are_held_out_in_turn_where_the_processor_has_time_for_it(monkeypatch):
    found = check(Dataset.of(*data(100)))
    for crowding, in_turn in ((1.1, True), (3.0, False)):
        monkeypatch.setattr(Clock, "crowding", lambda self, c=crowding: c)
        assert plan_holdout(found, "auto", Clock(60.0), 0).in_turn is in_turn


def test_ctrl_c_in_a_part_keeps_the_model(monkeypatch):
    X, y = data(60)
    runs = []

    whole = mercer.selection.choice.Choice.run

    def run(self, *args):
        runs.append(len(self.y))
        if len(runs) == 3:
            raise KeyboardInterrupt
        whole(self, *args)

    monkeypatch.setattr(mercer.selection.choice.Choice, "run", run)
    board = mercer.selection.compare(X, y, **FEW)
    assert runs == [60, 48, 48]
    assert board.headline.rows == 12
    assert board.headline.how.startswith("1 of 5")
    assert board.interrupted
    assert board.best.predict(X).shape == (60,)


@pytest.mark.parametrize("n", [30, 300])
def test_intervals_cover(n):
    """Of 300 samples with a known share of right answers about nine in ten intervals hold it."""
    random = np.random.default_rng(n)
    inside = 0
    for _ in range(300):
        right = random.random(n) < 0.85
        low, high = interval(np.ones(n), right.astype(float), accuracy)
        inside += low <= 0.85 <= high
    assert 0.84 <= inside / 300 <= 0.96


def test_an_interval_of_another_metric_draws_rows_anew():
    random = np.random.default_rng(0)
    truth = random.normal(size=200)
    said = truth + 0.5 * random.normal(size=200)
    low, high = interval(truth, said, r2)
    assert low < r2(truth, said) < high
    assert interval(truth, said, r2) == (low, high)
    assert high - low < 0.2


def test_answers_say_how_sure_they_are():
    X, y = mercer.data.moons(40)
    model = mercer.KernelSVC("gaussian(1)").fit(X, y)
    said = answers(model, Dataset.of(X, y), np.arange(10, 20))
    assert np.array_equal(said.certainty, np.abs(model.decision_function(X[10:20])))
    assert np.array_equal(said.scores[:, 1], model.decision_function(X[10:20]))
    assert not said.probable.any()
    whole = headline_of([said], accuracy, "ten rows", 0)
    assert isinstance(whole, Headline)
    assert whole.rows == 10


def test_scores_have_a_column_per_class_even_of_classes_that_were_not_met():
    X, y = mercer.data.moons(40)
    model = mercer.KernelLogisticRegression("gaussian(1)").fit(X, np.where(y > 0, "c", "a"))
    found = Dataset.of(X, np.array(["a", "b", "c", "c"] * 10))
    said = answers(model, found, np.arange(5), part=2)
    assert np.array_equal(said.scores[:, [0, 2]], model.predict_proba(X[:5]))
    assert (said.scores[:, 1] <= said.scores[:, [0, 2]].min()).all()
    assert said.probable.all()
    assert (said.part == 2).all()


# --- groups and time -----------------------------------------------------------------------------

PLAIN = {"kernels": ["gaussian(1)"], "learners": ["neighbors"], "cv": 3, "rivals": None}


def patients(n=120):
    """Every patient has a mark that tells the answer, and nothing else does."""
    random = np.random.default_rng(0)
    who = np.arange(n) // 6
    X = 10.0 * random.normal(size=(n // 6, 2))[who] + 0.1 * random.normal(size=(n, 2))
    answer = random.integers(2, size=n // 6)[who]
    return pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "who": [f"p{i}" for i in who],
                         "y": np.array(["no", "yes"])[answer]})  # fmt: skip


def test_rows_of_a_group_are_held_out_together():
    frame = patients()
    flattered = mercer.compare(frame.drop(columns="who"), "y", **PLAIN)
    honest = mercer.compare(frame, "y", groups="who", **PLAIN)
    assert flattered.headline.score > 0.95
    assert honest.headline.score < 0.8
    assert honest.best_row.mean < 0.8
    assert "who" not in honest.best.schema_.columns
    given = mercer.compare(frame.drop(columns="who"), "y", groups=frame["who"], **PLAIN)
    assert given.best_row.mean == honest.best_row.mean
    kept = mercer.compare(frame, "y", groups="who", holdout=0.2, **PLAIN).headline.predictions
    assert len(kept.rows) == 24
    assert len(set(frame["who"].iloc[kept.rows])) == 4


def test_rows_held_out_by_time_come_last():
    random = np.random.default_rng(0)
    t = random.permutation(100)
    X = np.column_stack([t / 50.0, random.normal(size=100)])
    board = mercer.compare(X, X[:, 0] + X[:, 1], time=t, **PLAIN)
    assert sorted(t[board.headline.predictions.rows]) == list(range(80, 100))
    assert "20 last rows" in board.headline.how
    assert board.folds == "3 steps forward in time"
    ordered = mercer.compare(X, X[:, 0] + X[:, 1], time=True, holdout=0.1, repeats=2, **PLAIN)
    assert ordered.headline.predictions.rows.tolist() == list(range(90, 100))


def test_parameters_are_chosen_on_rows_of_other_groups_and_of_later_times(monkeypatch):
    """Inside a training fold, too: else a penalty is chosen that remembers the group."""
    from mercer.selection.trainers.base import Fold

    X, y = data(120)
    asked, inner = [], Fold.inner

    def kept(self):
        asked.append((self, inner(self)))
        return inner(self)

    monkeypatch.setattr(Fold, "inner", kept)
    few = {"kernels": ["gaussian(1)"], "rivals": None, "learners": ["ridge"], "holdout": None}
    mercer.selection.compare(X, y, groups=np.arange(120) // 6, **few)
    assert asked
    for fold, (fit, judge) in asked:
        assert set(fold.groups[fit]).isdisjoint(fold.groups[judge])
    asked.clear()
    mercer.selection.compare(X, y, time=np.arange(120)[::-1], **few)
    assert asked
    for fold, (fit, judge) in asked:
        assert fold.times[fit].max() < fold.times[judge].min()
    asked.clear()
    mercer.selection.compare(X, y, **few)
    assert not asked  # each row is left out alone, by a formula


def test_what_groups_and_time_may_be():
    frame = patients(48)
    with pytest.raises(ValueError, match="one value per row, 48"):
        mercer.compare(frame, "y", groups=[1, 2], **PLAIN)
    with pytest.raises(ValueError, match="no column 'whom'; its columns: a, b, who"):
        mercer.compare(frame, "y", groups="whom", **PLAIN)
    with pytest.raises(ValueError, match="numbers or dates"):
        mercer.compare(frame, "y", time="who", **PLAIN)


def test_copies_do_not_change_the_shares_of_what_is_kept_back():
    """A class of few examples, twenty copies each: its share of the rows kept back is its own."""
    random = np.random.default_rng(0)
    X = np.vstack([random.normal(size=(2_000, 2)), np.repeat(random.normal(size=(50, 2)), 20, 0)])
    y = np.repeat(["single", "copied"], [2_000, 1_000])
    found = check(Dataset.of(X, y))
    ((train, test),) = plan_holdout(found, 0.2, Clock(None), 0).parts
    assert set(found.groups[train]).isdisjoint(found.groups[test])
    assert 580 <= len(test) <= 640
    assert 0.3 < np.mean(y[test] == "copied") < 0.37


def test_without_time_few_of_the_rows_kept_back_are_judged():
    X, y = data(2_000)
    found = Dataset.of(X, y)
    model = mercer.KernelRidge("linear()", alpha=1.0).fit(X[:100], y[:100])
    rows = np.arange(100, 2_000)
    few = answers_until(0.0, model, found, rows, 0)
    assert len(few.rows) == FEWEST_ANSWERS
    assert (np.diff(few.rows) > 0).all()
    np.testing.assert_array_equal(few.truth, found.y[few.rows])
    assert len(answers_until(math.inf, model, found, rows, 0).rows) == len(rows)


@pytest.mark.parametrize("metric", [accuracy, r2])
def test_intervals_hold_the_truth_as_often_as_they_say(metric):
    random, inside = np.random.default_rng(0), []
    for seed in range(200):
        n, noise = int(random.integers(30, 200)), random.uniform(0.2, 1.0)

        def answered(n, noise=noise):
            f = random.normal(size=n) + random.exponential(size=n)
            y, said = f + noise * random.normal(size=n), f + 0.3 * random.normal(size=n)
            return (y > 1, said > 1) if metric is accuracy else (y, said)

        low, high = interval(*answered(n), metric, seed)
        inside.append(low <= metric(*answered(20_000)) <= high)
    assert 0.85 <= np.mean(inside) <= 0.95
