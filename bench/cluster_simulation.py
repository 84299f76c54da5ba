"""A cluster of up to 100 workers, simulated from what its parts take here.

Measured on this machine: the sums of one piece of 25 000 × 20 rows at 1000 centers, the addition of
two such sums, the solve, and an empty task (what the scheduler takes for each, one by one).
Assumed: workers like this processor, one task at a time; rows are made or read where they are
needed, within the time of a piece; each sum travels once, to the worker that adds it, at BANDWIDTH
and LATENCY, and no two of them share a wire; one scheduler. Nothing dies, nobody is slow.
"""

from __future__ import annotations

import heapq
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from _harness import Row, at_most, claim, main
from cluster import CENTERS, PIECE, chunk_calls, nothing, workers

from mercer.engines.cluster.pool import Call, gather, run

#: Bytes per second between any two workers (10 Gbit/s), and seconds before the first byte.
BANDWIDTH, LATENCY = 1.25e9, 1e-3
#: Rows of the problem, and the numbers of workers.
ROWS, WORKERS = 100_000_000, (1, 2, 5, 10, 20, 50, 100)


@dataclass(frozen=True)
class Parts:
    """Seconds of a piece, an addition, the solve and an empty task; bytes of a sum."""

    piece: float
    add: float
    solve: float
    empty: float
    bytes: int

    @property
    def transfer(self) -> float:
        return LATENCY + self.bytes / BANDWIDTH


def least(function: Callable[[], Any], rounds: int = 3) -> float:
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return min(times)


def measured() -> Parts:
    call = chunk_calls(1)[0]
    found = run(call)
    H = found.normal().H + CENTERS * np.eye(CENTERS)
    with workers(1):
        empty = least(lambda: gather([Call(nothing)] * 200, "nothing")) / 200
    size = found.triangle.nbytes + found.R.nbytes + found.sums.nbytes
    return Parts(
        least(lambda: run(call)),
        least(lambda: found + found),
        least(lambda: np.linalg.solve(H, found.R)),
        empty,
        size,
    )


def simulated(parts: Parts, pieces: int, count: int) -> float:
    """Seconds of a fit: pieces go to whoever is free, sums into a binary tree; then the solve."""
    scheduler = 0.0
    free = [0.0] * count
    heapq.heapify(free)

    def task(ready: float, seconds: float) -> float:
        """When a task ends that can begin at `ready`; the scheduler gives out one at a time."""
        nonlocal scheduler
        scheduler = max(scheduler, ready) + parts.empty if ready else scheduler + parts.empty
        begin = max(heapq.heappop(free), scheduler, ready)
        heapq.heappush(free, begin + seconds)
        return begin + seconds

    # Leaves are begun before additions; an addition waits for two sums, one of which travels.
    level = [task(0.0, parts.piece) for _ in range(pieces)]
    while len(level) > 1:
        pairs = zip(level[::2], level[1::2], strict=False)
        odd = level[-1:] if len(level) % 2 else []
        level = [task(max(two) + parts.transfer, parts.add) for two in pairs] + odd
    return level[0] + parts.transfer + parts.solve


def measure() -> list[Row]:
    parts, pieces = measured(), ROWS // PIECE
    print(f"{ROWS:.0e} rows in {pieces} pieces, {CENTERS} centers, simulated from")
    print(
        f"  a piece {parts.piece:.3f} s, an addition {1000 * parts.add:.1f} ms, the solve "
        f"{parts.solve:.3f} s, an empty task {1000 * parts.empty:.2f} ms (the scheduler's)\n"
        f"  a sum of {parts.bytes / 1e6:.1f} MB at {BANDWIDTH / 1e9:.2f} GB/s and "
        f"{1000 * LATENCY:.0f} ms; workers alike, one task each, none slow, none dead"
    )
    print("  workers   seconds   speedup   of ideal")
    alone = simulated(parts, pieces, 1)
    for count in WORKERS:
        seconds = simulated(parts, pieces, count)
        times = alone / seconds
        print(f"  {count:7d} {seconds:9.1f} {times:9.1f} {100 * times / count:8.0f} %")
    name = f"{WORKERS[-1]} workers simulated, next to one hundredth of one"
    return [claim(name, simulated(parts, pieces, 100), alone / 100, at_most(1.25))]


if __name__ == "__main__":
    main(measure)
