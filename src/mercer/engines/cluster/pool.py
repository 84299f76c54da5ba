"""Who runs tasks: this process, an executor, or a Dask cluster; and sums in a fixed tree.

A task is a pure function of its arguments. Sums are added in the same binary tree (`tree`) whoever
computes the terms and in whichever order they come, so that the result is the same to the last bit.
Where a worker dies its tasks are run again, by Dask (`on_dask`). Nothing is scattered and nothing
is pinned. A task has the settings of whoever asked for it (`worker`).
"""

from __future__ import annotations

import operator
import tempfile
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import (
    FIRST_COMPLETED,
    BrokenExecutor,
    Executor,
    Future,
    ThreadPoolExecutor,
    wait,
)
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from pickle import PicklingError
from typing import Any

from mercer._config import get_config
from mercer._machine.deadline import check_time, now, until
from mercer._progress import progress
from mercer.engines.cluster.checkpoint import kept
from mercer.engines.cluster.pieces import Piece
from mercer.engines.cluster.tree import tree_sum
from mercer.engines.cluster.worker import LOOK, TaskSettings, task

#: Tasks that are under way at a time, for each thread of this process or worker of an executor.
AHEAD = 2


@dataclass(frozen=True)
class Call:
    """function(*args); chunks among the arguments are loaded where the task runs."""

    function: Callable[..., Any]
    args: tuple[Any, ...] = ()


def gather(calls: list[Call], what: str) -> list[Any]:
    """The results of all calls, in their order."""
    client = client_of()
    if client is not None:
        from mercer.engines.cluster.on_dask import results

        return results(client, calls, what) if calls else []
    with progress(what, len(calls)) as bar:
        return list(_watched(_results(calls), bar))


def reduce(calls: list[Call], what: str, add: Callable[[Any, Any], Any] | None = None) -> Any:
    """The sum of all results, added in a tree that depends on their number only."""
    add = add or operator.add
    checkpoint = kept(calls, add)
    if checkpoint is not None:
        return checkpoint.total(partial(_subtotals, what=what, add=add))
    ((_, total),) = _subtotals([calls], what, add)
    return total


def _subtotals(
    groups: list[list[Call]], what: str, add: Callable[[Any, Any], Any]
) -> Iterator[tuple[int, Any]]:
    """The sums of some groups of calls, each with the index of its group, as they are there."""
    client = client_of()
    if client is not None:
        from mercer.engines.cluster.on_dask import totals

        yield from totals(client, groups, what, add)
        return
    calls = [call for group in groups for call in group]
    with progress(what, len(calls)) as bar:
        results = _watched(_results(calls), bar)
        for number, group in enumerate(groups):
            yield number, tree_sum(islice(results, len(group)), add)


def in_turn(function: Callable[[Any], Any], items: Iterable[Any]) -> Iterator[tuple[Any, Any]]:
    """Each item with what a function makes of it; on a cluster, some items at a time.

    As many items are held as there are workers, and some more. In this process it is one by one.
    """
    client, executor = client_of(), get_config().cluster
    some = 1
    if client is not None:
        some = AHEAD * max(1, sum(client.nthreads().values()))
    elif isinstance(executor, Executor):
        some = AHEAD * get_config().n_threads
    rest = iter(items)
    while group := list(islice(rest, some)):
        if some == 1:
            yield group[0], function(group[0])
        else:
            calls = [Call(function, (item,)) for item in group]
            yield from zip(group, gather(calls, "answers"), strict=True)


def _watched(results: Iterator[Any], bar: progress) -> Iterator[Any]:
    for result in results:
        yield result
        bar.advance()


def client_of() -> Any:
    """The client of ``config(cluster=…)``: itself, or one of an address; None without Dask."""
    cluster = get_config().cluster
    if cluster is None or isinstance(cluster, Executor):
        return None
    if isinstance(cluster, str):
        from distributed import Client, get_client

        try:
            return get_client(cluster)
        except ValueError:
            return Client(cluster, set_as_default=False)
    return cluster


