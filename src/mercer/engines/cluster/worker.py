"""What a task finds where it runs: the settings it brought, its share of the machine, its end.

The client's settings travel with every task, and with them the memory that the height of panels is
derived from: the same heights give the same bits everywhere. A worker that has less uses less. A
task is one thread, BLAS included; whoever runs several tasks at a time has a core for each. What
was asked for is given up by polling: no process is killed for it.
"""

from __future__ import annotations

import os
import platform
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from mercer import __version__
from mercer._config import config, get_config, show_bytes
from mercer._machine.deadline import stopping
from mercer._machine.threads import LOOK, single_threaded_blas
from mercer._notices import MachineWarning, warn

#: Memory that a task plans with at most: less than a worker has, and the same everywhere, because
#: the height of panels, and with it the last bits of a sum, depends on it.
TASK_MEMORY = 400_000_000
#: The share of a worker's memory that its tasks plan with; beyond it Dask moves data to disk.
WORKER_SHARE = 0.6
#: What Linux shows of a loaded driver of GPUs: in /proc, in a container, under Windows.
DRIVERS = ("/proc/driver/nvidia/version", "/dev/nvidiactl", "/dev/dxg")


@dataclass(frozen=True)
class TaskSettings:
    """The settings of the client, as a task takes them along.

    `stop`: a file that asks tasks on this machine to end, where no scheduler can say so.
    """

    memory: int = TASK_MEMORY
    precision: str = "high"
    device: str = "cpu"
    version: str = __version__
    stop: str = ""

    @classmethod
    def now(cls, tasks: int = 1, stop: str = "") -> TaskSettings:
        """Settings in force here, of which `tasks` tasks share the memory."""
        settings = get_config()
        allowed = TASK_MEMORY if settings.memory is None else settings.memory // max(1, tasks)
        memory = min(TASK_MEMORY, allowed)
        return cls(memory, settings.precision, settings.device, __version__, stop)

    def with_room(self, tasks: int) -> TaskSettings:
        """Settings for tasks whose bits do not depend on memory: all there is, shared."""
        return replace(self, memory=get_config().memory_bytes // max(1, tasks))


@contextmanager
def task(settings: TaskSettings) -> Iterator[None]:
    """A block in which a task has its settings, one thread, and ends when nobody wants it."""
    if settings.version != __version__:
        raise RuntimeError(
            f"the client has Mercer {settings.version} and this worker has {__version__}: install "
            "the same version in both"
        )
    memory = min(settings.memory, memory_share())
    settings_here: dict[str, Any] = {
        "precision": settings.precision,
        "device": device_for(settings),
    }
    with (
        config(
            threads=1, memory=memory, progress=False, cluster="here", checkpoint="", **settings_here
        ),
        single_threaded_blas(),
        stopping(_unwanted(settings.stop)),
    ):
        yield


def dask_worker() -> Any:
    """Dask's worker that runs this thread's task; None elsewhere."""
    if "distributed" not in sys.modules:
        return None
    from distributed import get_worker

    try:
        return get_worker()
    except ValueError:
        return None


def memory_share() -> int:
    """The bytes that a task of this worker may plan with; without a limit, any number."""
    worker = dask_worker()
    limit = None if worker is None else worker.memory_manager.memory_limit
    if not limit:
        return sys.maxsize
    return int(WORKER_SHARE * limit / max(1, worker.state.nthreads))


def device_for(settings: TaskSettings) -> str:
    """The device that the client chose; by default a GPU of Dask's worker, where it has one."""
    uses_gpu = settings.device == "cpu" and dask_worker() is not None and has_gpu()
    return "cuda" if uses_gpu else settings.device


def has_gpu() -> bool:
    """Whether this process sees a GPU and can compute there; ``CUDA_VISIBLE_DEVICES=""`` hides it.

    PyTorch takes seconds to import: it is asked only where the driver is loaded.
    """
    if sys.platform == "linux" and not any(map(os.path.exists, DRIVERS)):
        return False
    try:
        import torch
    except ImportError:
        return False
    return bool(torch.cuda.is_available())


def _unwanted(stop: str) -> Callable[[], bool]:
    """True if the task was canceled (looked at every `LOOK` seconds)."""
    worker, last, answer = dask_worker(), 0.0, False
    key = None if worker is None else worker.get_current_task()

    def unwanted() -> bool:
        nonlocal last, answer
        now = time.monotonic()
        if now - last >= LOOK:
            last = now
            answer = bool(stop) and os.path.exists(stop)
            if key is not None:
                task = worker.state.tasks.get(key)
                answer = task is None or task.state == "cancelled"
        return answer

    return unwanted


# --- The workers of a Dask cluster: what each of them is, and whether they go together ------------
# Every worker is asked once, before the first task that it might get. A worker with another version
# of Mercer is refused. Sums are the same to the last bit where all workers have the same processor,
# libraries and devices; where they have not, that is said once.


@dataclass(frozen=True)
class Facts:
    """Facts that one worker reports; `memory` is its limit (0: none), `resident` what it holds."""

    version: str
    numpy: str
    processor: str
    threads: int = 1
    memory: int = 0
    resident: int = 0
    gpu: str = ""


def look(dask_worker: Any = None) -> Facts:
    """The facts of this process; Dask gives its worker to an argument of this name."""
    limit = None if dask_worker is None else dask_worker.memory_manager.memory_limit
    threads = 1 if dask_worker is None else int(dask_worker.state.nthreads)
    gpu = ""
    if dask_worker is not None and has_gpu():
        import torch

        gpu = str(torch.cuda.get_device_name())
    return Facts(__version__, np.__version__, _processor(), threads, limit or 0, _resident(), gpu)


def _processor() -> str:
    """The machine code that BLAS chose for it: the last bits of a product depend on that."""
    from threadpoolctl import threadpool_info

    kinds = {str(pool.get("architecture", "")) for pool in threadpool_info()} - {""}
    return " ".join([platform.machine(), *sorted(kinds)])


def _resident() -> int:
    """Bytes of memory that this process holds now; 0 where the system does not say."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except (OSError, ValueError, IndexError):
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")


_known: WeakKeyDictionary[Any, dict[str, Facts]] = WeakKeyDictionary()


def check_workers(client: Any) -> dict[str, Facts]:
    """The facts of all workers there are; those that came since the last time are asked."""
    facts = _known.setdefault(client, {})
    new = [address for address in client.nthreads() if address not in facts]
    if new:
        answers = client.run(look, workers=new, on_error="return")
        facts |= judged(answers, facts.values())
    return facts


def judged(answers: Mapping[str, Any], earlier: Iterable[Facts] = ()) -> dict[str, Facts]:
    """Workers that can be used; an error for another version, a warning for a mixture.

    A worker that has died meanwhile gives an error in place of an answer: Dask sees to that.
    """
    for address, answer in answers.items():
        version = getattr(answer, "version", None)
        if isinstance(answer, (ImportError, AttributeError)) or version not in (None, __version__):
            problem = f"has {version}" if version else f"cannot load it ({answer})"
            raise RuntimeError(
                f"the client has Mercer {__version__} and the worker at {address} {problem}: "
                "install the same version in both"
            )
    facts = {address: one for address, one in answers.items() if isinstance(one, Facts)}
    both = [*earlier, *facts.values()]
    kinds = {(one.processor, f"NumPy {one.numpy}", one.gpu or "no GPU") for one in both}
    if len(kinds) > 1:
        mixed = "; ".join(", ".join(kind) for kind in sorted(kinds))
        warn(
            f"the workers of this cluster differ ({mixed}): the last bits of a sum depend on which "
            "of them computes which piece",
            MachineWarning,
        )
    return facts


def described(facts: Iterable[Facts]) -> list[str]:
    """The workers in words, a line per kind.

    >>> one = Facts("1", "2", "x86_64", threads=2, memory=4_000_000_000)
    >>> described([one, one])
    ['2 workers: 2 tasks at a time and 4 GB each, on the processor']
    """
    lines = []
    for (threads, memory, gpu), n in Counter((f.threads, f.memory, f.gpu) for f in facts).items():
        tasks = "1 task" if threads == 1 else f"{threads} tasks"
        room = f"{show_bytes(memory)}" if memory else "no limit of memory"
        place = f"pieces streamed to its GPU ({gpu})" if gpu else "on the processor"
        workers = "1 worker" if n == 1 else f"{n} workers"
        lines.append(f"{workers}: {tasks} at a time and {room} each, {place}")
    return lines


def rows_that_fit(rows: int, size: int, facts: Iterable[Facts]) -> int:
    """Rows of a chunk that the smallest worker holds twice: as read, and as numbers to work on.

    Dask stops a worker from taking tasks at four fifths of its limit.

    >>> small = Facts("1", "2", "x86_64", memory=500_000_000, resident=200_000_000)
    >>> rows_that_fit(1000, 1_000_000_000, [small])
    100
    """
    free = [(0.8 * f.memory - f.resident) / f.threads for f in facts if f.memory]
    each = 2 * size / max(1, rows)
    return max(1, int(min(free, default=size) / max(each, 1e-9)))
