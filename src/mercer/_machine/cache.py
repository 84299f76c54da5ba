"""The folder where generated sources and machine code are kept from one process to the next.

What lies there is run, so the folder must be the user's or the system's own: owned by them or by
root, writable by nobody else, and in folders that nobody else can replace. One that root has filled
(`mercer warm` in an image) serves everybody who can read it. A folder that is not trusted, or
neither filled nor writable, is not used; a private one takes its place until the process ends.
"""

from __future__ import annotations

import atexit
import os
import shutil
import stat
import tempfile
import threading
from pathlib import Path
from typing import Final

from mercer._notices import MachineWarning, warn

#: The environment variable that names another folder.
VARIABLE = "MERCER_CACHE"
#: The owner of what belongs to the system.
SYSTEM: Final = 0
_lock = threading.Lock()
_private: Path | None = None
_told: set[str] = set()


def cache_folder() -> Path:
    """A folder that can be trusted, and read or written; looked at anew at every call."""
    wanted = _wanted()
    if wanted is None:
        return _private_folder("there is no home folder")
    try:
        wanted.mkdir(parents=True, exist_ok=True, mode=0o755 if VARIABLE in os.environ else 0o700)
    except OSError as error:
        return _private_folder(f"{wanted} cannot be made ({error.strerror})")
    if not is_trusted(wanted):
        return _private_folder(f"{wanted} can be written to by others, or is not yours")
    filled = os.access(wanted / "machine-code", os.R_OK | os.X_OK)
    if not filled and not os.access(wanted, os.W_OK | os.X_OK):
        return _private_folder(f"{wanted} cannot be written to")
    return wanted


def is_trusted(folder: Path) -> bool:
    """Whether only this user, or the system, can change what is found under this path."""
    if not hasattr(os, "geteuid"):  # Windows: the profile of a user is their own
        return True
    try:
        resolved = folder.resolve(strict=True)
        return _is_ours(resolved) and all(_is_ours(p, shared=True) for p in resolved.parents)
    except (OSError, RuntimeError):
        return False


def _is_ours(folder: Path, shared: bool = False) -> bool:
    """Whether others write nothing here; in a `shared` parent, nothing but their own (/tmp)."""
    status = folder.lstat()
    mine = status.st_uid in (SYSTEM, os.geteuid())
    alone = not status.st_mode & 0o022 or (shared and bool(status.st_mode & stat.S_ISVTX))
    return stat.S_ISDIR(status.st_mode) and mine and alone


def _wanted() -> Path | None:
    chosen = os.environ.get(VARIABLE)
    if chosen:
        return Path(chosen)
    base = os.environ.get("XDG_CACHE_HOME")
    if base and Path(base).is_absolute():
        return Path(base) / "mercer"
    try:
        return Path.home() / ".cache" / "mercer"
    except RuntimeError:  # no HOME, and no entry for this user
        return None


def _private_folder(why: str) -> Path:
    """A folder of this process, removed when it ends; said once for each reason."""
    global _private
    with _lock:
        if _private is None or not _private.is_dir():
            _private = Path(tempfile.mkdtemp(prefix="mercer-"))
            atexit.register(shutil.rmtree, _private, ignore_errors=True)
        if why not in _told:
            _told.add(why)
            warn(
                f"compiled code is not kept: {why}. Every process compiles anew; set {VARIABLE} "
                "to a folder of your own to change that.",
                MachineWarning,
            )
        return _private
