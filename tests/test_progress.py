"""The progress bar: only for work that lasts, only where somebody watches, only one at a time."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import mercer
from mercer import _progress
from mercer._progress import progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def watched(monkeypatch: pytest.MonkeyPatch) -> Callable[[], Terminal]:
    """A terminal in place of stderr, called for in the test: pytest changes stderr before it."""

    def switch_on() -> Terminal:
        screen = Terminal()
        monkeypatch.setattr(sys, "stderr", screen)
        return screen

    monkeypatch.setattr(_progress, "BAR_SECONDS", 0.0)
    return switch_on


def test_it_shows_what_is_done(watched) -> None:
    terminal = watched()
    with progress("fit", 4) as bar:
        bar.advance()
        bar.advance(2, note="half way")
        assert bar.done == 3
        (task,) = bar._bar.tasks
        assert task.completed == 3
        assert task.total == 4
        assert task.description == "fit half way"
    assert terminal.getvalue()
    assert _progress._Active.depth.acquire(blocking=False), "the place is free again"
    _progress._Active.depth.release()


def test_names_are_shown_and_not_obeyed(watched) -> None:
    terminal = watched()
    with progress("compare", 2) as bar:
        bar.advance(note="Gaussian().on('\x1b]0;owned\x07') [red]a[/red]")
    assert "\x1b]0;owned" not in terminal.getvalue()
    assert "␛]0;owned" in terminal.getvalue()
    assert "[red]a[/red]" in terminal.getvalue()


def test_without_an_end_in_sight_there_is_no_percentage(watched) -> None:
    terminal = watched()
    with progress("search", None) as bar:
        bar.advance(note="the third place")
    assert "the third place" in terminal.getvalue()
    assert "%" not in terminal.getvalue()


def test_the_inner_work_is_silent(watched) -> None:
    watched()
    with progress("outer", 2) as outer:
        with progress("inner", 2) as inner:
            inner.advance()
            assert inner._bar is None
        outer.advance()
        assert outer._bar is not None
    with progress("next", 1) as bar:
        bar.advance()
        assert bar._bar is not None, "after the block the next one may show"


def test_short_work_shows_nothing(watched, monkeypatch) -> None:
    terminal = watched()
    monkeypatch.setattr(_progress, "BAR_SECONDS", 60.0)
    with progress("fit", 2) as bar:
        bar.advance()
        assert bar._bar is None
    assert terminal.getvalue() == ""


def test_nobody_watches(monkeypatch) -> None:
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    monkeypatch.setattr(_progress, "BAR_SECONDS", 0.0)
    with progress("fit", 2) as bar:
        bar.advance()
        assert bar._bar is None


def test_it_can_be_switched_off(watched) -> None:
    terminal = watched()
    with mercer.config(progress=False), progress("fit", 2) as bar:
        bar.advance()
        assert bar._bar is None
    assert terminal.getvalue() == ""


def test_an_error_takes_the_bar_away(watched) -> None:
    watched()

    def work() -> None:
        with progress("fit", 2) as bar:
            bar.advance()
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        work()
    with progress("next", 1) as bar:
        bar.advance()
        assert bar._bar is not None


def test_advances_from_many_threads_are_all_counted() -> None:
    with progress("fit", None) as bar, ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: bar.advance(), range(4000)))
    assert bar.done == 4000


def test_a_long_product_shows_it(watched) -> None:
    terminal = watched()
    X = np.random.default_rng(0).normal(size=(600, 3))
    mercer.Periodic().gram(X) @ np.ones(600)
    assert "kernel times matrix" in terminal.getvalue()
