"""Tasks on a Dask cluster: one graph per question, whose inner results stay with the workers.

Nothing is scattered and nothing is pinned: what a dead worker held is computed again. Ctrl-C, an
error or the end of a time budget cancels the tasks, and those that run see that (`worker`).
"""

from __future__ import annotations

import queue
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import islice
from typing import Any
from uuid import uuid4

from mercer._config import show_bytes
from mercer._machine.deadline import check_time, now
from mercer._progress import progress
from mercer.engines.cluster.pieces import Piece
from mercer.engines.cluster.tree import tree_sum
from mercer.engines.cluster.worker import (
    LOOK,
    TaskSettings,
    check_workers,
    dask_worker,
    rows_that_fit,
    task,
)


def results(client: Any, calls: list[Any], what: str) -> list[Any]:
    """The results of all calls, in their order."""
    question = _Question(client, calls, what)
    return question.answers([question.leaf(i) for i in range(len(calls))])


def totals(
    client: Any, groups: list[list[Any]], what: str, add: Callable[[Any, Any], Any]
) -> Iterator[tuple[int, Any]]:
    """The sums of groups of calls, added where they are; each with its index, as they come."""
    from dask import delayed

    question = _Question(client, [call for group in groups for call in group], what)
    together = delayed(_added, pure=False)
    numbers, roots = iter(range(len(question.calls))), []
    for group in groups:
        leaves = (question.leaf(i) for i in islice(numbers, len(group)))
        roots.append(tree_sum(leaves, lambda a, b: together(question.settings, add, a, b)))
    yield from question.each(roots)


def results_until(client: Any, calls: list[Any], what: str, end: float) -> list[Any]:
    """Results or errors of the calls that have ended by then; the others are stopped."""
    question = _Question(client, calls, what)
    threads = sum(fact.threads for fact in question.facts.values())
    question.settings = question.settings.with_room(threads)
    return question.answers_until([question.leaf(i) for i in range(len(calls))], end)


