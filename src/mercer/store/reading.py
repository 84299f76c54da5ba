"""From a file to an object: nothing in the file is believed, and nothing in it is run."""

from __future__ import annotations

import hashlib
import inspect
import io
import json
import math
import os
import re
import sys
import zipfile
from collections import UserList
from pathlib import Path
from typing import Any

import numpy as np

from mercer._config import get_config, show_bytes
from mercer._deprecated import modern
from mercer._notices import MachineWarning, warn
from mercer.expansion import KernelExpansion
from mercer.formula.nodes import Formula, Input
from mercer.formula.valid import check_node
from mercer.kernels.core import Kernel
from mercer.store import names
from mercer.store.types import (
    ARRAY_KINDS,
    FORMAT,
    MAX_ARRAYS,
    MAX_DEPTH,
    MAX_HEADER,
    PLAIN,
    VERSION,
    StoreError,
)
from mercer.store.writing import library_version

#: Arrays that a kernel may make of one that it is given, its own copy among them.
COPIES = 4
#: A byte of JSON may become this many bytes of objects ("{}," is an empty dictionary).
TEXT_COST = 40
#: Times its own size that a file may become: what is shared stands in a few places of an object.
GROWTH = 64


def load(path: str | os.PathLike[str]) -> Any:
    """Read back what `save` wrote; a file that is damaged, too large or not ours is refused.

    Parameters
    ----------
    path : str or path-like
        A file that `save` wrote.

    Returns
    -------
    object
        The model, map, kernel, expansion or pipeline. It predicts the same numbers as before.

    Examples
    --------
    >>> import os, tempfile
    >>> import mercer
    >>> path = os.path.join(tempfile.mkdtemp(), "k.mercer")
    >>> mercer.save(mercer.Gaussian(2.0), path)
    >>> mercer.load(path)
    Gaussian(sigma=2.0)
    """
    path = Path(path)
    if not path.exists():
        raise FileNotFoundError(f"there is no file {path}")
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder, not a model file")
    if not path.is_file():  # a pipe would wait for ever, a device has no end
        raise StoreError(f"{path} is not a file that can be read as a whole")
    try:
        with zipfile.ZipFile(path) as archive:
            return _Reader(archive, path).read()
    except (StoreError, MemoryError):
        raise
    except PermissionError:
        raise PermissionError(f"{path} cannot be read: no permission") from None
    except zipfile.BadZipFile as error:
        raise StoreError(f"{path} is not a model file, or it is damaged: {error}") from None
    except Exception as error:
        # Whatever a broken file provokes below is the file's fault, and said as such.
        raise StoreError(
            f"{path} is damaged or not a model file ({type(error).__name__}: {error!s:.200})"
        ) from error


