"""Side-by-side measurement: time in one process, memory in a fresh one, one row a claim.

Clock speed, other users and thermal state move a timing on a small machine by 15 % and more within
a minute, so a ratio of two separate runs means little. Here both sides take turns in one process
and their minima are compared; the first turn of each, which pays for compilation and for the first
touch of memory, is reported apart. Memory is measured in a new process, because an allocator that
has already grown hides the next growth.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
MB = 1e6


# ---------------------------------------------------------------- what a claim is


@dataclass(frozen=True)
class Target:
    """What must hold: `kind` of ours over peer, peer over ours, or ours alone."""

    kind: str
    bound: float
    unit: str = "s"

    def ratio(self, ours: float, peer: float | None) -> float:
        if self.kind == "below":
            return ours / self.bound
        assert peer is not None, f"a target of kind {self.kind} compares with a peer"
        return ours / peer if self.kind == "at most" else peer / ours

    def met(self, ours: float, peer: float | None) -> bool:
        if self.kind == "below":
            return ours <= self.bound
        ratio = self.ratio(ours, peer)
        return ratio <= self.bound if self.kind == "at most" else ratio >= self.bound

    def __str__(self) -> str:
        if self.kind == "below":
            return f"≤ {self.bound:g} {self.unit}"
        if self.kind == "at most":
            return f"≤ {self.bound:g} × {'its time' if self.unit == 's' else 'the peer'}"
        return f"≥ {self.bound:g} × faster"


def at_most(times: float, unit: str = "s") -> Target:
    """ours / peer ≤ times."""
    return Target("at most", times, unit)


def faster(times: float, unit: str = "s") -> Target:
    """peer / ours ≥ times."""
    return Target("faster", times, unit)


def below(limit: float, unit: str) -> Target:
    """ours ≤ limit, with no peer."""
    return Target("below", limit, unit)


@dataclass(frozen=True)
class Row:
    """One line of the table."""

    claim: str
    ours: float | None
    peer: float | None
    ratio: float | None
    target: str
    unit: str
    ok: bool | None
    note: str = ""


def claim(name: str, ours: float, peer: float | None, target: Target, note: str = "") -> Row:
    """Judge one measurement; the row says everything the table prints."""
    ours, peer = float(ours), None if peer is None else float(peer)  # NumPy's own are no JSON
    return Row(
        name,
        ours,
        peer,
        target.ratio(ours, peer),
        str(target),
        target.unit,
        target.met(ours, peer),
        note,
    )


def skipped(name: str, target: Target, why: str) -> Row:
    """A claim that could not be measured here: neither met nor missed."""
    return Row(name, None, None, None, str(target), target.unit, None, why)


# ---------------------------------------------------------------- time


@dataclass(frozen=True)
class Race:
    """Minima of the interleaved rounds, and the first, cold turn of each side."""

    ours: float
    peer: float
    cold_ours: float
    cold_peer: float
    rounds: int

    @property
    def note(self) -> str:
        return (
            f"min of {self.rounds}; first call {self.cold_ours:.2f} s, peer {self.cold_peer:.2f} s"
        )


def timed(function: Callable[[], Any]) -> float:
    """Seconds one call takes; its result is dropped inside, so freeing it is counted too."""
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def race(ours: Callable[[], Any], peer: Callable[[], Any], rounds: int = 5) -> Race:
    """Both sides in turns; the order flips every round so that neither always runs second."""
    with all_cores():
        before = blas_threads()
        cold_ours, cold_peer = timed(ours), timed(peer)
        times: tuple[list[float], list[float]] = ([], [])
        for turn in range(rounds):
            sides = [(times[0], ours), (times[1], peer)]
            for record, function in sides if turn % 2 == 0 else reversed(sides):
                gc.collect()
                # A side that left BLAS on fewer threads would win by slowing the other down.
                assert before.items() <= blas_threads().items(), "BLAS threads were changed"
                record.append(timed(function))
    return Race(min(times[0]), min(times[1]), cold_ours, cold_peer, rounds)


def cores() -> int:
    """The cores this process may use, which a container can make fewer than the machine's."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@contextlib.contextmanager
def all_cores() -> Iterator[None]:
    """Give every BLAS pool and Mercer itself all cores, whatever the environment says."""
    from threadpoolctl import threadpool_limits

    import mercer

    with threadpool_limits(limits=cores(), user_api="blas"), mercer.config(threads=cores()):
        yield