class _Question:
    """Calls that are on their way to the workers, under names of their own."""

    def __init__(self, client: Any, calls: list[Any], what: str) -> None:
        self.client, self.calls, self.what = client, calls, what
        self.settings, self.name = TaskSettings.now(), f"mercer-{uuid4().hex[:12]}"
        self.facts = check_workers(client)

    def leaf(self, number: int) -> Any:
        from dask import delayed

        call = self.calls[number]
        args = [_node(a) for a in call.args]
        return delayed(_leaf, pure=False)(
            self.name, self.settings, call.function, *args, dask_key_name=f"{self.name}-{number}"
        )

    def answers(self, nodes: list[Any]) -> list[Any]:
        """The values of some nodes, in their order."""
        values = dict(self.each(nodes))
        return [values[i] for i in range(len(nodes))]

    def each(self, nodes: list[Any]) -> Iterator[tuple[int, Any]]:
        """Each value with its index, as they come; the bar counts leaves that are done."""
        done: queue.SimpleQueue[Any] = queue.SimpleQueue()
        futures = []
        with progress(self.what, len(self.calls)) as bar, self._counted(bar):
            try:
                futures = self.client.compute(nodes)
                index = {future.key: i for i, future in enumerate(futures)}
                for future in futures:
                    future.add_done_callback(done.put)
                left = set(index)
                while left:
                    check_time()
                    try:
                        key = done.get(timeout=LOOK).key
                    except queue.Empty:
                        continue
                    left.discard(key)
                    # An error of one of them is raised by asking for its value.
                    yield index[key], self.client.gather(futures[index[key]])
            except BaseException as error:
                _cancel(self.client, futures)
                self._explain(error)
                raise

    def answers_until(self, nodes: list[Any], end: float) -> list[Any]:
        """Values or errors; None for nodes that have none at `end`, whose tasks are cancelled."""
        futures = []
        with progress(self.what, len(self.calls)) as bar, self._counted(bar):
            try:
                futures = self.client.compute(nodes)
                while now() < end and not all(f.done() for f in futures):
                    check_time()
                    time.sleep(min(LOOK / 4, max(0.0, end - now())))
                ended = [future for future in futures if future.done()]
                errors = {f.key: f.exception() for f in ended if f.status != "finished"}
                good = [future for future in ended if future.status == "finished"]
                values = dict(zip([f.key for f in good], self.client.gather(good), strict=True))
            finally:
                _cancel(self.client, [f for f in futures if not f.done()])
        return [errors.get(f.key, values.get(f.key)) for f in futures]

    @contextmanager
    def _counted(self, bar: progress) -> Any:
        """Leaves report to a topic of their own: a future for each would keep all their results."""

        def counted(event: Any) -> None:
            bar.advance()  # the clock is not looked at here, in a thread of Dask's

        self.client.subscribe_topic(self.name, counted)
        try:
            yield
        finally:
            if self.client.status == "running":
                self.client.unsubscribe_topic(self.name)

    # --- errors ------------------------------------------------------------------------------

    def _explain(self, error: BaseException) -> None:
        """Raise what Dask says in the words of the data."""
        from distributed import CancelledError
        from distributed.scheduler import KilledWorker

        if isinstance(error, KilledWorker):
            raise MemoryError(self._died(error)) from None
        lost = isinstance(error, (CancelledError, OSError)) and self.client.status != "running"
        if lost or isinstance(error, CancelledError):
            raise ConnectionError(
                "the scheduler of the cluster was lost, or it cancelled the tasks, before the "
                "result was there: connect again and repeat the call; with "
                "config(checkpoint=folder) it goes on from the sums found so far"
            ) from error

    def _died(self, error: Any) -> str:
        """Name the chunk that workers died of, its size, and what would fit."""
        extent = self._extent(str(error.task))
        limits = sorted({f.memory for f in self.facts.values() if f.memory})
        limit = f"the limit is {show_bytes(limits[0])}" if limits else "there is no limit"
        deaths = error.allowed_failures + 1
        said = (
            f"{'a worker was' if deaths == 1 else f'{deaths} workers in turn were'} stopped at "
            f"{extent or 'a task'}, as happens where it takes too much memory ({limit})"
        )
        if extent is None or not limits:
            return f"{said}. Give them more memory, or take smaller pieces."
        rows = min(extent.rows, rows_that_fit(extent.rows, extent.bytes, self.facts.values()))
        return (
            f"{said}. Pieces of {rows} rows fit at {show_bytes(extent.bytes / extent.rows)} a row: "
            f"X.rechunk({{0: {rows}}}), mercer.chunks(…, rows={rows}), fewer centers, or workers "
            "with more memory"
        )

    def _extent(self, key: str) -> Any:
        """The largest chunk of the task that is called so, or that waits for what is."""
        for number, call in enumerate(self.calls):
            pieces = [a for a in call.args if isinstance(a, Piece)]
            names = [f"{self.name}-{number}", *(str(getattr(p.node(), "key", "")) for p in pieces)]
            extents = [p.extent for p in pieces if p.extent is not None]
            if extents and key in names:
                return max(extents, key=lambda extent: extent.bytes)
        return None


def _cancel(client: Any, futures: list[Any]) -> None:
    if futures and client.status == "running":
        client.cancel(futures, force=True)


def _node(argument: Any) -> Any:
    node = argument.node() if isinstance(argument, Piece) else None
    return argument if node is None else node


# --- in a worker -----------------------------------------------------------------------------


def _leaf(name: str, settings: TaskSettings, function: Callable[..., Any], *args: Any) -> Any:
    with task(settings):
        value = function(*(a.load() if isinstance(a, Piece) else a for a in args))
    worker = dask_worker()
    if worker is not None:
        worker.log_event(name, 1)
    return value


def _added(settings: TaskSettings, add: Callable[[Any, Any], Any], a: Any, b: Any) -> Any:
    with task(settings):
        return add(a, b)
