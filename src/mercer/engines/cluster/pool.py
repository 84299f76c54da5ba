"""Who runs tasks: this process, an executor, or a Dask cluster; and sums in a fixed tree.

A task is a pure function of its arguments. Sums are added in the same binary tree whoever computes
the terms and in whichever order they come, so that the result is the same to the last bit. Where a
worker dies its tasks are run again, by Dask. Nothing is scattered and nothing is pinned.

    leaves   s₁  s₂  s₃  s₄  s₅
               ╲╱      ╲╱    │
              s₁₂      s₃₄   │
                 ╲    ╱      │
                 s₁₂₃₄ ───── s     equal heights are added as soon as both are there
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from mercer._config import config, get_config
from mercer._machine.threads import single_threaded_blas
from mercer._progress import progress
from mercer.engines.cluster.pieces import Piece

#: Memory that a task plans with: less than a worker has, and the same everywhere, because the
#: height of panels, and with it the last bits of a sum, depends on it.
TASK_MEMORY = 400_000_000
#: Tasks that are under way at a time, for each thread of this process or worker of an executor.
AHEAD = 2


@dataclass(frozen=True)
class Call:
    """function(*args); pieces among the arguments are loaded where the task runs."""

    function: Callable[..., Any]
    args: tuple[Any, ...] = ()


def gather(calls: list[Call], what: str) -> list[Any]:
    """The results of all calls, in their order."""
    with progress(what, len(calls)) as bar:
        found = []
        for result in _results(calls):
            found.append(result)
            bar.advance()
    return found


def reduce(calls: list[Call], what: str, add: Callable[[Any, Any], Any] | None = None) -> Any:
    """The sum of all results, added in a tree that depends on their number only."""
    add = add or _plus
    client = _client()
    if client is not None:
        return _dask_sum(client, calls, add)
    with progress(what, len(calls)) as bar:
        return tree_sum(_watched(_results(calls), bar), add)


def tree_sum(terms: Iterable[Any], add: Callable[[Any, Any], Any]) -> Any:
    """Terms of equal height are added as soon as there are two: log₂ n of them are held.

    >>> tree_sum("abcde", lambda a, b: f"({a}{b})")
    '(((ab)(cd))e)'
    """
    stack: list[tuple[int, Any]] = []
    for term in terms:
        height = 0
        while stack and stack[-1][0] == height:
            term = add(stack.pop()[1], term)
            height += 1
        stack.append((height, term))
    _, total = stack.pop()
    while stack:
        total = add(stack.pop()[1], total)
    return total


def _plus(a: Any, b: Any) -> Any:
    return a + b


def _watched(results: Iterator[Any], bar: progress) -> Iterator[Any]:
    for result in results:
        yield result
        bar.advance()


# --- this process, or an executor ------------------------------------------------------------


def _results(calls: list[Call]) -> Iterator[Any]:
    """Results in the order of the calls, a few tasks ahead of the one that is waited for."""
    client, executor = _client(), get_config().cluster
    if client is not None:
        yield from client.gather(client.compute([_delayed_call(call) for call in calls]))
        return
    if isinstance(executor, Executor):
        yield from _ahead(executor, calls, AHEAD * (getattr(executor, "_max_workers", None) or 4))
        return
    threads = min(get_config().n_threads, len(calls))
    if threads <= 1:
        yield from (run(call) for call in calls)
        return
    with ThreadPoolExecutor(threads) as own:
        yield from _ahead(own, calls, AHEAD * threads)


def _ahead(executor: Executor, calls: list[Call], ahead: int) -> Iterator[Any]:
    waiting: list[Future[Any]] = []
    rest = iter(calls)
    try:
        for call in rest:
            waiting.append(executor.submit(run, call))
            if len(waiting) >= ahead:
                yield waiting.pop(0).result()
        while waiting:
            yield waiting.pop(0).result()
    finally:
        for task in waiting:
            task.cancel()


def run(call: Call) -> Any:
    """One task, in this process: on one thread, with the settings that all tasks have."""
    args = [a.load() if isinstance(a, Piece) else a for a in call.args]
    with config(threads=1, memory=TASK_MEMORY, progress=False), single_threaded_blas():
        return call.function(*args)


# --- Dask ------------------------------------------------------------------------------------


def _client() -> Any:
    """The client of ``config(cluster=…)``: itself, or one of an address; None without Dask."""
    given = get_config().cluster
    if given is None or isinstance(given, Executor):
        return None
    if isinstance(given, str):
        from distributed import Client, get_client

        try:
            return get_client(given)
        except ValueError:
            return Client(given, set_as_default=False)
    return given


def _delayed_call(call: Call) -> Any:
    from dask import delayed

    args = []
    for a in call.args:
        node = a.node() if isinstance(a, Piece) else None
        args.append(a if node is None else node)
    return delayed(_task, pure=False)(call.function, *args)


def _task(function: Callable[..., Any], *args: Any) -> Any:
    return run(Call(function, args))


def _dask_sum(client: Any, calls: list[Call], add: Callable[[Any, Any], Any]) -> Any:
    from dask import delayed

    together = delayed(add, pure=False)
    total = tree_sum([_delayed_call(call) for call in calls], lambda a, b: together(a, b))
    return client.compute(total).result()
