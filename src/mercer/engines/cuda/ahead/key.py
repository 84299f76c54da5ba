"""Triton's hash of itself, kept from one process to the next.

Before Triton looks for a compiled kernel in its cache it hashes its own files, 400 MB, for a third
of a second in every process: more than all else that a first product takes. The hash changes only
when a file does. So it is kept under the sizes and times of change of those files, as `make` would,
and given to Triton in place of the function that computes it. Where anything is not as expected
Triton hashes as it always did.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from mercer._machine.cache import cache_folder


def remember_key() -> None:
    """Give Triton its own hash, as computed by an earlier process; or compute and keep it."""
    from triton.runtime import cache

    path = cache_folder() / f"triton_{_stamp(Path(cache.__file__).parents[1])}.key"
    with suppress(OSError):
        key = path.read_text()
        if key.startswith(_version()):
            cache.triton_key = lambda: key
            return
    key = cache.triton_key()
    with suppress(OSError):
        temporary = path.with_suffix(f".{os.getpid()}")
        temporary.write_text(key)
        temporary.replace(path)


def _version() -> str:
    import triton

    return str(triton.__version__)


def _stamp(folder: Path) -> str:
    """A digest of the name, size and time of change of every source and library of Triton."""
    lines = sorted(f"{p} {s.st_size} {s.st_mtime_ns} {s.st_ctime_ns}" for p, s in _files(folder))
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:20]


def _files(folder: Path | str) -> Iterator[tuple[str, os.stat_result]]:
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir():
                yield from _files(entry.path)
            elif entry.name.endswith((".py", ".so", ".pyd")):
                yield entry.path, entry.stat()
