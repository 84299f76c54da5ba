"""What a pass over chunks takes, before anything runs; and a sentence where it cannot fit."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from mercer._config import get_config, show_bytes
from mercer.engines.cluster.pieces import Changed, Held, Piece
from mercer.engines.cluster.pool import client_of
from mercer.engines.cluster.worker import WORKER_SHARE, TaskSettings, task
from mercer.tuning import SCRATCH_BYTES

#: Rows that are computed here to estimate how long all of them take.
TIMED = 512
#: Bytes per pair of centers in a task: the matrix, and two triangles while sums are added.
PAIR_BYTES: Final = 16


@dataclass(frozen=True)
class Workers:
    """The workers: tasks at a time, the bytes of each task, and their device."""

    tasks: int
    room: float
    kinds: tuple[str, ...] = ()

    @classmethod
    def now(cls) -> Workers:
        """Read the workers of the configuration."""
        settings, client = get_config(), client_of()
        if client is not None:
            from mercer.engines.cluster.worker import check_workers, described

            facts = list(check_workers(client).values())
            rooms = [WORKER_SHARE * f.memory / f.threads for f in facts if f.memory]
            tasks = max(1, sum(f.threads for f in facts))
            return cls(tasks, min(rooms, default=math.inf), tuple(described(facts)))
        return cls(settings.n_threads, settings.memory_bytes / settings.n_threads)


@dataclass(frozen=True)
class Plan:
    """`sent` leaves this process, `moved` are sums on their way to each other and back; bytes.

    `memory` is what a task takes: its rows twice, as they are read and as numbers, and its sums.
    """

    rows: int
    pieces: int
    tasks: int
    row_bytes: int
    largest: int
    centers: int
    sent: float
    moved: float
    workers: Workers
    seconds: float | None = None

    @property
    def memory(self) -> float:
        scratch = min(SCRATCH_BYTES, self.workers.room / 4)
        return 2.0 * self.largest * self.row_bytes + PAIR_BYTES * self.centers**2 + scratch

    def __str__(self) -> str:
        room = show_bytes(self.workers.room) if math.isfinite(self.workers.room) else "any"
        lines = [
            f"{self.rows:,} rows in {_counted(self.pieces, 'piece')}, "
            f"{_counted(self.tasks, 'task')} of up to {self.largest:,} rows, "
            f"{self.workers.tasks} at a time",
            f"memory of a task: {show_bytes(self.memory)} (it has {room})",
            f"{show_bytes(self.sent)} are sent from here, {show_bytes(self.moved)} move as sums",
        ]
        lines += self.workers.kinds
        if self.seconds is not None:
            lines.append(f"expected time: {_duration(self.seconds)}")
        return "\n".join(lines)

    def check(self) -> Plan:
        """The plan, if it fits; else what would."""
        room = self.workers.room
        if self.memory <= room:
            return self
        rows = 2.0 * self.largest * self.row_bytes
        left = 0.75 * room
        advice = []
        if rows < left:
            advice.append(f"n_centers={int(math.sqrt((left - rows) / PAIR_BYTES))} fits")
        if PAIR_BYTES * self.centers**2 < left:
            fitting = int((left - PAIR_BYTES * self.centers**2) / (2 * max(1, self.row_bytes)))
            advice.append(f"pieces of {max(1, fitting)} rows fit")
        raise MemoryError(
            f"a task needs {show_bytes(self.memory)} for {self.largest:,} rows and {self.centers} "
            f"centers, and has {show_bytes(room)}: "
            + "; ".join([*advice, "so do workers with more memory, or fewer tasks at a time"])
        )


def plan_of(panels: Any, tasks: list[slice], targets: int = 1, timed: bool = False) -> Plan:
    """The plan of one pass in which each task gives an M×M matrix."""
    rows, (n, m) = panels.rows, panels.shape
    row_bytes = int(np.prod(rows.shape[1:], dtype=np.int64)) * rows.dtype.itemsize
    largest = max(sum(rows.sizes[part]) for part in tasks)
    one_sum = 8 * (m * (m + 1) // 2 + m * (targets + 1))
    center_bytes = m * row_bytes
    # Dask sends a graph in which the centers stand once; an executor sends each task alone.
    copies = 1 if client_of() is not None else len(tasks)
    sent, workers = copies * center_bytes + held_bytes(rows.pieces), Workers.now()
    seconds = None
    if timed:
        seconds = _seconds_per_row(panels, targets) * n / min(workers.tasks, len(tasks))
    return Plan(
        n, len(rows.pieces), len(tasks), row_bytes, largest, m, sent, len(tasks) * one_sum,
        workers, seconds,
    )  # fmt: skip


def held_bytes(pieces: Iterable[Piece]) -> int:
    """Bytes of chunks that are in memory here; files and lazy blocks send names only."""
    total = 0
    for piece in pieces:
        while isinstance(piece, Changed):
            piece = piece.piece
        total += piece.rows.nbytes if isinstance(piece, Held) else 0
    return total


def _seconds_per_row(panels: Any, targets: int) -> float:
    """Measure one thread here on the first rows, the second time, when all is compiled."""
    first = panels.rows[np.arange(min(TIMED, len(panels.rows)))]
    zeros = np.zeros((len(first), targets))
    with task(TaskSettings.now()):
        for _ in range(2):
            start = time.perf_counter()
            panels.make(first).normal(zeros, None)
            elapsed = time.perf_counter() - start
    return elapsed / len(first)


def _counted(n: int, what: str) -> str:
    return f"{n} {what}" if n == 1 else f"{n} {what}s"


def _duration(seconds: float) -> str:
    """
    >>> _duration(0.2), _duration(75), _duration(9000)
    ('below 1 s', '1 min 15 s', '2 h 30 min')
    """
    if seconds < 1:
        return "below 1 s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"