class _Reader:
    def __init__(self, archive: zipfile.ZipFile, path: Path) -> None:
        self._classes: dict[str, type | None] = {}
        self.archive, self.path = archive, path
        self.size = path.stat().st_size
        self.limit = self.room = get_config().memory_bytes
        self.arrays: list[np.ndarray] = []

    def refuse(self, why: str) -> StoreError:
        return StoreError(f"{self.path} is damaged or not a model file: {why}")

    def read(self) -> Any:
        # Text takes many times its size once it is objects.
        header = json.loads(self._member("header.json", min(MAX_HEADER, self.room // TEXT_COST)))
        if not isinstance(header, dict) or header.get("format") != FORMAT:
            raise self.refuse("its header is not one of this library")
        self.version = header.get("version")
        if type(self.version) is not int or not 1 <= self.version <= VERSION:
            raise StoreError(
                f"{self.path} has format version {self.version!r:.40}; this library "
                f"({library_version()}) reads versions 1 to {VERSION}. It was written by "
                f"{header.get('library', 'an unknown version')!s:.40}."
            )
        self.packages = dict(header.get("packages", {}))
        entries = self._entries(header["arrays"])
        copies = self._copies(header["object"], [entry["bytes"] for entry in entries])
        self._spend(copies)
        if copies > GROWTH * self.size:
            raise self.refuse(f"it would take {show_bytes(copies)} of memory")
        for i, entry in enumerate(entries):
            blob = self._member(f"a{i}.npy", entry["bytes"])
            if hashlib.sha256(blob).hexdigest() != entry["sha256"]:
                raise self.refuse(f"array {i} does not match its checksum")
            self.arrays.append(self._npy(blob, f"array {i}"))
        model = self.decode(header["object"], 0)
        _compare_versions(header.get("scikit-learn"), self.path)
        return model

    def _entries(self, entries: Any) -> list[dict[str, Any]]:
        """The list of arrays, after a look at what they claim to need together."""
        if not isinstance(entries, list) or len(entries) > MAX_ARRAYS:
            raise self.refuse("the list of arrays is not plausible")
        sizes = [entry["bytes"] for entry in entries]
        if not all(isinstance(n, int) and n >= 0 for n in sizes):
            raise self.refuse("an array has no plausible size")
        self._spend(sum(sizes))
        if sum(sizes) > self.size:
            raise self.refuse(f"its arrays claim {show_bytes(sum(sizes))}, more than it holds")
        return entries

    def _copies(self, root: Any, sizes: list[int]) -> int:
        """Bytes of all copies of arrays that decoding makes: a file may name one array many times.

        Byte strings, tables and sparse matrices copy what they are made of. Kernels and expansions
        are built as by hand, with all their checks, and copy their arrays more than once.
        """

        def named(items: Any) -> int:
            found = [item.get("array") if isinstance(item, dict) else item for item in items]
            return sum(sizes[_position(i)] for i in found if i is not None)

        total, waiting = 0, [root]
        while waiting:
            node = waiting.pop()
            if isinstance(node, list):
                waiting += node
            elif isinstance(node, dict):
                kind, inside = next(iter(node.items()), ("", None))
                if kind in ("bytes", "series"):
                    total += named([inside])
                elif kind in ("csr", "frame"):
                    total += 2 * named(inside)
                elif kind == "object" and issubclass(self._find(inside), (Kernel, KernelExpansion)):
                    values = [v for v in node["state"].values() if isinstance(v, dict)]
                    total += COPIES * named(values)
                waiting += node.values()
        return total

    def _spend(self, n: int) -> None:
        """Before memory is taken: an error where it would be more than the limit."""
        self.room -= n
        if self.room < 0:
            raise MemoryError(
                f"{self.path} needs {show_bytes(n)} more than the memory limit of "
                f"{show_bytes(self.limit)} leaves. Raise it with "
                "mercer.set_config(memory=…), if you trust the file."
            )

    def _npy(self, blob: bytes, name: str) -> np.ndarray:
        """An .npy file whose header promises exactly what follows it."""
        stream = io.BytesIO(blob)
        version = np.lib.format.read_magic(stream)
        if version != (1, 0):
            raise self.refuse(f"{name} is of another format")
        shape, fortran, dtype = np.lib.format.read_array_header_1_0(stream)
        if dtype.kind not in ARRAY_KINDS or dtype.names is not None or not dtype.itemsize:
            raise self.refuse(f"{name} holds {dtype!s:.40}, which a model file cannot")
        if any(n < 0 for n in shape):
            raise self.refuse(f"{name} has a negative length")
        start, count = stream.tell(), math.prod(shape)
        if count * dtype.itemsize != len(blob) - start:
            raise self.refuse(f"{name} promises shape {shape!s:.60} but has {len(blob)} bytes")
        flat = np.frombuffer(blob, dtype, count, start) if count else np.empty(0, dtype)
        return flat.reshape(shape, order="F" if fortran else "C").copy("K")

    def _member(self, name: str, most: int) -> bytes:
        try:
            info = self.archive.getinfo(name)
        except KeyError:
            raise self.refuse(f"{name} is missing") from None
        if info.compress_type != zipfile.ZIP_STORED or info.file_size != info.compress_size:
            raise self.refuse(f"{name} is compressed, which this format never is")
        if info.file_size > most or info.file_size > self.size:
            raise self.refuse(f"{name} claims {show_bytes(info.file_size)}")
        return self.archive.read(name)

    def decode(self, node: Any, depth: int) -> Any:
        if depth > MAX_DEPTH:
            raise self.refuse("it is nested too deeply")
        if node is None or isinstance(node, (bool, int, float, str)):
            return node
        if isinstance(node, list):
            return [self.decode(item, depth + 1) for item in node]
        if not isinstance(node, dict) or not node:
            raise self.refuse(f"unknown entry {node!r:.60}")
        kind = next(iter(node))
        rule = _DECODERS.get(kind)
        if rule is None:
            raise self.refuse(f"unknown entry {kind!r:.60}")
        return rule(self, node, depth + 1)

    def _array(self, node: dict, depth: int) -> np.ndarray:
        return self.arrays[_position(node["array"])]

    def _scalar(self, node: dict, depth: int) -> Any:
        return self.arrays[_position(node["scalar"])][()]

    def _objects(self, node: dict, depth: int) -> np.ndarray:
        items = [self.decode(item, depth) for item in node["objects"]]
        result = np.empty(len(items), dtype=object)
        for i, item in enumerate(items):  # one by one: lists of equal length are no second axis
            result[i] = item
        return result.reshape([int(n) for n in node["shape"]])

    def _csr(self, node: dict, depth: int) -> Any:
        from scipy.sparse import csr_matrix

        data, indices, indptr = (self.arrays[_position(i)] for i in node["csr"])
        if data.ndim != 1 or indices.dtype.kind not in "iu" or indptr.dtype.kind not in "iu":
            raise self.refuse("a sparse matrix has indices that are no whole numbers")
        matrix = csr_matrix((data, indices, indptr), shape=tuple(int(n) for n in node["shape"]))
        matrix.check_format(full_check=True)
        return matrix

    def _bytes(self, node: dict, depth: int) -> bytes:
        return self.arrays[_position(node["bytes"])].tobytes()

    def _set(self, items: Any, depth: int) -> list[Any]:
        return [self._key(self.decode(item, depth)) for item in items]

    def _key(self, key: Any) -> Any:
        """Huge numbers could be chosen to meet in one place of a hash table, and take for ever."""
        if isinstance(key, int) and abs(key) >= 2**62:
            raise self.refuse(f"the key {key!s:.30} is not plausible")
        return key

    def _frame(self, node: dict, depth: int) -> Any:
        import pandas as pd

        columns = [self.decode(c, depth) for c in node["frame"]]
        return pd.DataFrame(dict(zip(node["names"], columns, strict=True)))

    def _series(self, node: dict, depth: int) -> Any:
        import pandas as pd

        return pd.Series(self.decode(node["series"], depth))

    def _dict(self, node: dict, depth: int) -> dict:
        pairs = node["dict"]
        return {self._key(self.decode(k, depth)): self.decode(v, depth) for k, v in pairs}

    def _class(self, node: dict, depth: int) -> type:
        name = node["class"]
        return PLAIN[name] if name in PLAIN else self._find(name)

    def _formula(self, node: dict, depth: int) -> Formula:
        args, value = self.decode(node["parts"], depth)
        check_node(node["formula"], args, value)
        return Formula(node["formula"], args, value)

    def _spline(self, node: dict, depth: int) -> Any:
        from scipy.interpolate import BSpline

        return BSpline(*(self.decode(part, depth) for part in node["spline"]))

    def _function(self, node: dict, depth: int) -> np.ufunc:
        function = getattr(np, str(node["numpy function"]), None)
        if not isinstance(function, np.ufunc):
            raise self.refuse(f"{node['numpy function']!r:.60} is no function of NumPy")
        return function

    def _random(self, node: dict, depth: int) -> Any:
        state = self.decode(node["random"], depth)
        name, key, position = state[:3]
        # The generator's own check is not enough: it would read beyond its table.
        if name != "MT19937" or key.shape != (624,) or not 0 <= int(position) <= 624:
            raise self.refuse("the state of a random number generator is not a valid one")
        generator = np.random.RandomState()
        generator.set_state((name, key.astype(np.uint32), int(position), *state[3:]))
        return generator

    def _dtype(self, node: dict, depth: int) -> np.dtype:
        dtype = np.dtype(str(node["dtype"]))
        if dtype.kind not in ARRAY_KINDS + "O":
            raise self.refuse(f"unknown type of numbers {dtype!s:.40}")
        return dtype

    def _find(self, name: Any) -> type:
        name = str(name)
        if name not in self._classes:  # a file may name one class many times
            self._classes[name] = names.find(names.modern(name) if self.version == 1 else name)
        cls = self._classes[name]
        outside = re.fullmatch(r"((\w+)[\w.]*):([\w.]+)", name)
        if cls is None and outside and outside[2] not in names.NEVER:
            owner = self.packages.get(outside[2], outside[2])
            raise StoreError(
                f"{self.path} holds a {outside[3]:.80} of the module {outside[1]:.80}. If you "
                f"trust the file, install the package {owner!s:.80} or import that module, and "
                "load the file again"
            )
        if cls is None:
            raise self.refuse(f"it names {name!r:.80}, which a model file does not hold")
        return cls

    def _object(self, node: dict, depth: int) -> Any:
        cls = self._find(node["object"])
        state = {str(k): self.decode(v, depth) for k, v in node["state"].items()}
        if issubclass(cls, (Kernel, KernelExpansion, Input)):
            return cls(**state)  # they are values: built as by hand, with all their checks
        if any(name.startswith("__") for name in state):
            raise self.refuse(f"a {cls.__name__} has fields that no object is saved with")
        if hasattr(cls, "get_params"):
            state = modern(cls, state, say=False)
            # A parameter that came after the file was written has its default.
            known = inspect.signature(cls).parameters.values()
            since = {p.name: p.default for p in known if p.default is not p.empty}
            state = since | state
        if cls is UserList:  # columns as scikit-learn before 1.9 listed them; now a list will do
            if not isinstance(state.get("data"), list):
                raise self.refuse("a list of columns is none")
            return state["data"]
        instance: Any = object.__new__(cls)
        for name, value in state.items():
            object.__setattr__(instance, name, value)
        if hasattr(cls, "check_saved"):
            instance.check_saved()
        if cls.__name__ == "IsotonicRegression":
            instance.__setstate__(state)  # makes the function again
        return instance


def _compare_versions(written: Any, path: Path) -> None:
    """A word where preprocessing was saved under another version of scikit-learn."""
    here = getattr(sys.modules.get("sklearn"), "__version__", None)
    if isinstance(written, str) and here and written.split(".")[:2] != here.split(".")[:2]:
        warn(
            f"{path} was saved with scikit-learn {written:.20}, and this is {here}: its "
            "preprocessing may behave differently. Compare a few predictions, or fit again.",
            MachineWarning,
        )


def _position(index: Any) -> int:
    if not isinstance(index, int) or isinstance(index, bool) or index < 0:
        raise StoreError(f"{index!r} is not the number of an array")
    return index


_DECODERS: dict[str, Any] = {
    "float": lambda r, n, d: float(n["float"]),
    "float64": lambda r, n, d: np.float64(n["float64"]),
    "tuple": lambda r, n, d: tuple(r.decode(v, d) for v in n["tuple"]),
    "set": lambda r, n, d: set(r._set(n["set"], d)),
    "frozenset": lambda r, n, d: frozenset(r._set(n["frozenset"], d)),
    "slice": lambda r, n, d: slice(*(r.decode(v, d) for v in n["slice"])),
    "dtype": _Reader._dtype,
    "bytes": _Reader._bytes,
    "array": _Reader._array,
    "scalar": _Reader._scalar,
    "objects": _Reader._objects,
    "csr": _Reader._csr,
    "frame": _Reader._frame,
    "series": _Reader._series,
    "dict": _Reader._dict,
    "class": _Reader._class,
    "formula": _Reader._formula,
    "spline": _Reader._spline,
    "random": _Reader._random,
    "numpy function": _Reader._function,
    "object": _Reader._object,
}
