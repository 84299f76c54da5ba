"""A time budget that is over ends work in any thread; nothing here depends on how fast it runs."""

import time
from types import SimpleNamespace

import numpy as np
import pytest

import mercer
from mercer._machine.deadline import (
    OutOfTime,
    announced,
    check_time,
    one_call,
    optional,
    until,
)
from mercer._progress import progress

OVER = -1e9  # long ago


def test_work_ends_where_it_shows_progress():
    with until(OVER), pytest.raises(OutOfTime), progress("work", 3) as bar:
        bar.advance()
    check_time()


def test_an_inner_block_does_not_last_longer():
    with until(OVER), until(time.perf_counter() + 1e6), pytest.raises(OutOfTime):
        check_time()
    with until(time.perf_counter() + 1e6):
        check_time()


@pytest.mark.parametrize(
    "model",
    [
        mercer.KernelSVC("gaussian(1)"),
        mercer.KernelRidge("gaussian(1)", alpha=0.1),
        mercer.KernelLogisticRegression("gaussian(1)", alpha=0.1),
        mercer.KernelPerceptron("gaussian(1)", random_state=0),
    ],
    ids=lambda model: type(model).__name__,
)
def test_every_learner_ends(model):
    X, y = mercer.data.moons(300)
    with until(OVER), pytest.raises(OutOfTime):
        model.fit(X, y)
    model.fit(X, y)  # nothing is left behind


def test_a_race_keeps_what_it_knew_when_a_stage_is_cut_off(monkeypatch):
    from mercer.selection.racing import race as module

    X, y = mercer.data.moons(200)
    real = module.Race._fold

    def fold(self, entry, K, unit, rows, *rest):
        if len(rows) > 150:
            raise OutOfTime
        real(self, entry, K, unit, rows, *rest)

    monkeypatch.setattr(module, "STOPPED_ROWS", 60)
    monkeypatch.setattr(module.Race, "_fold", fold)
    board = mercer.compare(X, y, budget=1e4, kernels=["gaussian(1)"], learners=["ridge"],
                           holdout=None)  # fmt: skip
    assert board.best_row.rows_seen == 66
    assert len(board.best_row.scores) >= 5


def test_a_last_fit_that_is_cut_off_is_made_on_fewer_rows(monkeypatch):
    from mercer.selection import choice
    from mercer.selection.last_fit import LastFit

    X, y = mercer.data.moons(200)
    real = LastFit.fit

    def fit(self, winner, found, count):
        if count == len(found):
            raise OutOfTime
        real(self, winner, found, count)

    monkeypatch.setattr(LastFit, "fit", fit)
    monkeypatch.setattr(choice, "CHOICE_ROWS", 120)
    board = mercer.compare(X, y, budget=1e4, kernels=["gaussian(1)"], learners=["ridge"],
                           holdout=None)  # fmt: skip
    assert board.saved.rows == 120
    assert np.shape(board.best.predict(X)) == (200,)


def test_pictures_are_left_out_when_the_time_is_over():
    from mercer.report.svg import figure, formula

    with announced(OVER, 1.0):
        assert "not drawn" in figure(lambda ax: ax.plot([1, 2]), (2, 2), "line")
        assert formula("x") is None
    with announced(time.perf_counter() + 1e6, 0.1):
        assert optional(sum, [1, 2]) == 3


def test_a_call_that_would_last_too_long_is_not_begun(monkeypatch):
    from mercer._machine import deadline as module

    monkeypatch.setattr(module._Speed, "work", 1e9)
    monkeypatch.setattr(module._Speed, "rate", 1e9)
    begun = []
    with until(time.perf_counter() + 100.0):
        with pytest.raises(OutOfTime), one_call(1e13):
            begun.append("long")
        with one_call(1e9):
            begun.append("short")
    assert begun == ["short"]


def test_with_time_left_the_race_goes_on_at_more_rows(monkeypatch):
    from mercer.selection import choice as module

    X, y = mercer.data.moons(600)
    monkeypatch.setattr(module, "CHOICE_ROWS", 120)
    board = mercer.compare(X, y, budget=1e4, kernels=["gaussian(0.3)"], learners=["ridge", "svm"],
                           rivals=["linear"], holdout=None)  # fmt: skip
    # Of 120 rows, two folds of 24 judge; all others of the 600 are fitted on in the end.
    assert board.best_row.rows_seen == 600 - 48
    assert len(board.best_row.scores) <= 4
    assert len(board.oof.rows) in (48, 72, 96, 120)
    assert not board.best_row.stopped
    assert board.saved.rows == 600
    behind = [row for row in board.rows if row.stopped]
    assert behind
    assert all("stopped after" in row.note for row in behind)


