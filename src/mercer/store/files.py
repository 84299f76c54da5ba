"""Files that are whole or not there: written beside their target, and moved when complete."""

from __future__ import annotations

import errno
import os
import secrets
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import IO, Any


def write_atomically(path: str | os.PathLike[str], write: Callable[[IO[bytes]], Any]) -> None:
    """Make the file at `path` what `write` has written, all of it, or leave it as it was.

    Neither an exception nor a full disk nor the end of the process at any moment leaves half a
    file there. (A process that is killed may leave a hidden one beside it.)

    Parameters
    ----------
    path : str or path-like
        The file.
    write : callable
        Is given an open binary file.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from mercer.store import write_atomically
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "note.txt"
    >>> write_atomically(path, lambda file: file.write(b"all of it"))
    >>> path.read_text()
    'all of it'
    """
    target = Path(os.path.realpath(path))  # a link stays one: what it points to is replaced
    if target.is_dir():
        raise IsADirectoryError(f"{path} is a folder; give the name of a file")
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


def _beside(target: Path) -> tuple[int, Path]:
    """A new file in the same folder, as public as any new file, or as the one it will replace."""
    temporary = target.with_name(f".{target.name[:40]}.{secrets.token_hex(8)}")
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
