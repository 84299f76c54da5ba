"""Settings: memory, threads, device, precision, progress, cluster, …; global, or for a block."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from contextvars import ContextVar, Token
from dataclasses import replace
from functools import cached_property
from typing import Any, Self

from mercer._lazy import record
from mercer._machine.resources import can_start_threads, free_memory, usable_cores, whole_memory
from mercer._notices import MachineWarning, warn
from mercer._plugins import load_plugins

_UNITS = {"": 1, "B": 1} | {
    letter + ending: base**power
    for power, letter in enumerate(("K", "M", "G", "T"), start=1)
    for ending, base in (("B", 1000), ("IB", 1024))
}


@record
class Settings:
    """The settings in force. `memory` None means half of the memory of the machine."""

    memory: int | None = None
    threads: int | None = None
    device: str = "cpu"
    precision: str = "high"
    progress: bool | str = True
    cluster: Any = None
    checkpoint: str | None = None

    @cached_property
    def memory_bytes(self) -> int:
        return self.memory if self.memory is not None else whole_memory() // 2

    @property
    def n_threads(self) -> int:
        return self.threads if self.threads and can_start_threads() else usable_cores()


#: The places that `device` may name; engines add theirs.
DEVICES = {"cpu", "cuda"}
_DEVICE = re.compile(r"[A-Za-z_][\w-]*(:\d+)?")
_global = Settings()
_local: ContextVar[Settings | None] = ContextVar("mercer_settings", default=None)
_lock = threading.Lock()


def get_config() -> Settings:
    """The settings in force here: those of the ``with`` block around this call, or the global ones.

    Returns
    -------
    Settings
        With the fields that `set_config` changes, and what they come to: `memory_bytes`,
        `n_threads`.

    Examples
    --------
    >>> import mercer
    >>> mercer.get_config().precision
    'high'
    """
    return _local.get() or _global


def set_config(
    *,
    memory: str | int | None = None,
    threads: int | None = None,
    device: str | None = None,
    precision: str | None = None,
    progress: bool | str | None = None,
    cluster: Any = None,
    checkpoint: Any = None,
) -> None:
    """Change settings for good: for all threads, or until the end of a ``with config`` block.

    Parameters
    ----------
    memory : str or int
        The most that one call may take: bytes, or text such as "4GB". Without it, half of
        the memory of the machine or of its container. Libraries and compiled code, up to 300 MB
        that a process loads once, come on top.
    threads : int
        Threads of one call; all usable cores without it.
    device : str
        "cpu", "cuda", "cuda:1" or the name of a registered engine: where arrays are computed.
    precision : {"high", "fast"}
        Of products on a GPU.
    progress : bool or "lines"
        Show progress bars on work that lasts, in a terminal; "lines" writes a line to stderr every
        ten seconds, whatever it is.
    cluster : distributed.Client, address, concurrent.futures.Executor or "here"
        Who works on chunked rows; "here" is this process. An executor is given as
        many tasks at a time as `threads` says: set it to the number of its workers.
    checkpoint : path
        A folder in which sums over chunks are kept as they are found. The same call goes on from
        there after a process, a scheduler or an executor was lost, to the same bits; "" ends it.

    See Also
    --------
    config : The same for one ``with`` block.

    Examples
    --------
    >>> import mercer
    >>> with mercer.config():  # so that this example leaves nothing behind
    ...     mercer.set_config(threads=1)
    ...     mercer.get_config().n_threads
    1
    """
    global _global
    changes = _checked(
        memory=memory, threads=threads, device=device, precision=precision,
        progress=progress, cluster=cluster, checkpoint=checkpoint,
    )  # fmt: skip
    inside = _local.get()
    if inside is not None:
        _local.set(replace(inside, **changes))
        return
    with _lock:
        _global = replace(_global, **changes)


class config:
    """Settings for one ``with`` block; other threads keep theirs, and all is put back at the end.

    Takes the parameters of `set_config`, which changes settings for good.

    Parameters
    ----------
    memory : str or int
        The most that one call may take: bytes, or text such as "4GB".
    threads : int
        Threads of one call.
    device : str
        Where arrays are computed: "cpu", "cuda", "cuda:1" or the name of a registered engine.
    precision : {"high", "fast"}
        Of products on a GPU.
    progress : bool or "lines"
        Show progress bars on work that lasts, in a terminal; "lines" writes a line to stderr every
        ten seconds, whatever it is.
    cluster : distributed.Client, address, concurrent.futures.Executor or "here"
        Who works on chunked rows; an executor, on as many at a time as `threads` says.
    checkpoint : path
        A folder in which sums over chunks are kept, for the same call to go on from.

    Examples
    --------
    >>> import mercer
    >>> with mercer.config(memory="2GB", threads=1):
    ...     mercer.get_config().memory_bytes
    2000000000
    """

    _entered = True  # a call that raises is not one that was forgotten

    def __init__(
        self,
        *,
        memory: str | int | None = None,
        threads: int | None = None,
        device: str | None = None,
        precision: str | None = None,
        progress: bool | str | None = None,
        cluster: Any = None,
        checkpoint: Any = None,
    ) -> None:
        self._changes = _checked(
            memory=memory, threads=threads, device=device, precision=precision,
            progress=progress, cluster=cluster, checkpoint=checkpoint,
        )  # fmt: skip
        self._tokens: list[Token[Settings | None]] = []
        self._entered = False

    def __enter__(self) -> Self:
        self._entered = True
        self._tokens.append(_local.set(replace(get_config(), **self._changes)))
        return self

    def __exit__(self, *error: object) -> None:
        _local.reset(self._tokens.pop())

    def __del__(self) -> None:
        if not self._entered:
            warn(
                "mercer.config(…) was called without a with block and changed nothing: write "
                "'with mercer.config(…):', or mercer.set_config(…) to change settings for good",
            )


def _checked(**changes: Any) -> dict[str, Any]:
    """The settings that are not None, each checked; an error before any of them changes."""
    return {name: _CHECKS[name](value) for name, value in changes.items() if value is not None}


def _threads(threads: Any) -> int:
    if isinstance(threads, bool) or not isinstance(threads, int) or threads < 1:
        raise ValueError(f"threads must be a whole number ≥ 1, got {threads!r}")
    return threads


def _device(device: Any) -> Any:
    if str(device).partition(":")[0] not in DEVICES:
        load_plugins("engines")
    if str(device).partition(":")[0] not in DEVICES or not _DEVICE.fullmatch(str(device)):
        names = ", ".join(repr(name) for name in sorted(DEVICES))
        raise ValueError(f"device must be one of {names}, or 'cuda:N', got {device!r}")
    return device


def _precision(precision: Any) -> Any:
    if precision not in ("high", "fast"):
        raise ValueError(f"precision must be 'high' or 'fast', got {precision!r}")
    return precision


def _progress(shown: Any) -> bool | str:
    if shown == "lines" or isinstance(shown, (bool, int)):
        return shown if shown == "lines" else bool(shown)
    raise ValueError(f"progress must be True, False or 'lines', got {shown!r:.40}")


def _cluster(cluster: Any) -> Any:
    """A client of Dask's (it gathers and computes), an address, or an executor (it submits)."""
    if isinstance(cluster, str) and cluster == "here":
        return None
    if "://" in cluster if isinstance(cluster, str) else hasattr(cluster, "submit"):
        return cluster
    raise ValueError(
        "cluster must be a distributed.Client, an address such as 'tcp://host:8786', an executor "
        f"of concurrent.futures, or 'here'; got {cluster!r:.80}"
    )


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


