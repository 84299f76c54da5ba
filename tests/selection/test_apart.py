"""Estimators of a user's own under a budget: in a process that is ended when the time is over."""

import logging
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from operator import add, truediv

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression

import mercer
from mercer._machine.deadline import OutOfTime, now, until
from mercer.selection.racing.apart import Apart, CannotTravel

psutil = pytest.importorskip("psutil")
FEW = {"kernels": ["gaussian(0.3)"], "learners": ["ridge"], "holdout": None}


class Late(ClassifierMixin, BaseEstimator):
    """Never ends: asleep in C, or busy in Python and deaf to every error."""

    def __init__(self, how="asleep"):
        self.how = how

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        while self.how != "not at all":
            try:
                time.sleep(1000) if self.how == "asleep" else sum(range(1000))
            except BaseException:
                logging.getLogger().handle(logging.makeLogRecord({}))
        return self

    def predict(self, X):
        return np.full(len(X), self.classes_[0])


class Rooted(Late):
    """Cannot be sent anywhere."""

    def __init__(self, how="not at all", lock=None):
        super().__init__(how)
        self.lock = lock

    def __deepcopy__(self, memo):
        return self

    def __sklearn_clone__(self):
        return self


#: Processes that other tests have started, and keep.
OTHERS: set[int] = set()


@pytest.fixture(autouse=True)
def _others():
    OTHERS.clear()
    OTHERS.update(one.pid for one in psutil.Process().children(recursive=True))


def children():
    return [one for one in psutil.Process().children(recursive=True) if one.pid not in OTHERS]


def start(kept):
    return subprocess.Popen([sys.executable, "-c", "import time; time.sleep(1000)"]).pid


def test_calls_are_made_with_what_is_kept():
    with Apart() as apart:
        apart.keep(40)
        assert apart.call(add, 2) == 42
        assert apart.call(lambda kept, pid: os.getpid() == pid, os.getpid()) is False
        with pytest.raises(ZeroDivisionError):
            apart.call(truediv, 0)
        with pytest.raises(CannotTravel, match="lock"):
            apart.call(add, threading.Lock())
        with pytest.raises(CannotTravel, match="its answer"):
            apart.call(lambda kept: threading.Lock())
        # What is printed does not end up among answers.
        assert apart.call(lambda kept: (print("hello"), os.system("echo hello"))[1]) == 0
        assert apart.call(add, 3) == 43
        with pytest.raises(ValueError, match="ended by itself, with -9"):
            apart.call(lambda kept: os.kill(os.getpid(), signal.SIGKILL))
    assert not children()


def sleep(kept):
    time.sleep(1000)


def spin(kept):
    while True:
        pass


@pytest.mark.parametrize("work", [sleep, spin])
def test_a_call_is_ended_when_its_time_is_over(work):
    with Apart() as apart:
        apart.keep(None)
        started = apart.call(start)
        begin = time.perf_counter()
        with until(now() + 0.3), pytest.raises(OutOfTime):
            apart.call(work)
        assert time.perf_counter() - begin < 2.0
        assert not children()
        apart.keep("again")
        assert apart.call(lambda kept: kept) == "again"
    assert not children()
    for _ in range(100):  # whoever adopted what the process had started takes note of its end
        if not psutil.pid_exists(started) or psutil.Process(started).status() == "zombie":
            return
        time.sleep(0.05)
    raise AssertionError("what the process had started is still there")


def test_without_a_python_to_start_it_is_said(monkeypatch):
    monkeypatch.setattr(sys, "executable", sys.executable + "-that-is-not-there")
    with Apart() as apart, pytest.raises(CannotTravel, match="no process can be started"):
        apart.keep(1)


@pytest.mark.parametrize("how", ["asleep", "busy"])
def test_an_estimator_that_never_ends_costs_a_comparison_no_more_than_its_budget(how):
    X, y = mercer.data.moons(200)
    begin = time.perf_counter()
    board = mercer.compare(X, y, budget=8, rivals={"late": Late(how)}, **FEW)
    assert time.perf_counter() - begin < 20.0  # not 1000; `bench/budget.py` measures how exactly
    assert any(n.startswith("late") and "was left out: stopped after" in n for n in board.notes)
    assert not [row for row in board.rows if row.rival]
    assert board.best.predict(X).shape == (200,)
    assert not children()
    told = threading.Thread(target=logging.getLogger("mercer").error, args=["told"], daemon=True)
    told.start()
    told.join(10.0)
    assert not told.is_alive()  # nobody holds a lock


def test_the_scores_are_those_without_a_budget():
    X, y = mercer.data.moons(90)
    one, two = (
        mercer.compare(X, y, budget=budget, rivals=[LogisticRegression()], **FEW)
        for budget in (None, 1e4)
    )
    scores = [next(r.scores for r in b.rows if r.rival) for b in (one, two)]
    assert scores[1] == scores[0][: len(scores[1])]


def test_an_estimator_that_cannot_travel_runs_here_and_that_is_said():
    X, y = mercer.data.moons(90)
    own = {"rooted": Rooted(lock=threading.Lock())}
    board = mercer.compare(X, y, budget=1e4, rivals=own, **FEW)
    said = [n for n in board.notes if "may last longer" in n]
    assert len(said) == 1
    assert "rooted" in said[0]
    assert "lock" in said[0]
    assert any(row.learner == "rooted" for row in board.rows)
    # Without a budget there is nothing to be said, and no process.
    assert not any("may last longer" in n for n in mercer.compare(X, y, rivals=own, **FEW).notes)


def test_no_process_is_started_without_a_budget(monkeypatch):
    monkeypatch.setattr(Apart, "begin", lambda self: pytest.fail("started"))
    X, y = mercer.data.moons(60)
    mercer.compare(X, y, rivals=[LogisticRegression()], **FEW)
    mercer.compare(X, y, budget=1e4, rivals=["linear"], **FEW)


def test_a_program_without_a_guard_is_not_run_again(tmp_path):
    """Its classes travel with the message, as those of a notebook do."""
    program = tmp_path / "program.py"
    program.write_text(
        textwrap.dedent("""
        import mercer, numpy as np
        from sklearn.base import BaseEstimator, ClassifierMixin
        print("begun")
        class Mine(ClassifierMixin, BaseEstimator):
            def fit(self, X, y):
                self.classes_ = np.unique(y)
                return self
            def predict(self, X):
                return np.where(X[:, 1] > 0, *self.classes_[:2])
        X, y = mercer.data.moons(60)
        board = mercer.compare(X, y, budget=100, kernels=["linear()"], learners=["ridge"],
                               rivals=[Mine()], holdout=None)
        print(sorted(r.learner for r in board.rows if r.rival), *board.notes, sep="|")
    """)
    )
    run = subprocess.run([sys.executable, program], capture_output=True, text=True, check=True)
    assert run.stdout.startswith("begun\n['Mine']")
    assert run.stdout.count("begun") == 1
    assert "may last longer" not in run.stdout
