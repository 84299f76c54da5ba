"""Sums that outlive whoever computes them: ``config(checkpoint=folder)``.

The leaves of a sum are taken in groups of 2ᵏ, each of which is a whole branch of the fixed tree
(`tree`); the sum of a group is written when it is there, under a name made of all that it depends
on. Who asks again, in another process or of another cluster, goes on from what is there, to the
same bits. Files are written under another name and renamed: one that is there is whole.
"""

from __future__ import annotations

import hashlib
import os
import pickle
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from mercer._config import get_config
from mercer.engines.cluster.pieces import Piece
from mercer.engines.cluster.tree import tree_sum
from mercer.engines.cluster.worker import TaskSettings
from mercer.kernels.core import Kernel

#: Groups of a sum at most: as many files are there while it is computed, and one when it is done.
GROUPS = 32


class Kept:
    """The groups of one sum, and their files in the folder of the configuration."""

    def __init__(self, folder: str, calls: list[Any], add: Any) -> None:
        self.folder: Path = Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        sha = hashlib.sha256(repr(TaskSettings.now()).encode())
        for part in ([call.function, *call.args] for call in calls):
            _digest([add, *part], sha)
        self.name: str = sha.hexdigest()[:24]
        self.add: Any = add
        size = 1
        while -(-len(calls) // size) > GROUPS:
            size *= 2
        self.groups: list[list[Any]] = [calls[i : i + size] for i in range(0, len(calls), size)]

    def _path(self, part: str) -> Path:
        return self.folder / f"{self.name}-{part}.npz"

    def total(self, subtotals: Callable[[list[list[Any]]], Iterator[tuple[int, Any]]]) -> Any:
        """The sum; `subtotals` gives the sums of groups that are missing, in any order."""
        done = _read(self._path("all"))
        if done is not None:
            return done
        values = {i: _read(self._path(str(i))) for i in range(len(self.groups))}
        missing = [i for i, value in values.items() if value is None]
        for number, value in subtotals([self.groups[i] for i in missing]):
            values[missing[number]] = value
            _write(self._path(str(missing[number])), value)
        total = tree_sum((values[i] for i in range(len(self.groups))), self.add)
        _write(self._path("all"), total)
        for i in range(len(self.groups)):
            self._path(str(i)).unlink(missing_ok=True)
        return total


def kept(calls: list[Any], add: Any) -> Kept | None:
    """The checkpoint of a sum, where the configuration asks for one."""
    folder = get_config().checkpoint
    return None if folder is None or not calls else Kept(folder, calls, add)


# --- files -----------------------------------------------------------------------------------


def _write(path: Path, value: Any) -> None:
    """Arrays, or fields that hold arrays, numbers and None; by a name that appears when whole."""
    kind, arrays = "", {"": value}
    if is_dataclass(value):
        kind = f"{type(value).__module__}:{type(value).__qualname__}"
        arrays = {field.name: getattr(value, field.name) for field in fields(value)}
    entries = {f"{name}.": np.asarray(a) for name, a in arrays.items() if a is not None}
    if any(array.dtype.kind not in "biuf" for array in entries.values()):
        return  # no numbers: computed again
    entries["kind"] = np.asarray(kind)
    unfinished = path.with_suffix(f".{os.getpid()}.part")
    with unfinished.open("wb") as file:
        np.savez(file, **entries)  # type: ignore[arg-type]
    unfinished.replace(path)


def _read(path: Path) -> Any:
    """The value in a file; None where there is no file."""
    from mercer.engines.cluster import sums  # its classes are what is summed

    if not path.exists():
        return None
    with np.load(path, allow_pickle=False) as file:
        values = {name[:-1]: _plain(file[name]) for name in file.files if name != "kind"}
        kind = str(file["kind"])
    if not kind:
        return values[""]
    classes = {f"{c.__module__}:{c.__qualname__}": c for c in sums.Terms.__subclasses__()}
    if kind not in classes:
        raise ValueError(f"{str(path)!r} holds {kind}, which is no sum that Mercer knows")
    names = [field.name for field in fields(classes[kind])]
    return classes[kind](*(values.get(name) for name in names))


def _plain(array: np.ndarray) -> Any:
    return array if array.ndim else array.item()


# --- names -----------------------------------------------------------------------------------


def _digest(value: Any, sha: Any) -> None:
    """Hash a value in a form that is the same in every process."""
    if isinstance(value, Piece):
        sha.update(value.identity())
    elif isinstance(value, np.ndarray) and value.dtype.kind != "O":
        sha.update(f"{value.dtype.str}{value.shape}".encode())
        sha.update(np.ascontiguousarray(value).tobytes())
    elif isinstance(value, Kernel) and " at 0x" not in repr(value):
        sha.update(repr(value).encode())
    elif isinstance(value, partial):
        _digest([value.func, value.args, sorted(value.keywords.items())], sha)
    elif isinstance(value, (list, tuple)):
        sha.update(f"[{len(value)}".encode())
        for one in value:
            _digest(one, sha)
    elif value is None or isinstance(value, (bool, int, float, str, bytes, np.generic)):
        sha.update(repr(value).encode())
    elif getattr(value, "__qualname__", "<lambda>").isidentifier():
        sha.update(f"{value.__module__}.{value.__qualname__}".encode())
    else:
        sha.update(_pickled(value))


def _pickled(value: Any) -> bytes:
    """Pickle a function by value, where Dask has installed cloudpickle."""
    try:
        by_value = import_module("cloudpickle")
    except ImportError:
        by_value = pickle
    return bytes(by_value.dumps(value))
