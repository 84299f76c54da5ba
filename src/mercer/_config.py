"""Settings: memory, threads, device, precision, progress; global, or for one ``with`` block."""

from __future__ import annotations

import os
import re
import threading
import weakref
from contextvars import ContextVar, Token
from dataclasses import dataclass, replace
from types import TracebackType
from typing import Any, Self

_UNITS = {"": 1, "B": 1}
_UNITS |= {p + "B": 1000**i for i, p in enumerate(("K", "M", "G", "T"), start=1)}
_UNITS |= {p + "IB": 1024**i for i, p in enumerate(("K", "M", "G", "T"), start=1)}


@dataclass(frozen=True)
class Settings:
    """The settings in force. `memory` None means three quarters of what is free right now."""

    memory: int | None = None
    threads: int | None = None
    device: str = "cpu"
    precision: str = "high"
    progress: bool = True

    @property
    def memory_bytes(self) -> int:
        return self.memory if self.memory is not None else int(0.75 * _free_memory())

    @property
    def n_threads(self) -> int:
        return self.threads if self.threads is not None else _usable_cores()


#: The places that `device` may name; engines add theirs.
_devices = {"cpu", "cuda"}
_DEVICE = re.compile(r"[A-Za-z_][\w-]*(:\d+)?")


def register_device(name: str) -> None:
    """Let ``config(device=name)`` be said."""
    _devices.add(name)


_global = Settings()
_local: ContextVar[Settings | None] = ContextVar("mercer_settings", default=None)
#: Calls of `config` that may still turn out to open a ``with`` block: (thread, object, changes).
_pending: list[tuple[int, weakref.ref[config], dict[str, Any]]] = []
_lock = threading.Lock()


def get_config() -> Settings:
    """The settings in force here."""
    local = _local.get()
    if local is not None:
        return local
    if _pending:
        _settle()
    return _global


def _settle() -> None:
    """Make global what was called plainly: its thread went on without entering the block.

    Until then nobody else may see it, or a block in one thread would leak into all others.
    """
    global _global
    me = threading.get_ident()
    with _lock:
        plain = [p for p in _pending if p[0] == me or p[1]() is None]
        for entry in plain:
            _global = replace(_global, **entry[2])
            _pending.remove(entry)


class config:
    """Change settings; inside ``with`` they are put back at the end, and other threads keep theirs.

    >>> import mercer
    >>> with mercer.config(memory="2GB", threads=1):
    ...     mercer.get_config().memory_bytes
    2000000000
    """

    def __init__(
        self,
        memory: str | int | None = None,
        threads: int | None = None,
        device: str | None = None,
        precision: str | None = None,
        progress: bool | None = None,
    ) -> None:
        changes: dict[str, Any] = {}
        if memory is not None:
            changes["memory"] = parse_bytes(memory)
        if threads is not None:
            if isinstance(threads, bool) or not isinstance(threads, int) or threads < 1:
                raise ValueError(f"threads must be a whole number ≥ 1, got {threads!r}")
            changes["threads"] = threads
        if device is not None:
            if str(device).partition(":")[0] not in _devices or not _DEVICE.fullmatch(str(device)):
                known = ", ".join(repr(name) for name in sorted(_devices))
                raise ValueError(f"device must be one of {known}, or 'cuda:N', got {device!r}")
            changes["device"] = device
        if precision is not None:
            if precision not in ("high", "fast"):
                raise ValueError(f"precision must be 'high' or 'fast', got {precision!r}")
            changes["precision"] = precision
        if progress is not None:
            changes["progress"] = bool(progress)
        self._changes = changes
        self._token: Token[Settings | None] | None = None
        self._outer = _local.get()
        # Called plainly it is the global setting, or that of the block around it; entered, it
        # becomes a block of its own.
        if self._outer is None:
            _settle()
            _pending.append((threading.get_ident(), weakref.ref(self), changes))
        else:
            _local.set(replace(self._outer, **changes))

    def __enter__(self) -> Self:
        with _lock:
            _pending[:] = [p for p in _pending if p[1]() is not self]
        if self._outer is not None:
            _local.set(self._outer)
            self._outer = None
        self._token = _local.set(replace(get_config(), **self._changes))
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._token is not None:
            _local.reset(self._token)
            self._token = None


def parse_bytes(size: str | int) -> int:
    """Bytes from a number or a text such as "4GB", "512 MiB".

    >>> parse_bytes("1.5GB")
    1500000000
    """
    if isinstance(size, (int, float)) and not isinstance(size, bool):
        value = float(size)
    else:
        match = re.fullmatch(r"\s*([\d.]+)\s*([KMGT]?I?B?)\s*", str(size).upper())
        unit = match and (match[2] if match[2].endswith("B") or not match[2] else match[2] + "B")
        if not match or unit not in _UNITS or match[1].count(".") > 1:
            raise ValueError(f"a memory size looks like '4GB' or '512MiB', got {size!r}")
        value = float(match[1]) * _UNITS[unit]
    if not 1 <= value < float("inf"):
        raise ValueError(f"the memory limit must be positive and finite, got {size!r}")
    return int(value)


def show_bytes(size: float) -> str:
    for unit in ("B", "KB", "MB", "GB"):
        if abs(size) < 1000:
            return f"{size:.3g} {unit}"
        size /= 1000
    return f"{size:.3g} TB"


def _usable_cores() -> int:
    if hasattr(os, "sched_getaffinity"):  # not on every system
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _free_memory() -> int:
    try:
        with open("/proc/meminfo") as lines:
            for line in lines:
                if line.startswith("MemAvailable:"):
                    return int(line.split()[1]) * 1024
    except OSError:
        pass
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2
