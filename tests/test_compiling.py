"""What is compiled is said: to a terminal where it lasts, to the log elsewhere, to who watches."""

import gc
import io
import logging
import sys
import time

import pytest

from mercer._machine import compiling
from mercer._machine.jit import compiles, njit

pytestmark = pytest.mark.skipif(not compiles(), reason="needs Numba")


@pytest.fixture
def empty(tmp_path, monkeypatch):
    monkeypatch.setenv("MERCER_CACHE", str(tmp_path))
    told = []
    monkeypatch.setattr(compiling, "_watchers", [told.append])
    return told


def doubled():
    def double(x):
        return 2 * x

    return njit(double)


def test_the_log_and_watchers_are_told_once_per_function(empty, caplog):
    with caplog.at_level(logging.INFO, logger="mercer"):
        double = doubled()
        assert double(2.0) == double(2.0) == 4.0
    (record,) = caplog.records
    for words in ("compiling doubled.<locals>.double", "up to 3 s", "kept", "mercer warm"):
        assert words in record.getMessage()
    assert empty == ["doubled.<locals>.double", ""]
    assert gc.isenabled()
    caplog.clear()
    assert doubled()(2.0) == 4.0  # from the cache
    assert not caplog.records
    assert len(empty) == 2


def test_a_terminal_is_told_after_a_moment_and_once(monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    monkeypatch.setattr(compiling, "PATIENCE", 0.05)
    monkeypatch.setattr(sys, "stderr", screen := Terminal())
    notice = compiling.Notice()
    for seconds in (0.0, 0.3, 0.3):
        notice.start("a loop")
        notice.start("what it calls")
        time.sleep(seconds)
        notice.end()
        notice.end()
        if not seconds:
            assert not screen.getvalue()
    assert screen.getvalue().count("mercer: compiling a loop") == 1
