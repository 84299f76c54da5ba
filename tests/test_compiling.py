"""What is compiled is said: to a terminal where it lasts, to the log elsewhere, to who watches."""

import gc
import io
import logging
import os
import signal
import subprocess
import sys
import threading
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


def test_ctrl_c_waits_for_the_compiler(empty, monkeypatch):
    """In a callback of LLVM it would be printed and lost."""
    handler, double = signal.getsignal(signal.SIGINT), doubled()
    monkeypatch.setattr(compiling, "_watchers", [lambda name: signal.raise_signal(signal.SIGINT)])
    with pytest.raises(KeyboardInterrupt):
        double(2.0)
    assert len(double.signatures) == 1
    assert signal.getsignal(signal.SIGINT) is handler
    assert double(2.0) == 4.0
    monkeypatch.setattr(compiling, "_watchers", [])
    elsewhere = threading.Thread(target=doubled(), args=(2.0,))
    elsewhere.start()
    elsewhere.join()
    assert signal.getsignal(signal.SIGINT) is handler


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


def test_many_short_functions_are_said_as_one_long_one_is(monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    monkeypatch.setattr(compiling, "PATIENCE", 0.3)
    monkeypatch.setattr(sys, "stderr", screen := Terminal())
    notice = compiling.Notice()
    for _ in range(8):
        notice.start("a loop")
        time.sleep(0.1)
        notice.end()
    assert screen.getvalue().count("mercer: compiling a loop") == 1


FIRST_USE = """
import mercer
from numba.core import event

class Count(event.Listener):
    n = 0
    def on_start(self, event):
        self.n += 1
    def on_end(self, event):
        pass

event.register("numba:compile", count := Count())
mercer.maps.GlyphFeatures(shape=(8, 8)).fit_transform(mercer.data.digits()[0][:50])
print(count.n)
"""


def test_features_of_drawings_compile_few_functions(tmp_path):
    """Every function takes a tenth of a second, also one that another calls."""
    environment = os.environ | {"MERCER_CACHE": str(tmp_path)}
    environment["PYTHONPATH"] = os.pathsep.join(os.path.abspath(path) for path in sys.path)
    done = subprocess.run(
        [sys.executable, "-c", FIRST_USE],
        env=environment, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert 0 < int(done.stdout) <= 20
