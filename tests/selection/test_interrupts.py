"""Ctrl-C in a comparison: no unfinished candidate is judged, and what is finished is kept."""

import json
import os
import random
import signal
import subprocess
import sys
import threading
import time

import pytest

import mercer
from mercer._machine.deadline import check_time, stopping
from mercer._machine.interrupts import Interrupted, acknowledge, noting_interrupts
from mercer.selection.last_fit import LastFit
from mercer.selection.racing import race as racing
from mercer.solvers.smooth import newton

CHOICE = {"kernels": ["gaussian(0.3)", "linear()"], "holdout": None, "cv": 3}


def press():
    signal.raise_signal(signal.SIGINT)


def test_whoever_catches_it_the_next_look_at_the_time_ends_the_work():
    before = signal.getsignal(signal.SIGINT)

    def work():
        with noting_interrupts():
            with pytest.raises(KeyboardInterrupt):
                press()
            with pytest.raises(Interrupted):
                check_time()
            acknowledge()
            check_time()
            with stopping(lambda: False), pytest.raises(KeyboardInterrupt):
                press()
            check_time()

    with pytest.raises(KeyboardInterrupt):
        work()
    assert signal.getsignal(signal.SIGINT) is before


def test_in_other_threads_nothing_is_touched():
    def work():
        with noting_interrupts():
            seen.append(signal.getsignal(signal.SIGINT))

    before, seen = signal.getsignal(signal.SIGINT), []
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [before]


def test_a_solver_that_gives_what_it_has_is_not_judged(monkeypatch):
    """The solver of logistic regression catches Ctrl-C; its model is half trained."""
    real, steps = newton.Newton.searched, []

    def searched(self, *args):
        steps.append(1)
        if len(steps) == 2:
            press()
        return real(self, *args)

    X, y = mercer.data.moons(120)
    monkeypatch.setattr(newton.Newton, "searched", searched)
    learners = ["ridge", "logistic"]
    board = mercer.compare(X, y, learners=learners, rivals=["linear"], **CHOICE)
    assert len(steps) == 2
    assert board.interrupted
    assert not [row for row in board.rows if "Logistic" in row.learner]
    assert all(len(row.scores) == 3 for row in board.rows)
    assert [n for n in board.notes if n.startswith("interrupted")]
    steps.clear()
    model = mercer.KernelLogisticRegression("gaussian(0.3)", alpha=0.1)
    with pytest.warns(UserWarning, match="interrupted"):  # outside of a comparison it is as ever
        model.fit(X, y)


@pytest.mark.parametrize(("at", "swallowed"), [(5, True), (6, True), (5, False)])
def test_folds_of_a_candidate_that_was_interrupted_do_not_count(monkeypatch, at, swallowed):
    real, folds = racing.outcome_of, []

    def outcome_of(*args):
        folds.append(1)
        made = real(*args)
        if len(folds) == at:
            try:
                press()
            except KeyboardInterrupt:
                if not swallowed:
                    raise
        return made

    X, y = mercer.data.moons(60)
    monkeypatch.setattr(racing, "outcome_of", outcome_of)
    board = mercer.compare(X, y, learners=["ridge"], **CHOICE)
    assert len(folds) == at
    assert [len(row.scores) for row in board.rows if row is not board.baseline] == [3]


def test_in_the_last_fit_it_leaves_a_second_to_finish(monkeypatch):
    real, fits = LastFit.fit, []

    def fit(self, winner, found, count):
        fits.append(self.race.clock.left())
        if len(fits) == 1:
            press()
        real(self, winner, found, count)

    X, y = mercer.data.moons(60)
    monkeypatch.setattr(LastFit, "fit", fit)
    board = mercer.compare(X, y, learners=["ridge"], **CHOICE)
    assert board.interrupted
    assert board.best.predict(X).shape == (60,)
    assert fits[0] == float("inf")
    assert 0.0 < fits[1] <= 1.0
    fits[:] = []
    monkeypatch.setattr(LastFit, "fit", lambda *args: press())
    with pytest.raises(KeyboardInterrupt):  # the second one is obeyed at once
        mercer.compare(X, y, learners=["ridge"], **CHOICE)


@pytest.mark.parametrize("budget", [None, "60s"])
def test_at_any_moment_the_command_ends_soon_and_writes_what_it_has(tmp_path, budget):
    words = [sys.executable, "-m", "mercer", "compare", "moons", "--out", str(tmp_path)]
    words += ["--budget", budget] if budget else []
    with subprocess.Popen(words, stdout=-1, stderr=subprocess.PIPE, text=True) as run:
        run.stderr.readline()  # what the data are; the race begins
        time.sleep(random.uniform(0.5, 3.0))
        begin = time.perf_counter()
        run.send_signal(signal.SIGINT)
        told = run.communicate(timeout=60)[1]
        seconds = time.perf_counter() - begin
    assert run.returncode in (130, -2)  # CPython may end by the signal itself: 130 in a shell
    assert "a fault of mercer" not in told
    assert seconds < 2.0 + 4.0 * os.getloadavg()[0] / (os.cpu_count() or 1)
    if (tmp_path / "scoreboard.json").exists():
        board = json.loads((tmp_path / "scoreboard.json").read_text())
        assert any(note.startswith("interrupted") for note in board["notes"])
        assert (tmp_path / "model.mercer").exists()
        assert "wrote" in told
    else:
        assert "interrupted" in told
