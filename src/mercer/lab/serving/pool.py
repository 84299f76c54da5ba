"""Worker processes, and who computes what next.

Each asker (a page and one of its questions: the field, the pixel, the proof) has at most one
request waiting, the latest. A request that the page has moved on from is not answered; if it is
running, its worker is killed after a moment of grace and another one takes its place: a killed
process gives back its time and memory, which a thread would not.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import time
from collections.abc import Callable, Hashable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from multiprocessing import connection
from typing import Any

from mercer.lab.compute.wire import Reply, packed
from mercer.lab.serving.turns import Turns
from mercer.lab.serving.worker import COMPILING, PING, serve

#: Seconds that a request may take.
LIMIT = 30.0
#: Seconds that a superseded request may go on: most end by themselves sooner than a new worker
#: would be ready, which takes 50 to 70 ms.
GRACE = 0.25
#: Seconds in which an idle worker must answer a ping, else another one takes its place: one that
#: was stopped would keep a page waiting for all of `LIMIT`.
HEARS = 2.0
WARM = "mercer.lab.serving.warm"
#: What asks that module to prepare its process; without it, importing it changes nothing.
ASKED = "MERCER_LAB_WORKER"

Deliver = Callable[[bytes], Any]


@dataclass
class Job:
    """A request as the page sent it, its number, where the reply goes, and what is said before."""

    message: bytes
    number: Any
    deliver: Deliver
    tell: Deliver | None = None


@dataclass(eq=False)
class Worker:
    process: Any
    pipe: connection.Connection
    asker: Hashable = None
    #: Cancels the work in progress.
    stop: asyncio.Event = field(default_factory=asyncio.Event)

    def kill(self) -> None:
        self.process.kill()
        self.process.join()
        self.pipe.close()


class Pool:
    """A few workers for all pages; `start` and `close` belong to the server's life."""

    def __init__(self, size: int = 3, limit: float = LIMIT, grace: float = GRACE) -> None:
        methods = multiprocessing.get_all_start_methods()
        self._context: Any = multiprocessing.get_context(
            "forkserver" if "forkserver" in methods else "spawn"
        )
        self.size, self.limit, self.grace = size, limit, grace
        #: Workers for all pages but the one in front, which finds a worker and a core.
        self.others: int = max(1, min(size, os.cpu_count() or 1) - 1)
        self.idle: list[Worker] = []
        self.running: dict[Hashable, Worker] = {}
        self.waiting: dict[Hashable, Job] = {}
        self._turns = Turns()
        self._threads = ThreadPoolExecutor(2 * size + 2, thread_name_prefix="mercer-lab")
        self._tasks: set[asyncio.Task[None]] = set()
        self._closed = False

    async def start(self) -> None:
        """Start the workers; the forkserver loads Mercer first."""
        if hasattr(self._context, "set_forkserver_preload"):
            self._context.set_forkserver_preload([WARM])
        os.environ[ASKED] = "1"  # for the forkserver and its workers, which inherit it
        self.idle = [await self._worker() for _ in range(self.size)]

    async def close(self) -> None:
        """End every worker, whatever it is doing."""
        self._closed = True
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for worker in [*self.idle, *self.running.values()]:
            worker.kill()
        self.idle, self.running = [], {}
        self._threads.shutdown(wait=False)

    async def _worker(self, tries: int = 3) -> Worker:
        ours, theirs = self._context.Pipe()
        process = self._context.Process(target=serve, args=(theirs,), daemon=True)
        await asyncio.get_running_loop().run_in_executor(self._threads, process.start)
        theirs.close()
        worker = Worker(process, ours)
        try:
            said = await self._said(worker, ours.recv_bytes, self.limit)
        except (EOFError, OSError):  # ended or stopped as it began
            worker.kill()
            if tries == 1:
                raise
            return await self._worker(tries - 1)
        # A preload that fails is passed over in silence: then every worker would load for seconds.
        if said != b"warm" and self._context.get_start_method() == "forkserver":
            raise RuntimeError(f"the forkserver did not load {WARM}")
        return worker

    async def _said(self, worker: Worker, listen: Callable[[], bytes], seconds: float) -> bytes:
        """What a worker says; TimeoutError from one that is killed as it took longer than this."""
        loop = asyncio.get_running_loop()
        said: asyncio.Future[Any] = loop.run_in_executor(self._threads, listen)
        # It may end when nobody waits for it any more: an error not looked at is printed.
        said.add_done_callback(lambda ended: ended.cancelled() or ended.exception())
        stop: asyncio.Future[Any] = asyncio.ensure_future(worker.stop.wait())
        try:
            await asyncio.wait({said, stop}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
            if not said.done() and worker.stop.is_set():
                await asyncio.wait({said}, timeout=self.grace)
        finally:
            stop.cancel()
        if said.done():
            return bytes(said.result())
        worker.process.kill()  # ends the read in the other thread, too
        await asyncio.wait({said}, timeout=1.0)
        raise TimeoutError

    def ask(self, asker: Hashable, job: Job) -> None:
        """Compute this as soon as a worker is free; it takes the place of an earlier request."""
        self._turns.asked(page_of(asker))
        self.waiting[asker] = job
        if asker in self.running:
            self.running[asker].stop.set()
        self._next()

    def forget(self, page: Hashable) -> None:
        """A page has gone: its requests are not computed any more."""
        self._turns.left(page)
        for asker in [a for a in self.waiting if page_of(a) == page]:
            del self.waiting[asker]
        for asker in [a for a in self.running if page_of(a) == page]:
            self.running[asker].stop.set()

    def _next(self) -> None:
        """Give waiting requests to idle workers; an asker's former worker knows its model."""
        for asker in sorted(self.waiting, key=lambda asker: self._turns.rank(page_of(asker))):
            if not self.idle or self._closed:
                return
            if asker in self.running:
                continue  # its worker ends soon, or is killed
            if not self._turns.in_front(page_of(asker)) and self._others() >= self.others:
                return
            known = [w for w in self.idle if w.asker == asker]
            worker = (known or self.idle)[0]
            self.idle.remove(worker)
            job = self.waiting.pop(asker)
            worker.asker, self.running[asker] = asker, worker
            worker.stop.clear()
            task = asyncio.create_task(self._run(asker, worker, job))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    def _others(self) -> int:
        """How many workers compute for pages that are not in front."""
        return sum(not self._turns.in_front(page_of(asker)) for asker in self.running)

    async def _run(self, asker: Hashable, worker: Worker, job: Job) -> None:

        def echo() -> bytes:
            worker.pipe.send_bytes(PING)
            return worker.pipe.recv_bytes()

        try:
            await self._said(worker, echo, HEARS)
        except (EOFError, OSError):  # ended or stopped while it was idle: nobody needs to know
            worker = await self._replaced(worker)
            self.running[asker] = worker
        began = time.monotonic()
        reply = await self._computed(worker, job)
        self._turns.worked(page_of(asker), time.monotonic() - began)
        if reply is None or not worker.process.is_alive():
            worker = await self._replaced(worker)
        self.running.pop(asker, None)
        self.idle.append(worker)
        self._next()
        if reply:
            await job.deliver(reply)

    async def _replaced(self, worker: Worker) -> Worker:
        """A new worker for one that has ended or must end, with the same wish to stop."""
        worker.kill()
        if self._closed:
            return worker
        made = await self._worker()
        made.asker, made.stop = worker.asker, worker.stop
        return made

    async def _computed(self, worker: Worker, job: Job) -> bytes | None:
        """The reply; None if the worker must go, in which case the page has been told why."""
        loop = asyncio.get_running_loop()

        def exchange() -> bytes:
            """In a thread: a worker that does not read must not keep the server waiting."""
            worker.pipe.send_bytes(job.message)
            while (found := worker.pipe.recv_bytes()).startswith(COMPILING):
                if job.tell is not None:
                    state = packed(Reply({"compiling": found[len(COMPILING) :].decode()}))
                    asyncio.run_coroutine_threadsafe(job.tell(state), loop)
            return found

        try:
            return await self._said(worker, exchange, self.limit)
        except TimeoutError:
            words = f"this took longer than {self.limit:g} s"
        except (EOFError, OSError):
            words = "the computation ended early: too little memory?"
        if not worker.stop.is_set():
            await job.deliver(packed(Reply({"error": words}), job.number))
        return None


def page_of(asker: Hashable) -> Hashable:
    """An asker is a page with its question, or alone."""
    return asker[0] if isinstance(asker, tuple) else asker
