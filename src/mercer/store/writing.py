"""From an object to a file: JSON that describes it, and its arrays beside."""

from __future__ import annotations

import hashlib
import io
import json
import math
import os
import sys
import zipfile
from collections.abc import Callable, Iterator
from copy import copy
from pathlib import Path
from typing import IO, Any

import numpy as np

from mercer._arrays import host, is_tensor
from mercer._config import show_bytes
from mercer.formula.nodes import Formula
from mercer.kernels.core import Kernel
from mercer.store import names
from mercer.store.files import write_atomically
from mercer.store.types import (
    ARRAY_KINDS,
    FORMAT,
    MAX_DEPTH,
    MAX_HEADER,
    PLAIN,
    VERSION,
    StoreError,
)


def save(model: Any, path: str | os.PathLike[str]) -> None:
    """Write a model to one file, atomically.

    Parameters
    ----------
    model : learner, map, kernel, KernelExpansion or scikit-learn Pipeline
        What to keep.
    path : str or path-like
        The file; one that is there is replaced, all at once.

    Examples
    --------
    >>> import tempfile, os
    >>> import numpy as np
    >>> import mercer
    >>> f = mercer.KernelExpansion(mercer.Gaussian(2.0), np.array([[0.0], [1.0]]), np.ones(2))
    >>> path = os.path.join(tempfile.mkdtemp(), "f.mercer")
    >>> mercer.save(f, path)
    >>> mercer.load(path)(np.array([[0.0]])).round(4)
    array([1.8825])
    """
    path = Path(path)
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder; give the name of a file")
    writer = Writer()
    root = writer.encode(model, type(model).__name__, 0)
    header = {
        "format": FORMAT,
        "version": VERSION,
        "library": library_version(),
        "scikit-learn": getattr(sys.modules.get("sklearn"), "__version__", None),
        "packages": writer.packages(),
        "object": root,
        "arrays": [_entry(array) for array in writer.arrays],
    }
    text = json.dumps(header, ensure_ascii=False, allow_nan=False).encode("utf-8", "surrogatepass")
    if len(text) > MAX_HEADER:
        raise StoreError(f"the description of the model needs {show_bytes(len(text))} of text")

    def write(stream: IO[bytes]) -> None:
        with zipfile.ZipFile(stream, "w", zipfile.ZIP_STORED) as archive:
            archive.writestr("header.json", text)
            for i, array in enumerate(writer.arrays):
                with archive.open(f"a{i}.npy", "w", force_zip64=True) as member:
                    for part in _npy(array):
                        member.write(part)

    write_atomically(path, write)


def library_version() -> str:
    import mercer

    return mercer.__version__


def _npy(array: np.ndarray) -> Iterator[Any]:
    """The bytes of an .npy file: its header, then the numbers where they lie."""
    array = array if array.flags.f_contiguous else np.asarray(array, order="C")
    head = io.BytesIO()
    np.lib.format.write_array_header_1_0(head, np.lib.format.header_data_from_array_1_0(array))
    yield head.getvalue()
    array = array if array.flags.c_contiguous else array.T  # in the order they lie
    yield array.reshape(-1).view(np.uint8).data if array.size else b""


def _entry(array: np.ndarray) -> dict[str, Any]:
    digest, size = hashlib.sha256(), 0
    for part in _npy(array):
        digest.update(part)
        size += len(part)
    return {"sha256": digest.hexdigest(), "bytes": size}


