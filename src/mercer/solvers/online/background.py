"""Work for later, done by other threads while this one goes on, and finished together with it."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from types import TracebackType
from typing import Self

from mercer._tiles import Scratch

Task = Callable[[Scratch], None]


class Job:
    """Independent tasks: helpers take them one by one, and so does whoever waits for them."""

    def __init__(self, tasks: Sequence[Task], helpers: Helpers) -> None:
        self._tasks = deque(tasks)
        self._mine = helpers.scratch[-1]
        workers = helpers.scratch[: min(len(helpers.scratch) - 1, len(tasks))]
        self._running: list[Future[None]] = [
            helpers.pool().submit(self._work, scratch) for scratch in workers
        ]

    def _work(self, scratch: Scratch) -> None:
        while True:
            try:
                task = self._tasks.popleft()
            except IndexError:
                return
            task(scratch)

    def finish(self) -> None:
        """Return when all tasks are done; an error in one of them is raised here."""
        self._work(self._mine)
        for future in self._running:
            future.result()

    def drop(self) -> None:
        """Give up the tasks that nobody has begun, and wait for the others."""
        self._tasks.clear()
        for future in self._running:
            future.exception()


class Helpers:
    """`threads` − 1 threads beside this one; with one thread everything happens in `finish`.

    >>> done = []
    >>> with Helpers(2) as helpers:
    ...     job = helpers.start([lambda scratch: done.append(1), lambda scratch: done.append(2)])
    ...     job.finish()
    >>> sorted(done)
    [1, 2]
    """

    def __init__(self, threads: int) -> None:
        self.scratch = [Scratch(thread) for thread in range(threads)]
        self._pool: ThreadPoolExecutor | None = None
        self._last: Job | None = None

    def pool(self) -> ThreadPoolExecutor:
        if self._pool is None:
            self._pool = ThreadPoolExecutor(len(self.scratch) - 1)
        return self._pool

    def start(self, tasks: Sequence[Task]) -> Job:
        """Begin; call `finish` before what the tasks write is read."""
        self._last = Job(tasks, self)
        return self._last

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._last is not None:
            self._last.drop()
        if self._pool is not None:
            self._pool.shutdown()
            self._pool = None
