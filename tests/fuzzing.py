"""What fuzzing needs: a process with limits, a guard that sees code run, and a record.

A fuzz script makes broken input and calls `Guard.attempt` on each. It runs as a process of its own
(``python tests/store/fuzz_models.py 10000``), so that a crash, a runaway allocation or an endless
loop ends that process and not the test run.
"""

import json
import os
import resource
import signal
import sys
import threading
import time
from collections import Counter
from pathlib import Path

#: What no reader of data has any business doing.
FORBIDDEN = (
    "os.system",
    "os.exec",
    "os.fork",
    "os.forkpty",
    "os.posix_spawn",
    "os.spawn",
    "os.remove",
    "os.rename",
    "os.rmdir",
    "os.mkdir",
    "subprocess.Popen",
    "pty.spawn",
    "shutil.rmtree",
    "socket.connect",
    "socket.bind",
    "ctypes.dlopen",
    "pickle.find_class",
    "webbrowser.open",
)


#: Seconds after which a fuzzer begins no other attempt, and reports those it has made.
LIMIT = "FUZZ_SECONDS"
_BEGAN = time.monotonic()


def turns(count):
    """0, 1 … below `count`; fewer where the time is over or the process is asked to end."""
    limit = float(os.environ.get(LIMIT, "inf"))
    asked = []
    before = signal.signal(signal.SIGTERM, lambda *_: asked.append(True))
    try:
        for number in range(count):
            if asked or time.monotonic() - _BEGAN > limit:
                return
            yield number
    finally:
        signal.signal(signal.SIGTERM, before)


class Hang(BaseException):
    """Raised by the clock: not an Exception, so that no reader can swallow it."""


def elsewhere(process="self"):
    """Seconds by the clock without those in which the process waited for a processor."""
    with open(f"/proc/{process}/schedstat") as stream:
        return time.monotonic() - 1e-9 * int(stream.read().split()[1])


def works_beside():
    """Whether a thread beside this one computes, or waits for a processor."""
    threads = Path("/proc/self/task").iterdir()
    others = [path / "stat" for path in threads if path.name != str(threading.get_native_id())]
    return any(path.read_text().rpartition(") ")[2].startswith("R") for path in others)


class Guard:
    """Attempts under a clock and an audit hook; `documented` are the errors that are allowed."""

    def __init__(self, documented, seconds=20.0, extra_memory=1536 * 2**20, audit=True):
        self.documented = documented
        self.seconds = seconds
        self.watching = False
        self.seen = []
        self.outcomes = Counter()
        self.problems = []
        self.slowest = 0.0
        self.started = time.perf_counter()
        self.before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        with open("/proc/self/statm") as stream:
            size = int(stream.read().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (size + extra_memory, size + extra_memory))
        # Processor time, which a busy machine does not stretch; and a long wait for what sleeps.
        signal.signal(signal.SIGPROF, self._ring)
        signal.signal(signal.SIGALRM, self._ring_if_asleep)
        if audit:
            sys.addaudithook(self._audit)

    def _ring(self, *_):
        raise Hang

    def _ring_if_asleep(self, *_):
        left = 10 * self.seconds - (elsewhere() - self.began)
        if left <= 0 and not works_beside():
            raise Hang
        left = max(left, self.seconds)
        signal.setitimer(signal.ITIMER_REAL, left)

    def _audit(self, event, arguments):
        if not self.watching:
            return
        if event in FORBIDDEN:
            self.seen.append(f"{event}{arguments!r:.200}")
        elif event == "open" and isinstance(arguments[1], str) and set(arguments[1]) & set("wax"):
            self.seen.append(f"open for writing {arguments!r:.200}")
        elif event == "exec":
            name = getattr(arguments[0], "co_filename", "?")
            if not os.path.exists(name) and not name.startswith("<frozen"):
                self.seen.append(f"exec of {name}")

    def attempt(self, label, action):
        """One attempt; gives what `action` gave, or None after a refusal."""
        self.watching, found = True, None
        begin, self.began = time.process_time(), elsewhere()
        signal.setitimer(signal.ITIMER_PROF, self.seconds)
        signal.setitimer(signal.ITIMER_REAL, 10 * self.seconds)
        try:
            found = action()
            outcome = "accepted"
        except self.documented as error:
            outcome = type(error).__name__
            if len(str(error)) < 10:
                self.problems.append(f"{label}: an error without a sentence: {error!r}")
        except Hang:
            outcome = "hang"
            self.problems.append(f"{label}: took more than {self.seconds} s")
        except BaseException as error:
            outcome = f"undocumented {type(error).__name__}"
            self.problems.append(f"{label}: {type(error).__name__}: {error!s:.300}")
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
            signal.setitimer(signal.ITIMER_REAL, 0)
            self.watching = False
        if self.seen:
            self.problems.append(f"{label}: {'; '.join(self.seen)}")
            self.seen = []
        self.slowest = max(self.slowest, time.process_time() - begin)
        self.outcomes[outcome] += 1
        return found

    def report(self):
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        print(
            json.dumps(
                {
                    "outcomes": dict(self.outcomes),
                    "problems": self.problems[:20],
                    "n_problems": len(self.problems),
                    "seconds": round(time.perf_counter() - self.started, 1),
                    "slowest": round(self.slowest, 3),
                    "peak_mb": round(peak / 1024),
                    "grown_mb": round((peak - self.before) / 1024),
                }
            )
        )


def scrambled(data, rng):
    """The bytes after one to three accidents: flips, cuts, holes, repeats, noise."""
    data = bytearray(data)
    for _ in range(int(rng.integers(1, 4))):
        if not data:
            break
        at = int(rng.integers(0, len(data)))
        length = int(min(len(data) - at, 2 ** rng.integers(0, 10)))
        kind = int(rng.integers(0, 8))
        if kind == 0:
            data[at] ^= 1 << int(rng.integers(0, 8))
        elif kind == 1:
            del data[at:]
        elif kind == 2:
            del data[at : at + length]
        elif kind == 3:
            data[at : at + length] = bytes(length)
        elif kind == 4:
            data[at : at + length] = rng.bytes(length)
        elif kind == 5:
            data[at:at] = data[at : at + length]
        elif kind == 6:
            data[at:at] = rng.bytes(int(rng.integers(1, 9)))
        else:
            data[at] = int(rng.choice([0, 9, 10, 13, 34, 39, 44, 59, 127, 128, 255]))
    return bytes(data)
