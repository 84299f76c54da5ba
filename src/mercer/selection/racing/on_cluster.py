"""The race on the workers of ``config(cluster=…)``: a task for a kernel and a stage.

The clock stays with the caller. When the time of a stage is over, what has come back counts, and
tasks that still run are stopped. A worker that dies of a candidate takes only that one out.
"""

from __future__ import annotations

import copy
import math
from contextlib import suppress
from typing import Any

from mercer._machine.deadline import OutOfTime, now, until
from mercer.engines.cluster.pool import Call, gather_until
from mercer.selection.racing.clock import Clock
from mercer.selection.racing.entries import Data, Entry
from mercer.selection.racing.race import Race

#: What a candidate is; all else of it is what a stage found.
_NAMES = ("kernel", "trainer", "index")


def run_on_cluster(
    race: Race, entries: list[Entry], size: int, keep: float = 0.0, repeat: int = 0
) -> None:
    """All folds of one repeat of all these candidates; `keep` seconds are left alone."""
    groups: dict[Any, list[Entry]] = {}
    for entry in entries:
        groups.setdefault(entry.kernel, []).append(entry)
    # Someone must have a score, however long that takes.
    seconds = race.clock.left() - keep if race.best() else math.inf
    race.say(f"{size} rows: {len(entries)} candidates")
    settings = (race.data, race.final_rows, race.overhead, race.clock.left() - keep)
    calls = [Call(_run, (*settings, group, size, repeat)) for group in groups.values()]
    found = gather_until(calls, f"{size} rows", now() + seconds)
    for group, states in zip(groups.values(), found, strict=True):
        if isinstance(states, Exception):
            for entry in group:
                entry.failed = f"{type(states).__name__}: {states}"
        elif states is not None:
            for entry, state in zip(group, states, strict=True):
                vars(entry).update(state)


def _run(
    data: Data,
    final_rows: int,
    overhead: float,
    seconds: float,
    entries: list[Entry],
    size: int,
    repeat: int,
) -> list[dict[str, Any]]:
    """The candidates of one kernel, in a race of their own; gives what is known of each then."""
    clock = Clock(None if math.isinf(seconds) else max(seconds, 1e-3))
    race = Race(data, clock, final_rows, overhead, lambda text: None)
    race.entries = entries = [_apart(entry) for entry in entries]
    with suppress(OutOfTime), until(clock.end):  # those that were run have their scores
        race.run_all(entries, size, repeat)
    return [{k: v for k, v in vars(e).items() if k not in _NAMES} for e in entries]


def _apart(entry: Entry) -> Entry:
    """A copy whose lists are its own: a thread that is not waited for any more must not add to
    those of the caller."""
    made = copy.copy(entry)
    for name, value in vars(entry).items():
        if isinstance(value, (list, dict)):
            setattr(made, name, copy.copy(value))
    return made
