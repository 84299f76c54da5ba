"""What the race expects of time: from its own work, not from what others did meanwhile."""

import time

import numpy as np
import pytest
from sklearn.dummy import DummyClassifier

import mercer
from mercer._machine.compiling import notice
from mercer._machine.deadline import OutOfTime, check_time, now, until
from mercer.selection.racing.clock import Clock, Stopwatch
from mercer.selection.racing.race import Race

QUICK = {"kernels": ["gaussian(0.3)"], "learners": ["ridge"], "cv": 3}


class Sleeper(DummyClassifier):
    """Waits, as on a machine that is busy with something else."""

    def fit(self, X, y, sample_weight=None):
        time.sleep(0.05)
        return super().fit(X, y, sample_weight)


def test_seconds_of_a_candidate_are_those_of_its_work():
    X, y = mercer.data.moons(60)
    board = mercer.compare(X, y, rivals=[Sleeper()], holdout=None, **QUICK)
    (row,) = [row for row in board.rows if row.learner == "Sleeper"]
    assert row.fit_seconds < 0.04


def test_the_crowding_is_what_the_clock_says_per_second_of_work():
    clock, watch = Clock(10.0), Stopwatch()
    time.sleep(0.4)
    assert watch.seconds() < 0.1
    assert 1.5 < clock.crowding() < 4.0
    assert clock.rest(0.5) == pytest.approx(0.5 * clock.left(), abs=0.01)
    assert Clock(None).rest() is None


def test_the_crowding_looks_at_the_last_seconds(monkeypatch):
    now = [0.0, 0.0]
    monkeypatch.setattr("mercer.selection.racing.clock.time.perf_counter", lambda: now[0])
    monkeypatch.setattr("mercer.selection.racing.clock.time.process_time", lambda: now[1])
    clock = Clock(100.0)
    for crowded in [False] * 20 + [True] * 10:
        now[0] += 1.0
        now[1] += 0.2 if crowded else 1.0
        found = clock.crowding()
        assert crowded or found == 1.0
    assert 3.5 < found < 5.0  # 30 seconds by the clock for 22 of work in all


def test_forecasts_grow_with_the_crowding(monkeypatch):
    from tests.selection.test_compare import small_race

    race, entry = small_race(1e6)
    monkeypatch.setattr(Clock, "crowding", lambda self: 1.0)
    before = race.cost(entry, 120), race.fit_seconds(entry, 120)
    monkeypatch.setattr(Clock, "crowding", lambda self: 3.0)
    assert race.cost(entry, 120) == pytest.approx(3 * before[0])
    assert race.fit_seconds(entry, 120) == pytest.approx(3 * before[1])


def test_time_before_the_choice_counts(monkeypatch):
    """Columns are looked at before the race begins."""
    from mercer.selection import comparison

    given, real = [], comparison.Choice

    def choice(*args, budget, **options):
        given.append(budget)
        return real(*args, budget=budget, **options)

    check = comparison.check
    monkeypatch.setattr(comparison, "Choice", choice)
    monkeypatch.setattr(comparison, "check", lambda *args: time.sleep(0.5) or check(*args))
    X, y = mercer.data.moons(60)
    mercer.compare(X, y, budget=5, **QUICK)
    assert given[0] < 4.5


def test_a_winner_that_seems_too_slow_is_fitted_on_all_rows_when_it_is_not(monkeypatch):
    X, y = mercer.data.moons(400)
    real = Race.fit_seconds

    def fit_seconds(self, entry, rows):  # folds are no measure of the last fit
        return real(self, entry, rows) if entry.fitted else 1e9

    monkeypatch.setattr(Race, "fit_seconds", fit_seconds)
    monkeypatch.setattr("mercer.selection.choice.CHOICE_ROWS", 100)
    monkeypatch.setattr("mercer.selection.racing.finals.Finals.run", lambda self, fresh: None)
    board = mercer.compare(X, y, budget=1000, rivals=["linear"], **QUICK)
    assert board.best_row.kernel
    assert board.saved.rows == 400  # those kept back included


def test_forecasts_are_of_fits_as_they_are_saved(monkeypatch):
    X, y = mercer.data.moons(400)
    seen = []
    real = Race.fit_seconds

    def fit_seconds(self, entry, rows):
        seen.append((entry.kind, dict(entry.fitted)))
        return real(self, entry, rows)

    monkeypatch.setattr(Race, "fit_seconds", fit_seconds)
    monkeypatch.setattr("mercer.selection.choice.CHOICE_ROWS", 200)
    mercer.compare(X, y, budget=1000, rivals=["linear", "boosting"], holdout=None, **QUICK)
    assert {"kernel", "trees"} <= {kind for kind, fitted in seen if fitted}
    assert max(rows for _, fitted in seen for rows in fitted) == 400 - 67  # but one fold