def test_the_best_of_each_kind_and_of_each_learner_go_on_in_the_order_of_the_race():
    from mercer.selection.racing.finals import finalists

    race = [("svm", "kernel"), ("ridge", "kernel"), ("svm", "kernel"), ("logistic", "kernel"),
            ("perceptron", "kernel"), ("forest", "trees"), ("boosting", "trees"),
            ("linear", "linear")]  # fmt: skip
    entries = [
        SimpleNamespace(
            trainer=SimpleNamespace(learner=name),
            kind=kind,
            kernel=kind == "kernel" or None,
            index=i,
        )
        for i, (name, kind) in enumerate(race)
    ]
    assert finalists(entries) == [entries[i] for i in (0, 1, 3, 4, 5, 7)]


def test_a_leader_that_is_cut_off_on_more_rows_is_not_replaced_by_something_far_worse(monkeypatch):
    from mercer.selection import choice as module
    from mercer.selection.racing.finals import Finals

    X, y = mercer.data.circles(600)
    real, done = Finals._judge, []

    def judge(self, entry, size, number):
        if entry.kernel is not None:
            raise OutOfTime
        done.append(entry)
        return real(self, entry, size, number)

    monkeypatch.setattr(module, "CHOICE_ROWS", 120)
    monkeypatch.setattr(Finals, "_judge", judge)
    board = mercer.compare(X, y, budget=1e4, kernels=["gaussian(0.3)"], learners=["ridge"],
                           rivals=["linear"], holdout=None)  # fmt: skip
    assert done
    assert board.best_row.kernel
    assert board.saved.rows == 600


def test_who_is_cut_off_on_more_rows_is_not_beaten_by_others_that_are_not(monkeypatch):
    from mercer.selection.racing import race as module

    X, y = mercer.data.moons(200)
    real = module.Race._fold

    def fold(self, entry, K, unit, rows, *rest):
        if len(rows) > 150 and entry.rival is None:
            raise OutOfTime
        real(self, entry, K, unit, rows, *rest)

    monkeypatch.setattr(module, "STOPPED_ROWS", 60)
    monkeypatch.setattr(module.Race, "_fold", fold)
    board = mercer.compare(X, y, budget=1e4, kernels=["gaussian(0.3)"], learners=["ridge"],
                           rivals=["linear"], holdout=None)  # fmt: skip
    assert board.best_row.kernel
    # Both go on together, on all rows but those of the fold that judges.
    assert {row.rows_seen for row in board.rows if row is not board.baseline} == {160}


def test_a_candidate_that_takes_too_long_is_left_out_and_named(monkeypatch):
    from mercer.selection.racing import race as module

    X, y = mercer.data.moons(200)
    monkeypatch.setattr(module, "UNKNOWN_SHARE", 0.0)
    board = mercer.compare(X, y, budget=1e4, kernels=["gaussian(0.3)"], learners=["ridge"],
                           rivals=["linear", "nearest"], holdout=None)  # fmt: skip
    assert board.best_row.kernel  # the first one runs in any case
    told = [note for note in board.notes if "was left out: stopped after" in note]
    assert [note.partition(" (")[0] for note in told] == ["a linear model", "nearest neighbors"]


def test_a_last_fit_that_took_less_than_expected_is_made_on_more_rows(monkeypatch):
    from mercer.selection import choice
    from mercer.selection.racing.race import Race

    X, y = mercer.data.moons(200)
    real = Race.rows_in

    def rows_in(self, entry, seconds):
        return real(self, entry, seconds) if entry.fitted else 120

    monkeypatch.setattr(choice, "CHOICE_ROWS", 100)
    monkeypatch.setattr(Race, "rows_in", rows_in)
    monkeypatch.setattr("mercer.selection.racing.finals.Finals.run", lambda self, fresh: None)
    board = mercer.compare(X, y, budget=1e4, kernels=["gaussian(0.3)"], learners=["ridge"],
                           holdout=None)  # fmt: skip
    assert board.saved.rows == 200
