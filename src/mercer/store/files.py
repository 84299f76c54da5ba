"""Files that are whole or not there: written beside their target, and moved when complete."""

from __future__ import annotations

import errno
import glob
import os
import secrets
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

#: Seconds without a change after which an unfinished file has no living writer.
ABANDONED = 3600


def write_atomically(path: str | os.PathLike[str], write: Callable[[IO[bytes]], Any]) -> None:
    """Make the file at `path` what `write` has written, all of it, or leave it as it was.

    Neither an exception nor a full disk nor the end of the process at any moment leaves half a
    file there. (A process that is killed may leave a hidden one beside it, which a later call for
    the same path removes.) A pipe, a terminal or another device is refused, never replaced.

    Parameters
    ----------
    path : str or path-like
        The file.
    write : callable
        Is given an open binary file.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from mercer.store.files import write_atomically
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "note.txt"
    >>> write_atomically(path, lambda file: file.write(b"all of it"))
    >>> path.read_text()
    'all of it'
    """
    target = replaceable(path)
    _sweep(target)
    try:
        handle, temporary = _beside(target)
    except OSError as error:
        raise _explained(error, target, "nothing was written") from error
    try:
        with os.fdopen(handle, "wb") as stream:
            write(stream)
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(temporary, target)
    except BaseException as error:
        temporary.unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise _explained(error, target, "what was there before is unchanged") from error
        raise
    _settle(target.parent)


def replaceable(path: str | os.PathLike[str]) -> Path:
    """The file that `path` names, or will name; a link stays one: its target is replaced.

    Raises OSError for a folder, and for what is no regular file: a pipe, a terminal, a device.
    """
    if os.path.isdir(path):
        raise IsADirectoryError(f"{path} is a folder; give the name of a file")
    if os.path.exists(path) and not os.path.isfile(path):
        raise OSError(
            f"{path} is a pipe, a terminal or another device, which a file would replace for "
            "every program; give the name of a file"
        )
    return Path(os.path.realpath(path))


def _sweep(target: Path) -> None:
    """Remove what processes that were killed left when they wrote `target`."""
    for left in target.parent.glob(f"{glob.escape(_hidden(target))}{'[0-9a-f]' * 16}"):
        with suppress(OSError):
            if time.time() - left.stat().st_mtime > ABANDONED:
                left.unlink()


def _hidden(target: Path) -> str:
    """How the names of unfinished files of `target` begin."""
    return f".{target.name[:40]}."


def _beside(target: Path) -> tuple[int, Path]:
    """A new file in the same folder, as public as any new file, or as the one it will replace."""
    temporary = target.with_name(_hidden(target) + secrets.token_hex(8))
    binary = getattr(os, "O_BINARY", 0)  # Windows would change the ends of lines
    handle = os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL | binary, 0o666)
    with suppress(OSError):
        os.chmod(temporary, target.stat().st_mode & 0o777)
    return handle, temporary


def _settle(folder: Path) -> None:
    """Make the new name last through a loss of power, where the system can."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _explained(error: OSError, target: Path, state: str) -> OSError:
    """The same error, in words: what happened, and what is on the disk now."""
    if error.errno is None:
        return error
    what = {
        errno.ENOENT: f"there is no folder {target.parent}",
        errno.ENOTDIR: f"{target.parent} is not a folder",
        errno.EACCES: f"the folder {target.parent} cannot be written to",
        errno.EPERM: f"the folder {target.parent} cannot be written to",
        errno.EROFS: f"the disk of {target.parent} is read-only",
        errno.ENOSPC: f"the disk of {target.parent} is full",
        errno.EDQUOT: f"the quota on {target.parent} is used up",
        errno.EFBIG: "the file would be larger than the system allows",
        errno.ENAMETOOLONG: "the name is too long",
    }.get(error.errno, error.strerror)
    return type(error)(error.errno, f"{what}; {state}", str(target))