def blas_threads() -> dict[str, int]:
    """Threads of every BLAS pool loaded so far; NumPy and SciPy usually bring one each."""
    from threadpoolctl import threadpool_info

    pools = threadpool_info()
    return {pool["filepath"]: pool["num_threads"] for pool in pools if pool["user_api"] == "blas"}


# ---------------------------------------------------------------- memory


def in_new_process(script: str, function: str, *arguments: Any) -> Any:
    """Result of `function(*arguments)` of a bench file, run in a process of its own."""
    code = (
        "import importlib, json, sys; sys.path.insert(0, sys.argv[1]); "
        "result = getattr(importlib.import_module(sys.argv[2]), sys.argv[3])"
        "(*json.loads(sys.argv[4])); print('\\n@@' + json.dumps(result))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(HERE), Path(script).stem, function, json.dumps(arguments)],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"{Path(script).name}:{function} failed\n{done.stderr}")
    return json.loads(done.stdout.rsplit("\n@@", 1)[1])


def peak_growth(function: Callable[[], Any]) -> float:
    """Bytes by which resident memory rose above its level before the call, at its highest."""
    gc.collect()
    _give_back()
    before = _status("VmRSS")
    if before is not None and _reset_peak():
        result = function()
        peak = _status("VmHWM")
        del result
        assert peak is not None
        return float(max(0, peak - before))
    with _Sampler() as sampler:
        result = function()
        del result
    return float(sampler.growth)


def _give_back() -> None:
    """Return freed memory to the system, so that a warm-up cannot hide the growth to come."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)


def _status(field: str) -> int | None:
    """A size in bytes from the kernel's account of this process, None off Linux."""
    with contextlib.suppress(OSError):
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith(field + ":"):
                return int(line.split()[1]) * 1024
    return None


def _reset_peak() -> bool:
    """Set VmHWM back to VmRSS (5 is the kernel's code for that); containers may forbid it."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return False
    now, peak = _status("VmRSS"), _status("VmHWM")
    return now is not None and peak is not None and peak - now < 8 * MB


class _Sampler:
    """Peak resident size by looking every 2 ms, where the kernel keeps no resettable peak."""

    def __enter__(self) -> _Sampler:
        import psutil

        self._process = psutil.Process()
        self._start = self._peak = self._process.memory_info().rss
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._thread.start()
        return self

    def _look(self) -> None:
        while not self._done.wait(0.002):
            self._peak = max(self._peak, self._process.memory_info().rss)

    def __exit__(self, *_: object) -> None:
        self._peak = max(self._peak, self._process.memory_info().rss)
        self._done.set()
        self._thread.join()

    @property
    def growth(self) -> int:
        return self._peak - self._start


# ---------------------------------------------------------------- data


def data_file(name: str) -> Path | None:
    """A benchmark data set from `MERCER_DATA` or a `shared/data` folder beside the repository."""
    folders = [os.environ.get("MERCER_DATA"), HERE.parent.parent / "shared" / "data"]
    for folder in folders:
        if folder and (path := Path(folder) / name).is_file():
            return path
    return None


def no_data(name: str) -> str:
    return f"skipped: {name} not found, set MERCER_DATA to the folder that holds it"


# ---------------------------------------------------------------- printing


def quantity(value: float | None, unit: str) -> str:
    """Three digits and a unit that fits; a bare dash where there is nothing to say."""
    if value is None:
        return "–"
    if unit == "s" and value < 1:
        return f"{value * 1e3:.3g} ms"
    return f"{value:.4g} {unit}"


def print_rows(rows: list[Row]) -> None:
    """The table of `make bench`."""
    from rich.console import Console
    from rich.table import Table

    table = Table("claim", "ours", "peer", "ratio", "target", "ok", "note")
    for row in rows:
        ok = {True: "[green]yes[/]", False: "[red]NO[/]", None: "[yellow]–[/]"}[row.ok]
        ratio = "–" if row.ratio is None else f"{row.ratio:.3g}"
        ours, peer = quantity(row.ours, row.unit), quantity(row.peer, row.unit)
        table.add_row(row.claim, ours, peer, ratio, row.target, ok, row.note)
    Console(width=None if sys.stdout.isatty() else 160).print(table)


def main(measure: Callable[[], list[Row]]) -> None:
    """Entry point of every bench file: a table for people, JSON with `--json` for run.py."""
    rows = measure()
    if "--json" in sys.argv[1:]:
        print("\n@@" + json.dumps([asdict(row) for row in rows]))
    else:
        print_rows(rows)
    sys.exit(any(row.ok is False for row in rows) and "--json" not in sys.argv[1:])
