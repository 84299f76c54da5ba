"""The workers of a Dask cluster: what each of them is, and whether they go together.

Every worker is asked once, before the first task that it might get. A worker with another version
of Mercer is refused. Sums are the same to the last bit where all workers have the same processor,
libraries and devices; where they have not, that is said once.
"""

from __future__ import annotations

import os
import platform
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from mercer import __version__
from mercer._config import show_bytes
from mercer._notices import MachineWarning, warn
from mercer.engines.cluster.worker import has_gpu


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
