"""Estimators of a user's own under a time budget: in a process that can be ended.

Code of others does not look at the clock. So a comparison with a budget starts one process beside
itself, sends it the prepared rows once, and then one fold after the other. When the time of a fold
is over, the process is ended, and the next fold has a new one. The process is a fresh Python, no
copy of this one: threads and locks of this one do not concern it, and the user's program is not run
again. What cannot be sent is run here.
"""

from __future__ import annotations

import os
import pickle
import queue
import signal
import subprocess
import sys
import threading
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import suppress
from typing import Any, BinaryIO, Self

from mercer._config import get_config, set_config
from mercer._machine.deadline import check_time, time_left

#: Seconds between two looks at whether the result is still wanted.
ASK_SECONDS = 0.1
#: What the new process does first: it finds modules where this one does.
BEGIN = (
    "import sys; sys.path[:], sys.argv[1:] = sys.argv[1:], []; "
    "from mercer.selection.racing.apart import serve; serve()"
)


class CannotTravel(Exception):
    """Something cannot be sent to another process, or cannot be read there; says why."""


class Apart:
    """A process beside this one that calls functions; `close` ends it.

    >>> from operator import add
    >>> with Apart() as apart:
    ...     apart.keep(40)
    ...     apart.call(add, 2)
    42
    """

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._kept: Any = None

    def begin(self) -> None:
        """Start the process, without waiting until it is ready."""
        if self._process is not None:
            return
        if not sys.executable or hasattr(sys, "frozen"):
            raise CannotTravel("there is no Python to start")
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-c", BEGIN, *map(str, sys.path)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=None if sys.stderr is not None else subprocess.DEVNULL,
                start_new_session=True,  # Ctrl-C is for this process, which then ends the other one
            )
        except OSError as error:
            raise CannotTravel(f"no process can be started: {error}") from error
        self._kept, self._line = None, ThreadPoolExecutor(1)
        settings = {"memory": get_config().memory, "threads": get_config().threads}
        self._ready = self._line.submit(_exchange, self._process, _packed(settings))

    def ready(self) -> None:
        """Return when the process waits for calls."""
        self.begin()
        self._wait(self._ready)

    def keep(self, value: Any) -> None:
        """Send a value, which later calls have as their first argument; once for the same one."""
        if self._process is None or value is not self._kept:
            self._ask((None, (value,)))
            self._kept = value

    def call(self, function: Any, *arguments: Any) -> Any:
        """``function(kept, *arguments)`` there; the process is ended where the time is over."""
        return self._ask((function, arguments))

    def _ask(self, message: Any) -> Any:
        packed = _packed(message)
        self.ready()
        kind, value = self._wait(self._line.submit(_exchange, self._process, packed))
        if kind == "cannot travel":
            raise CannotTravel(value)
        if kind == "error":
            raise value
        return value

    def _wait(self, job: Future[Any]) -> Any:
        try:
            check_time()
            while not wait([job], timeout=max(0.0, min(ASK_SECONDS, time_left()))).done:
                check_time()
            return job.result()
        except (EOFError, OSError, pickle.UnpicklingError) as error:
            code = self.close()
            if job is self._ready:
                raise CannotTravel(f"the process ended at its start, with {code}") from error
            raise ValueError(f"the process that it ran in ended by itself, with {code}") from error
        except BaseException:
            self.close()
            raise

    def close(self) -> int | None:
        """End the process and those that it has started, whatever they do; gives its exit code."""
        process, self._process = self._process, None
        if process is None:
            return None
        with suppress(ProcessLookupError):
            if hasattr(os, "killpg"):
                os.killpg(process.pid, signal.SIGKILL)
        process.kill()
        code = process.wait()
        self._line.shutdown(wait=False)  # its thread comes to the end of a pipe
        return code

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def _exchange(process: Any, message: bytes) -> Any:
    process.stdin.write(message)
    process.stdin.flush()
    return pickle.loads(pickle.load(process.stdout))


def _packed(message: Any) -> bytes:
    """A pickle of bytes that are a pickle: what cannot be read is not left half read."""
    from joblib import wrap_non_picklable_objects  # takes classes and functions of notebooks

    try:
        return pickle.dumps(pickle.dumps(wrap_non_picklable_objects(message, keep_wrapper=False)))
    except Exception as error:
        raise CannotTravel(f"{type(error).__name__}: {error}") from error


# --- in the other process ------------------------------------------------------------------------


def serve() -> None:
    """Answer messages until nobody sends any; what estimators print goes to standard error."""
    requests, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    with open(os.devnull) as nothing:
        os.dup2(nothing.fileno(), 0)
    os.dup2(2, 1)
    inbox: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    threading.Thread(target=_receive, args=(requests, inbox), daemon=True).start()
    set_config(**pickle.loads(inbox.get()))
    kept: Any = None
    answer: tuple[str, Any] = ("done", None)
    while True:
        answers.write(_answer(answer))
        answers.flush()
        try:
            function, arguments = pickle.loads(inbox.get())
        except Exception as error:
            answer = ("cannot travel", f"{type(error).__name__}: {error}")
            continue
        if function is None:
            (kept,), answer = arguments, ("done", None)
        else:
            answer = _result(function, kept, *arguments)


def _receive(requests: BinaryIO, inbox: queue.SimpleQueue[bytes]) -> None:
    """Fill the inbox; this process ends, whatever it does, when whoever sends is gone."""
    with suppress(EOFError):
        while True:
            inbox.put(pickle.load(requests))
    signal.raise_signal(signal.SIGTERM)


def _result(function: Any, *arguments: Any) -> tuple[str, Any]:
    try:
        return "done", function(*arguments)
    except Exception as error:
        own = type(error).__module__ != "builtins"  # which need not be known elsewhere
        return "error", ValueError(f"{type(error).__name__}: {error}") if own else error


def _answer(answer: tuple[str, Any]) -> bytes:
    try:
        return _packed(answer)
    except CannotTravel as error:
        return _packed(("cannot travel", f"its answer: {error}"))


__all__ = ["Apart", "CannotTravel"]
