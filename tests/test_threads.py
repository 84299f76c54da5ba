"""Threads that work ahead: the same updates, errors that arrive, nothing left running."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import mercer
from mercer._machine import threads as machine_threads
from mercer._machine.threads import (
    Background,
    interruptible,
    pools,
    run_threads,
    single_threaded_blas,
    threads_for,
)
from mercer.kernels import Polynomial
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
        monkeypatch.setattr("mercer.tuning.LEAF_ROWS", 4)
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
    pooled = machine_threads.ThreadPoolExecutor.submit

    def slow(*args):
        job = pooled(*args)
        time.sleep(0.05)
        return job

    monkeypatch.setattr(machine_threads.ThreadPoolExecutor, "submit", slow)

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


def in_a_thread(work):
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(work).result()


@pytest.mark.linux
def test_pools_of_blas_are_found_and_any_thread_sets_how_many_threads_they_have():
    assert len(pools()) >= 2  # NumPy's wheel has a library of its own, and so has SciPy's
    for count, set_count in pools():
        before = count()
        set_count(2)
        assert count() == 2
        in_a_thread(lambda set_count=set_count: set_count(1))
        assert count() == 1
        set_count(before)
        assert count() == before


def test_the_last_of_several_threads_lets_go_of_blas():
    def counts():
        return [count() for count, _ in pools()]

    before = counts()
    holder = single_threaded_blas()
    in_a_thread(holder.__enter__)
    with single_threaded_blas():
        holder.__exit__(None, None, None)
        assert set(counts()) == {1}
    assert counts() == before


@pytest.mark.parametrize("first", ["numpy", "scipy.linalg"])
def test_blas_is_held_alike_whether_scipy_was_loaded_before_or_is_loaded_later(first):
    code = f"""
        import {first}
        from mercer._machine.threads import single_threaded_blas
        with single_threaded_blas():
            import scipy.linalg
            from threadpoolctl import ThreadpoolController
            blas = ThreadpoolController().select(user_api="blas").info()
            print(len(blas), {{one["num_threads"] for one in blas}})
    """
    said = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "OMP_NUM_THREADS": "2"},
    ).stdout
    assert said.split()[1:] == ["{1}"]
    assert int(said.split()[0]) >= 1
