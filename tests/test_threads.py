"""Threads that work ahead: the same updates, errors that arrive, nothing left running."""

from __future__ import annotations

import signal
import threading
import time

import numpy as np
import pytest

import mercer
from mercer._machine import threads as machine_threads
from mercer._machine.threads import Background, interruptible, run_threads, threads_for
from mercer.kernels import Polynomial
from mercer.solvers.online import dual as perceptron
from mercer.solvers.online.dual import DualPerceptron
from mercer.solvers.online.rule import Rule
from mercer.solvers.online.run import Schedule, run


@pytest.mark.parametrize("shuffle", [False, True])
def test_a_background_changes_nothing(monkeypatch, shuffle):
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
        monkeypatch.setattr("mercer._machine.threads.WORTH_FLOPS", 0)  # now everything is shared
        monkeypatch.setattr(perceptron, "LEAST_ROWS", 4)
    np.testing.assert_array_equal(made[0], made[1])


def test_all_threads_take_part_each_with_its_own_number():
    seen = []

    def task(number):
        seen.append((threading.get_ident(), number))
        time.sleep(0.01)

    with Background(3) as background:
        background.start([task] * 12).finish()
    assert len(seen) == 12
    assert len(set(seen)) == len({thread for thread, _ in seen}) == 3


@pytest.mark.parametrize("threads", [1, 2])
def test_an_error_in_a_task_reaches_whoever_waits(threads):
    def fail(thread):
        raise ZeroDivisionError

    with Background(threads) as background, pytest.raises(ZeroDivisionError):
        background.start([fail] * 4).finish()


def test_leaving_drops_what_was_not_begun():
    done = []

    def slow(thread):
        time.sleep(0.02)
        done.append(1)

    def interrupted():
        with Background(2) as background:
            background.start([slow] * 500)
            raise KeyboardInterrupt

    before = threading.active_count()
    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert len(done) < 10
    assert threading.active_count() == before


def test_little_work_is_done_by_one_thread():
    with mercer.config(threads=3):
        assert threads_for(1e3) == 1
        assert threads_for(1e9) == 3


def test_an_error_in_one_thread_asks_the_others_to_stop():
    stop = threading.Event()

    def work(thread):
        if thread == 0:
            raise ZeroDivisionError
        assert stop.wait(10)

    for started in (run_threads, interruptible):
        stop.clear()
        with pytest.raises(ZeroDivisionError):
            started(work, 2, stop)


def test_ctrl_c_asks_for_an_end_and_the_work_is_kept(monkeypatch):
    """Even if the threads are fast and the caller is slow to wait for them."""
    stop, done = threading.Event(), []
    submitted = machine_threads._submitted

    def slow(*args):
        jobs = submitted(*args)
        time.sleep(0.05)
        return jobs

    monkeypatch.setattr(machine_threads, "_submitted", slow)

    def work(thread):
        signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
        assert stop.wait(10)
        done.append(thread)

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        assert interruptible(work, 1, stop)
    finally:
        signal.signal(signal.SIGINT, before)
    assert done == [0]
    assert not interruptible(lambda thread: None, 2, threading.Event())


@pytest.mark.linux
def test_pools_of_blas_are_found_and_take_a_number_of_threads():
    from mercer._machine import pools

    pools._pools.cache_clear()
    pools._first_thread.cache_clear()
    for count, set_count in (*pools.pools(), *pools._looked_for()):
        before = count()
        set_count(1)
        assert count() == 1
        set_count(before)
        assert count() == before


@pytest.mark.parametrize(
    ("place", "state", "free", "runs"),
    [
        ("a thread", b"R", True, True),
        ("a thread", b"R", False, False),
        ("a thread", b"S", True, False),
        (None, b"R", True, False),
    ],
)
def test_blas_runs_where_its_thread_does_on_a_free_core(place, state, free, runs, monkeypatch):
    from mercer._machine import pools

    monkeypatch.setattr(pools, "_first_thread", lambda: place)
    monkeypatch.setattr(pools, "_state", lambda _: state)
    monkeypatch.setattr(pools, "cores_are_free", lambda: free)
    assert pools.is_running() is runs