class Writer:
    """An object as JSON, its arrays set aside."""

    def __init__(self) -> None:
        self.arrays: list[np.ndarray] = []
        self._places: dict[int, int] = {}
        self._outside: set[str] = set()

    def encode(self, value: Any, where: str, depth: int) -> Any:
        """`value` as JSON; `where` names the place for errors."""
        if depth > MAX_DEPTH:
            raise StoreError(f"{where} is nested too deeply")
        for cls in type(value).__mro__:
            if cls in _ENCODERS:
                return _ENCODERS[cls](self, value, where, depth + 1)
        if is_tensor(value):  # a model fitted on a GPU can be read where there is none
            return self._array(host(value), where, depth + 1)
        if hasattr(value, "tocsr"):
            return self._sparse(value.tocsr())
        if hasattr(value, "iloc"):
            return self._frame(value, where, depth + 1)
        return self._object(value, where, depth + 1)

    def packages(self) -> dict[str, str]:
        """Of classes from outside: their package, and what installs it."""
        if not self._outside:
            return {}
        from importlib.metadata import packages_distributions

        known = packages_distributions()
        return {name: known[name][0] for name in sorted(self._outside) if name in known}

    def _keep(self, array: np.ndarray) -> int:
        """The number of an array; what stands in several places is written once."""
        if id(array) not in self._places:
            self._places[id(array)] = len(self.arrays)
            self.arrays.append(array)
        return self._places[id(array)]

    def _scalar(self, value: np.generic, where: str, depth: int) -> dict[str, Any]:
        return {"scalar": self._keep(np.asarray(value))}

    def _items(self, value: Any, where: str, depth: int) -> Any:
        """Lists, tuples and sets; a class derived from one is more than its items."""
        kind = type(value)
        if kind not in _ENCODERS:
            return self._object(value, where, depth)
        items = sorted(value, key=repr) if kind in (set, frozenset) else value
        parts = [self.encode(v, f"{where}[{i}]", depth) for i, v in enumerate(items)]
        return parts if kind is list else {kind.__name__: parts}

    def _dict(self, value: dict, where: str, depth: int) -> dict[str, Any]:
        keys = [self.encode(k, f"{where} key", depth) for k in value]
        values = [self.encode(v, f"{where}[{k!r}]", depth) for k, v in value.items()]
        return {"dict": [list(pair) for pair in zip(keys, values, strict=True)]}

    def _slice(self, value: slice, where: str, depth: int) -> dict[str, Any]:
        ends = (value.start, value.stop, value.step)
        return {"slice": [self.encode(v, where, depth) for v in ends]}

    def _bytes(self, value: bytes | bytearray, where: str, depth: int) -> dict[str, Any]:
        return {"bytes": self._keep(np.frombuffer(bytes(value), dtype=np.uint8))}

    def _class(self, value: type, where: str, depth: int) -> dict[str, Any]:
        plain = f"{value.__module__}:{value.__qualname__}"
        return {"class": plain if plain in PLAIN else self._name_of(value, where)}

    def _formula(self, value: Formula, where: str, depth: int) -> dict[str, Any]:
        inside = [list(value.args), value.value]
        return {"formula": value.op, "parts": self.encode(inside, where, depth)}

    def _random(self, value: np.random.RandomState, where: str, depth: int) -> dict[str, Any]:
        return {"random": self.encode(value.get_state(legacy=True), where, depth)}

    def _array(self, array: np.ndarray, where: str, depth: int) -> dict[str, Any]:
        if array.dtype.hasobject:
            items = [self.encode(v, where, depth) for v in array.ravel()]
            return {"objects": items, "shape": list(array.shape)}
        if array.dtype.kind not in ARRAY_KINDS or not array.dtype.itemsize:
            raise StoreError(f"{where} is an array of {array.dtype}, which no model file holds")
        return {"array": self._keep(array)}

    def _sparse(self, matrix: Any) -> dict[str, Any]:
        parts = [self._keep(a) for a in (matrix.data, matrix.indices, matrix.indptr)]
        return {"csr": parts, "shape": list(matrix.shape)}

    def _frame(self, frame: Any, where: str, depth: int) -> dict[str, Any]:
        if frame.ndim == 1:
            return {"series": self.encode(frame.to_numpy(), where, depth)}
        columns = [self.encode(frame[c].to_numpy(), f"{where}[{c!r}]", depth) for c in frame]
        return {"frame": columns, "names": [str(c) for c in frame.columns]}

    def _name_of(self, cls: type, where: str) -> str:
        name = names.name_of(cls)
        if name is None:
            raise StoreError(
                f"{where} is a {cls.__name__} (from {cls.__module__}), which a model file does "
                "not hold"
            )
        if ":" in name:
            self._outside.add(name.partition(":")[0].partition(".")[0])
        return name

    def _object(self, value: Any, where: str, depth: int) -> dict[str, Any]:
        cls = type(value)
        if hasattr(value, "best_estimator_"):  # a search holds every fold it tried
            return self._object(value.best_estimator_, where, depth)
        if cls.__name__ == "BSpline" and cls.__module__.startswith("scipy."):
            parts = (value.t, value.c, value.k, value.extrapolate)
            return {"spline": [self.encode(part, where, depth) for part in parts]}
        if callable(value) and names.name_of(cls) is None:
            raise StoreError(
                f"{where} is the Python function {getattr(value, '__name__', value)!r}: a file "
                "holds no code. A function of NumPy (np.log1p, say) can be saved; one of your own "
                "in a kernel is saved by its name, mercer.kernels.register(name, function)."
            )
        name = self._name_of(cls, where)
        state = _state(value)
        if name == "sklearn.compose.make_column_selector":  # pandas knows types by their names, too
            state = {key: _type_names(part) for key, part in state.items()}
        fields = {k: self.encode(v, f"{where}.{k}", depth) for k, v in state.items()}
        note = {"expression": repr(value)[:2000]} if isinstance(value, Kernel) else {}
        return {"object": name, "state": fields, **note}


#: By class; of several bases, the first in the order of inheritance decides.
_ENCODERS: dict[type, Callable[[Writer, Any, str, int], Any]] = {
    **dict.fromkeys((type(None), bool, int, str), lambda w, v, at, d: v),
    float: lambda w, v, at, d: v if math.isfinite(v) else {"float": repr(v)},
    np.float64: lambda w, v, at, d: {"float64": repr(float(v))},  # a float with a dtype
    np.dtype: lambda w, v, at, d: {"dtype": v.str},
    **dict.fromkeys((np.generic, np.bytes_), Writer._scalar),
    np.ndarray: Writer._array,
    **dict.fromkeys((list, tuple, set, frozenset), Writer._items),
    dict: Writer._dict,
    slice: Writer._slice,
    **dict.fromkeys((bytes, bytearray), Writer._bytes),
    type: Writer._class,
    Formula: Writer._formula,
    np.random.RandomState: Writer._random,
    np.ufunc: lambda w, v, at, d: {"numpy function": v.__name__},
}


def _type_names(value: Any) -> Any:
    """Types by their names, one or a list; all else as it is."""
    if isinstance(value, (list, tuple)):
        return [_type_names(one) for one in value]
    return value.__name__ if isinstance(value, type) else value


def _state(value: Any) -> dict[str, Any]:
    """Everything an object is made of; caches that can be computed again stay behind."""
    if isinstance(value, Kernel):
        return value.get_params(deep=False)
    if type(value).__name__ == "IsotonicRegression":
        return value.__getstate__()  # type: ignore[no-any-return]  # without what can be rebuilt
    if hasattr(value, "set_callbacks"):
        value = copy(value).set_callbacks()  # scikit-learn's, which are of this process
    state = dict(vars(value)) if hasattr(value, "__dict__") else {}
    for cls in type(value).__mro__:
        for slot in getattr(cls, "__slots__", ()):
            if not slot.startswith("__") and hasattr(value, slot):
                state[slot] = getattr(value, slot)
        for name, attribute in vars(cls).items():
            if type(attribute).__name__ == "cached_property":
                state.pop(name, None)
    return state
