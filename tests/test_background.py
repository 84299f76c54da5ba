"""Threads that work ahead: the same updates, errors that arrive, nothing left running."""

from __future__ import annotations

import threading
import time

import numpy as np
import pytest

import mercer
from mercer.kernels import Polynomial
from mercer.solvers.online import dual as perceptron
from mercer.solvers.online.background import Helpers
from mercer.solvers.online.dual import DualPerceptron
from mercer.solvers.online.rule import Rule
from mercer.solvers.online.run import Schedule, run


@pytest.mark.parametrize("shuffle", [False, True])
def test_helpers_change_nothing(monkeypatch, shuffle):
    rng = np.random.default_rng(0)
    X = rng.integers(-3, 4, size=(300, 3)).astype(float)
    labels = rng.integers(0, 3, size=300)
    made = []
    for threads in (1, 3):
        with mercer.config(threads=threads):
            walker = DualPerceptron(
                Polynomial(2, offset=1.0).gram(X), labels, Rule(3, True), block=64, leaf=8
            )
            run(walker, Schedule(300, 4, np.random.RandomState(0) if shuffle else None))
        made.append(walker.journal.positions.copy())
        monkeypatch.setattr(perceptron, "WORTH_THREADS", 0)  # from now on, everything is shared
        monkeypatch.setattr(perceptron, "LEAST_ROWS", 4)
    np.testing.assert_array_equal(made[0], made[1])


def test_all_threads_take_part_each_with_its_own_scratch():
    seen = []

    def task(scratch):
        seen.append((threading.get_ident(), id(scratch)))
        time.sleep(0.01)

    with Helpers(3) as helpers:
        helpers.start([task] * 12).finish()
    assert len(seen) == 12
    assert len(set(seen)) == len({thread for thread, _ in seen}) == 3


@pytest.mark.parametrize("threads", [1, 2])
def test_an_error_in_a_task_reaches_whoever_waits(threads):
    def fail(scratch):
        raise ZeroDivisionError

    with Helpers(threads) as helpers, pytest.raises(ZeroDivisionError):
        helpers.start([fail] * 4).finish()


def test_leaving_drops_what_was_not_begun():
    done = []

    def slow(scratch):
        time.sleep(0.02)
        done.append(1)

    def interrupted():
        with Helpers(2) as helpers:
            helpers.start([slow] * 500)
            raise KeyboardInterrupt

    before = threading.active_count()
    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert len(done) < 10
    assert threading.active_count() == before
