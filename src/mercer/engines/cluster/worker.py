"""What a task finds where it runs: the settings it brought, its share of the machine, its end.

The client's settings travel with every task, and with them the memory that the height of panels is
derived from: the same heights give the same bits everywhere. A worker that has less uses less. A
task is one thread, BLAS included; whoever runs several tasks at a time has a core for each. What
was asked for is given up by polling: no process is killed for it.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from mercer import __version__
from mercer._config import config, get_config
from mercer._machine.deadline import stopping
from mercer._machine.threads import LOOK, single_threaded_blas

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
