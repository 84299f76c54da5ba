"""Processor cores and memory of this machine, within the limits of a container."""

from __future__ import annotations

import ctypes
import math
import mmap
import os
import sys
import threading
import time
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Final

#: Seconds for which a look at cores and free memory is good: a call asks for them many times.
FRESH = 0.5
#: A control group without a limit of memory says so by a number about this large.
UNLIMITED: Final = 1 << 60
_seen: tuple[float, int] = (-math.inf, 0)
_cores: tuple[float, int] = (-math.inf, 0)


def usable_cores() -> int:
    """The cores that this process may use, as of half a second ago at most."""
    global _cores
    now = time.monotonic()
    if now - _cores[0] > FRESH:
        _cores = (now, _count_cores())
    return _cores[1]


def _count_cores() -> int:
    """Count cores by the affinity of the process and the share of its control group."""
    affinity = getattr(os, "sched_getaffinity", None)  # not on every system
    cores = len(affinity(0)) if affinity else os.cpu_count() or 1
    older = _group("cpu", version=1)
    quotas = (_read(older / f"cpu.cfs_{part}_us") or "" for part in ("quota", "period"))
    for quota in (_read(_group("cpu") / "cpu.max") or "", " ".join(quotas)):
        numbers = [int(part) for part in quota.split() if part.isdigit()]  # "max" and -1: no limit
        if len(numbers) == 2 and numbers[1]:
            cores = min(cores, max(1, math.ceil(numbers[0] / numbers[1])))
    return cores if can_start_threads() else 1


@lru_cache(maxsize=1)
def can_start_threads() -> bool:
    """Whether this system has threads (a page in a browser need not), tried once."""
    try:
        threading.Thread(target=int).start()
    except RuntimeError:
        return False
    return True


def free_memory() -> int:
    """Bytes that can be had without paging, as of half a second ago at most."""
    global _seen
    now = time.monotonic()
    if now - _seen[0] > FRESH:
        mapped = int((_read(Path("/proc/self/statm")) or "0").split()[0]) * mmap.PAGESIZE
        left = max(0, _address_space() - mapped)
        _seen = (now, min(_of_system("MemAvailable:"), _of_group(), left))
    return _seen[1]


@lru_cache(maxsize=1)
def whole_memory() -> int:
    """Bytes of the machine's memory, or of the share that a container may have of it."""
    limits = [most for most, _, _ in _group_limits()]
    return min(_of_system("MemTotal:"), _address_space(), *limits, sys.maxsize)


def _address_space() -> int:
    """Bytes that the process may map, all libraries among them (``ulimit -v``)."""
    try:
        import resource
    except ImportError:  # Windows
        return sys.maxsize
    soft, _ = resource.getrlimit(resource.RLIMIT_AS)
    return sys.maxsize if soft == resource.RLIM_INFINITY else soft


def _of_system(entry: str) -> int:
    """An entry of /proc/meminfo in bytes, or what other systems have in its place."""
    if sys.platform == "win32":
        return _windows(1 if entry == "MemTotal:" else 2)
    for line in (_read(Path("/proc/meminfo")) or "").splitlines():
        if line.startswith(entry):
            return int(line.split()[1]) * 1024
    return _built_in() // (1 if entry == "MemTotal:" else 2)


def _windows(field: int) -> int:  # pragma: no cover - only there
    """A field of MEMORYSTATUSEX: two 32-bit numbers, then seven of 64 bits."""
    status = (ctypes.c_uint64 * 8)()
    ctypes.cast(status, ctypes.POINTER(ctypes.c_uint32))[0] = ctypes.sizeof(status)
    ctypes.windll.kernel32.GlobalMemoryStatusEx(status)  # type: ignore[attr-defined]
    return int(status[field])


def _built_in() -> int:  # pragma: no cover - macOS
    """Bytes of memory where /proc has no entry; half of them are taken to be free."""
    size, length = ctypes.c_uint64(0), ctypes.c_size_t(8)
    library = ctypes.CDLL(None)
    if hasattr(library, "sysctlbyname"):
        library.sysctlbyname(
            b"hw.memsize", ctypes.byref(size), ctypes.byref(length), None, ctypes.c_size_t(0)
        )
    return int(size.value) or 8 << 30


def _of_group() -> int:
    """Bytes that the control group of this process leaves; cached files give way when asked."""
    for most, folder, (used, cached) in _group_limits():
        now = _number(folder / used)
        if now is None:
            continue
        statistics = dict(
            line.split()[:2]
            for line in (_read(folder / "memory.stat") or "").splitlines()
            if len(line.split()) == 2
        )
        return max(0, most - now + int(statistics.get(cached, 0)))
    return sys.maxsize


def _group_limits() -> Iterator[tuple[int, Path, tuple[str, str]]]:
    """Memory limits of control groups, with their folder and the names of what is used in them."""
    for folder, limit, names in (
        (_group("memory"), "memory.max", ("memory.current", "inactive_file")),
        (
            _group("memory", version=1),
            "memory.limit_in_bytes",
            ("memory.usage_in_bytes", "total_inactive_file"),
        ),
    ):
        most = _number(folder / limit)
        if most is not None and most < UNLIMITED:
            yield most, folder, names


def _group(controller: str, version: int = 2) -> Path:
    """The folder of this process's control group, as the kernel shows it."""
    root = Path("/sys/fs/cgroup") / ("" if version == 2 else controller)
    for line in (_read(Path("/proc/self/cgroup")) or "").splitlines():
        number, controllers, path = line.split(":", 2)
        if (version == 2 and number == "0") or (
            version == 1 and controller in controllers.split(",")
        ):
            folder = root / path.lstrip("/")
            inside = (
                _read(folder / "cgroup.procs") is None
            )  # a container sees its group as the root
            return root if inside else folder
    return root


def _number(path: Path) -> int | None:
    text = _read(path)
    return int(text) if text is not None and text.strip().isdigit() else None


def _read(path: Path) -> str | None:
    try:
        return path.read_text()
    except (OSError, UnicodeDecodeError):
        return None