def gather_until(calls: list[Call], what: str, end: float) -> list[Any]:
    """Results that are there at `end` on the clock `now`, or the errors of calls.

    None stands for those that had not ended; they are stopped. For work that needs no bits in
    common: tasks may take all the memory that their worker has.
    """
    client, executor = client_of(), get_config().cluster
    if client is not None:
        from mercer.engines.cluster.on_dask import results_until

        return results_until(client, calls, what, end)
    if isinstance(executor, Executor):
        return _results_until(executor, calls, what, end)
    with until(end):
        return gather(calls, what)


def _results_until(executor: Executor, calls: list[Call], what: str, end: float) -> list[Any]:
    workers = get_config().n_threads
    with tempfile.TemporaryDirectory() as folder, progress(what, len(calls)) as bar:
        stop = Path(folder) / "stop"
        settings = TaskSettings.now(stop=str(stop)).with_room(workers)
        futures = [_submitted(executor, call, settings) for call in calls]
        try:
            rest = set(futures)
            while rest and now() < end:
                timeout = min(LOOK, max(0.0, end - now()))
                done, rest = wait(rest, timeout=timeout, return_when=FIRST_COMPLETED)
                bar.advance(len(done))
        finally:
            stop.touch()
            ended = [future.done() for future in futures]
            wait([future for future in futures if not future.cancel()], timeout=10 * LOOK)
        pairs = zip(futures, ended, strict=True)
        return [(f.exception() or f.result()) if ok else None for f, ok in pairs]


def _submitted(executor: Executor, call: Call, settings: TaskSettings) -> Future[Any]:
    """Send a call to other processes by value, so that functions without a name travel, too."""
    if isinstance(executor, ThreadPoolExecutor):
        return executor.submit(run, call, settings)
    from joblib import wrap_non_picklable_objects  # scikit-learn brings it

    return executor.submit(wrap_non_picklable_objects(partial(run, call, settings)))


# --- this process, or an executor ------------------------------------------------------------


def _results(calls: list[Call]) -> Iterator[Any]:
    """Results in the order of the calls, a few tasks ahead of the one that is waited for."""
    executor, threads = get_config().cluster, get_config().n_threads
    if isinstance(executor, Executor):  # it does not say how many workers it has
        yield from _ahead(executor, calls, threads)
        return
    threads = min(threads, len(calls))
    if threads <= 1:
        yield from (run(call) for call in calls)
        return
    with ThreadPoolExecutor(threads) as helpers:
        yield from _ahead(helpers, calls, threads)


def _ahead(executor: Executor, calls: list[Call], workers: int) -> Iterator[Any]:
    """Tasks that run when this ends early see the file and stop."""
    waiting: list[Future[Any]] = []
    with tempfile.TemporaryDirectory() as folder:
        stop = Path(folder) / "stop"
        settings = TaskSettings.now(workers, str(stop))
        try:
            for call in calls:
                waiting.append(executor.submit(run, call, settings))
                if len(waiting) >= AHEAD * workers:
                    yield _awaited(waiting.pop(0))
            while waiting:
                yield _awaited(waiting.pop(0))
        finally:
            if waiting:
                stop.touch()
                begun = [future for future in waiting if not future.cancel()]
                wait(begun, timeout=10 * LOOK)


def _awaited(future: Future[Any]) -> Any:
    while wait([future], timeout=LOOK).not_done:
        check_time()
    try:
        return future.result()
    except BrokenExecutor as error:
        raise ConnectionError(
            "a process of the executor was lost, and with it the executor: make a new one and "
            "repeat the call; with config(checkpoint=folder) it goes on from the sums found so far"
        ) from error
    except (PicklingError, AttributeError, TypeError) as error:
        if any(said in str(error) for said in ("pickle", "local object")):  # Python 3.13's
            raise TypeError(
                f"this cannot be sent to other processes ({error}): a kernel made of a lambda, or "
                "of a function within another, has to be a function of a module that they can "
                "import; a Dask cluster takes it as it is"
            ) from error
        raise


def run(call: Call, settings: TaskSettings | None = None) -> Any:
    """One task, in this process: on one thread, with the settings that all tasks have."""
    with task(settings or TaskSettings.now()):
        return call.function(*(a.load() if isinstance(a, Piece) else a for a in call.args))