def test_a_fit_on_more_rows_is_tried_before_growth_is_known(monkeypatch):
    real = Race.fit_seconds

    def fit_seconds(self, entry, rows):  # few rows tell nothing of many
        unknown = len(entry.fitted) == 1 and rows not in entry.fitted
        return 1e9 if unknown else real(self, entry, rows)

    monkeypatch.setattr(Race, "fit_seconds", fit_seconds)
    monkeypatch.setattr("mercer.selection.racing.finals.FIRST_ROWS", 50)
    X, y = mercer.data.moons(600)
    board = mercer.compare(X, y, budget=1000, rivals=["linear"], holdout=0.2, **QUICK)
    assert board.best_row.kernel
    assert board.best_row.rows_seen > 300


def test_the_fit_that_answers_leaves_time_for_the_one_on_all_rows(monkeypatch):
    from mercer.selection.last_fit import LastFit

    given, real = [], LastFit.whole

    def whole(self, winner, found, end):
        given.append((len(found), (end - now()) / self.race.clock.left()))
        return real(self, winner, found, end)

    monkeypatch.setattr(LastFit, "whole", whole)
    X, y = mercer.data.moons(400)
    mercer.compare(X, y, budget=100, rivals=["linear"], holdout=0.2, **QUICK)
    (train, share), (rows, rest) = given
    assert (train, rows) == (320, 400)
    assert share < 0.5 < rest


def test_that_no_kernel_was_judged_is_said(monkeypatch):

    real = Race._fold

    def fold(self, entry, *rest):
        if entry.kernel is not None:
            raise OutOfTime
        real(self, entry, *rest)

    monkeypatch.setattr(Race, "_fold", fold)
    X, y = mercer.data.moons(100)
    board = mercer.compare(X, y, budget=1000, rivals=["linear"], holdout=None, **QUICK)
    assert [n for n in board.notes if "no kernel was judged" in n]
    assert not [n for n in board.notes if "has won" in n]


def test_a_kernel_and_a_rival_are_judged_before_other_kernels():
    told = []
    X, y = mercer.data.moons(60)
    learners = {"kernels": ["gaussian(0.3)", "cosine"], "learners": ["ridge"], "rivals": ["linear"]}
    mercer.compare(
        X, y, budget=1000, holdout=None, progress=lambda text, share: told.append(text), **learners
    )
    first = [
        next(i for i, t in enumerate(told) if who in t) for who in ("Ridge", "linear", "Cosine")
    ]
    assert first == sorted(first)


def test_without_a_budget_nothing_hangs_on_a_clock(monkeypatch):
    X, y = mercer.data.moons(200)
    first = mercer.compare(X, y, **QUICK)
    monkeypatch.setattr(Clock, "crowding", lambda self: 1e3)
    again = mercer.compare(X, y, **QUICK)
    assert [(r.name, r.scores) for r in first.rows] == [(r.name, r.scores) for r in again.rows]
    assert np.array_equal(first.best.predict(X), again.best.predict(X))


class Compiling:
    """Stands for machine code that is made in so many seconds."""

    def __init__(self, seconds):
        self.seconds = seconds

    def __enter__(self):
        notice.start("a loop")
        end = time.process_time() + self.seconds
        while time.process_time() < end:
            pass

    def __exit__(self, *error):
        notice.end()


def test_compiling_is_no_work():
    watch, clock = Stopwatch(), Clock(10.0)
    with Compiling(0.3), until(now() + 0.1):
        check_time()
    assert clock.compiled() >= 0.3
    assert watch.seconds() < 0.1
    assert clock.spent() < 0.1


def test_compiling_that_had_to_wait_takes_nothing_off_the_work():
    watch = Stopwatch()
    notice.start("a loop")
    time.sleep(0.3)  # others have the processor
    notice.end()
    end = time.process_time() + 0.2
    while time.process_time() < end:
        pass
    assert watch.seconds() > 0.15


def test_what_is_compiled_is_told_beside_a_budget(monkeypatch):
    begin = Race.run

    def run(self, *arguments):
        with Compiling(0.6):
            begin(self, *arguments)

    monkeypatch.setattr(Race, "run", run)
    X, y = mercer.data.moons(60)
    board = mercer.compare(X, y, budget=1000, rivals=None, holdout=None, **QUICK)
    assert [n for n in board.notes if n.startswith("compiling, once for this processor, took")]
    board = mercer.compare(X, y, rivals=None, holdout=None, **QUICK)
    assert not [n for n in board.notes if n.startswith("compiling")]