#: What turns a given value of each setting into the one in force.
_CHECKS: dict[str, Callable[[Any], Any]] = {
    "memory": parse_bytes,
    "threads": _threads,
    "device": _device,
    "precision": _precision,
    "progress": _progress,
    "cluster": _cluster,
    "checkpoint": lambda folder: str(folder) or None,
}
#: Bytes from which free memory is looked at before work begins: a look takes 0.1 ms.
LOOKED_AT = 100_000_000


def warn_if_tight(n_bytes: float) -> None:
    """Warn, before work begins, that it needs more than is free; the answer does not change."""
    if n_bytes < LOOKED_AT or get_config().memory is not None:
        return
    if n_bytes > (free := free_memory()):
        warn(
            f"this takes about {show_bytes(n_bytes)}, and {show_bytes(free)} of memory are free "
            "just now: it may be slow. mercer.set_config(memory=…) sets a lower limit.",
            MachineWarning,
        )


def check_memory(
    n_rows: int, n_features: int, n_bytes: int, instead: str, of: str = "features"
) -> None:
    """Refuse, with the exact count, what the memory limit does not allow."""
    limit = get_config().memory_bytes
    if n_bytes > limit:
        n_bytes = min(n_bytes, 10**300)  # a count can be larger than any float
        rows = "one row" if n_rows == 1 else f"{n_rows} rows"
        raise ValueError(
            f"to make {rows} of {n_features} {of} takes {show_bytes(n_bytes)} and the limit is "
            f"{show_bytes(limit)} (mercer.set_config(memory=...)). {instead}"
        )
    warn_if_tight(n_bytes)


def show_bytes(size: float) -> str:
    """Bytes in words: 1500000 is "1.5 MB"."""
    for unit in ("B", "KB", "MB", "GB"):
        if abs(size) < 1000:
            return f"{size:.3g} {unit}"
        size /= 1000
    return f"{size:.3g} TB"
