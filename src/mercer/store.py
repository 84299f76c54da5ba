"""Save and load: one file, arrays plus JSON, no pickle; loading never runs code from the file.

The file is a plain (uncompressed) zip: `header.json` describes the object, `a0.npy`, `a1.npy`, …
hold its arrays. The header carries the format's version and a SHA-256 of every array. A file is
written beside its destination and moved there when complete, so that a crash leaves the old one.

Only what is named in `_TYPES` comes back: kernels, maps and learners of this library, and the
preprocessing of scikit-learn that travels with them. A Python function inside a kernel is refused
unless it has a name (`mercer.kernels.register`).
"""

from __future__ import annotations

import hashlib
import importlib
import io
import json
import math
import os
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

import numpy as np

from mercer._config import get_config, show_bytes
from mercer.expansion import KernelExpansion
from mercer.formula.nodes import Formula
from mercer.gram.device import host, is_tensor
from mercer.kernels.core import Kernel

FORMAT = "mercer"
VERSION = 1
#: The header is text about arrays, not data: more than this is not one of ours.
MAX_HEADER = 64 * 2**20
MAX_DEPTH = 60
MAX_ARRAYS = 100_000

#: Where objects of a model may come from: whole packages of this library, single classes elsewhere.
_OWN = (
    "mercer.formula.inputs",
    "mercer.kernels",
    "mercer.learners",
    "mercer.maps",
    "mercer.solvers",
)
_OTHERS = {
    "mercer.data.schema": {"Schema"},
    "mercer.expansion": {"KernelExpansion"},
    "mercer.formula.nodes": {"Input"},
    "sklearn.pipeline": {"Pipeline", "FeatureUnion"},
    "sklearn.compose._column_transformer": {"ColumnTransformer", "_RemainderColsList"},
    "sklearn.impute._base": {"SimpleImputer", "MissingIndicator"},
    "sklearn.preprocessing._data": {
        "MaxAbsScaler",
        "MinMaxScaler",
        "PowerTransformer",
        "QuantileTransformer",
        "RobustScaler",
        "StandardScaler",
    },
    "sklearn.preprocessing._encoders": {"OneHotEncoder", "OrdinalEncoder"},
    "sklearn.preprocessing._label": {"LabelBinarizer", "LabelEncoder"},
    "sklearn.mixture._gaussian_mixture": {"GaussianMixture"},
    "sklearn.naive_bayes": {"BernoulliNB", "GaussianNB", "MultinomialNB"},
    "sklearn.calibration": {
        "CalibratedClassifierCV",
        "_CalibratedClassifier",
        "_SigmoidCalibration",
    },
    "sklearn.isotonic": {"IsotonicRegression"},
}


class StoreError(ValueError):
    """The object cannot be saved, or the file cannot be trusted; the message says why."""


# --- out ---------------------------------------------------------------------------------------


def save(model: Any, path: str | os.PathLike[str]) -> None:
    """Write a model to one file, atomically.

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
    writer = _Writer()
    root = writer.encode(model, type(model).__name__, 0)
    blobs = [_npy(array) for array in writer.arrays]
    header = {
        "format": FORMAT,
        "version": VERSION,
        "library": _version(),
        "object": root,
        "arrays": [{"sha256": hashlib.sha256(b).hexdigest(), "bytes": len(b)} for b in blobs],
    }
    text = json.dumps(header, ensure_ascii=False, allow_nan=False).encode()
    if len(text) > MAX_HEADER:
        raise StoreError(f"the description of the model needs {show_bytes(len(text))} of text")

    def write(stream: Any) -> None:
        with zipfile.ZipFile(stream, "w", zipfile.ZIP_STORED) as archive:
            archive.writestr("header.json", text)
            for i, blob in enumerate(blobs):
                archive.writestr(f"a{i}.npy", blob)

    write_atomically(path, write)


def write_atomically(path: Path, write: Callable[[IO[bytes]], Any]) -> None:
    """The file at `path` is what `write` has written, all of it, or what it was before."""
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as stream:
            write(stream)
            stream.flush()
            os.fsync(stream.fileno())
        # A temporary file is for its maker only; a model is as public as any new file.
        mask = os.umask(0o077)
        os.umask(mask)
        os.chmod(temporary, 0o666 & ~mask)
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def _version() -> str:
    import mercer

    return mercer.__version__


def _npy(array: np.ndarray) -> bytes:
    stream = io.BytesIO()
    np.lib.format.write_array(stream, array, allow_pickle=False)
    return stream.getvalue()


class _Writer:
    def __init__(self) -> None:
        self.arrays: list[np.ndarray] = []
        self._places: dict[int, int] = {}

    def encode(self, value: Any, where: str, depth: int) -> Any:
        """`value` as JSON; `where` names the place for errors."""
        if depth > MAX_DEPTH:
            raise StoreError(f"{where} is nested too deeply")
        if value is None or isinstance(value, (bool, str)):
            return value
        if isinstance(value, (int, np.integer)) and not isinstance(value, np.timedelta64):
            return int(value) if isinstance(value, int) else self._scalar(value)
        if isinstance(value, float):
            return value if math.isfinite(value) else {"float": repr(value)}
        if isinstance(value, np.generic):
            return self._scalar(value)
        if is_tensor(value):  # a model fitted on a GPU can be read where there is none
            return self._array(host(value), where, depth)
        if isinstance(value, np.ndarray):
            return self._array(value, where, depth)
        for kind in (list, tuple, set, frozenset):
            if type(value) is kind:
                items = sorted(value, key=repr) if kind in (set, frozenset) else value
                parts = [self.encode(v, f"{where}[{i}]", depth + 1) for i, v in enumerate(items)]
                return parts if kind is list else {kind.__name__: parts}
        if isinstance(value, np.dtype):
            return {"dtype": value.str}
        if isinstance(value, slice):
            return {"slice": [value.start, value.stop, value.step]}
        if isinstance(value, (bytes, bytearray)):
            return {"bytes": self._keep(np.frombuffer(bytes(value), dtype=np.uint8))}
        if isinstance(value, dict):
            pairs = [
                [
                    self.encode(k, f"{where} key", depth + 1),
                    self.encode(v, f"{where}[{k!r}]", depth + 1),
                ]
                for k, v in value.items()
            ]
            return {"dict": pairs}
        if hasattr(value, "tocsr"):
            return self._sparse(value.tocsr())
        if hasattr(value, "iloc"):
            return self._frame(value, where, depth)
        if isinstance(value, type):
            plain = f"{value.__module__}:{value.__qualname__}"
            return {"class": plain if plain in _PLAIN else self._name_of(value, where)}
        if isinstance(value, Formula):
            inside = [list(value.args), value.value]
            return {"formula": value.op, "parts": self.encode(inside, where, depth + 1)}
        if isinstance(value, np.random.RandomState):
            return {"random": self.encode(value.get_state(legacy=True), where, depth + 1)}
        return self._object(value, where, depth)

    def _keep(self, array: np.ndarray) -> int:
        """The number of an array; what stands in several places is written once."""
        if id(array) not in self._places:
            self._places[id(array)] = len(self.arrays)
            self.arrays.append(array)
        return self._places[id(array)]

    def _scalar(self, value: np.generic) -> dict[str, Any]:
        return {"scalar": self._keep(np.asarray(value))}

    def _array(self, array: np.ndarray, where: str, depth: int) -> dict[str, Any]:
        if array.dtype.hasobject:
            items = [self.encode(v, where, depth + 1) for v in array.ravel()]
            return {"objects": items, "shape": list(array.shape)}
        return {"array": self._keep(array)}

    def _sparse(self, matrix: Any) -> dict[str, Any]:
        parts = [self._keep(a) for a in (matrix.data, matrix.indices, matrix.indptr)]
        return {"csr": parts, "shape": list(matrix.shape)}

    def _frame(self, frame: Any, where: str, depth: int) -> dict[str, Any]:
        if frame.ndim == 1:
            return {"series": self.encode(frame.to_numpy(), where, depth + 1)}
        columns = [self.encode(frame[c].to_numpy(), f"{where}[{c!r}]", depth + 1) for c in frame]
        return {"frame": columns, "names": [str(c) for c in frame.columns]}

    def _name_of(self, cls: type, where: str) -> str:
        name = f"{cls.__module__}:{cls.__qualname__}"
        if not _allowed(cls.__module__, cls.__qualname__):
            raise StoreError(
                f"{where} is a {cls.__name__} (from {cls.__module__}), which a model file does "
                "not hold"
            )
        return name

    def _object(self, value: Any, where: str, depth: int) -> dict[str, Any]:
        cls = type(value)
        if callable(value) and not _allowed(cls.__module__, cls.__qualname__):
            raise StoreError(
                f"{where} is the Python function {getattr(value, '__name__', value)!r}: a file "
                "holds no code. Register it with mercer.kernels.register(name, function) and use "
                "the name in the kernel."
            )
        name = self._name_of(cls, where)
        state = _state(value)
        fields = {k: self.encode(v, f"{where}.{k}", depth + 1) for k, v in state.items()}
        note = {"expression": repr(value)[:2000]} if name.startswith("mercer.kernels") else {}
        return {"object": name, "state": fields, **note}


def _state(value: Any) -> dict[str, Any]:
    """Everything an object is made of; caches that can be computed again stay behind."""
    if isinstance(value, Kernel):
        return value.get_params(deep=False)
    state = dict(vars(value)) if hasattr(value, "__dict__") else {}
    for cls in type(value).__mro__:
        for slot in getattr(cls, "__slots__", ()):
            if not slot.startswith("__") and hasattr(value, slot):
                state[slot] = getattr(value, slot)
        for name, attribute in vars(cls).items():
            if type(attribute).__name__ == "cached_property":
                state.pop(name, None)
    return state


def _allowed(module: str, name: str) -> bool:
    own = any(module == p or module.startswith(p + ".") for p in _OWN)
    return (own and name.isidentifier()) or name in _OTHERS.get(module, ())


# --- in ----------------------------------------------------------------------------------------


def load(path: str | os.PathLike[str]) -> Any:
    """Read back what `save` wrote; a file that is damaged, too large or not ours is refused."""
    path = Path(path)
    if not path.exists():
        raise FileNotFoundError(f"there is no file {path}")
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder, not a model file")
    try:
        with zipfile.ZipFile(path) as archive:
            return _Reader(archive, path).read()
    except (StoreError, MemoryError):
        raise
    except zipfile.BadZipFile as error:
        raise StoreError(f"{path} is not a model file, or it is damaged: {error}") from None
    except Exception as error:
        # Whatever a broken file provokes below is the file's fault, and said as such.
        raise StoreError(
            f"{path} is damaged or not a model file ({type(error).__name__}: {error})"
        ) from error


class _Reader:
    def __init__(self, archive: zipfile.ZipFile, path: Path) -> None:
        self.archive, self.path = archive, path
        self.arrays: list[np.ndarray] = []

    def refuse(self, why: str) -> StoreError:
        return StoreError(f"{self.path} is damaged or not a model file: {why}")

    def read(self) -> Any:
        header = json.loads(self._member("header.json", MAX_HEADER))
        if not isinstance(header, dict) or header.get("format") != FORMAT:
            raise self.refuse("its header is not one of this library")
        if header.get("version") != VERSION:
            raise StoreError(
                f"{self.path} has format version {header.get('version')!r}; this library "
                f"({_version()}) reads version {VERSION}. It was written by "
                f"{header.get('library', 'an unknown version')!s:.40}."
            )
        entries = header["arrays"]
        if not isinstance(entries, list) or len(entries) > MAX_ARRAYS:
            raise self.refuse("the list of arrays is not plausible")
        limit = get_config().memory_bytes
        total = sum(int(e["bytes"]) for e in entries)
        if total > limit:
            raise MemoryError(
                f"{self.path} holds {show_bytes(total)} of arrays; the memory limit is "
                f"{show_bytes(limit)}. Raise it with mercer.config(memory=…)."
            )
        for i, entry in enumerate(entries):
            blob = self._member(f"a{i}.npy", int(entry["bytes"]))
            if hashlib.sha256(blob).hexdigest() != entry["sha256"]:
                raise self.refuse(f"array {i} does not match its checksum")
            self.arrays.append(np.lib.format.read_array(io.BytesIO(blob), allow_pickle=False))
        return self.decode(header["object"], 0)

    def _member(self, name: str, most: int) -> bytes:
        try:
            info = self.archive.getinfo(name)
        except KeyError:
            raise self.refuse(f"{name} is missing") from None
        if info.compress_type != zipfile.ZIP_STORED or info.file_size != info.compress_size:
            raise self.refuse(f"{name} is compressed, which this format never is")
        if info.file_size > most or info.file_size > self.path.stat().st_size:
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
        result[:] = items
        return result.reshape([int(n) for n in node["shape"]])

    def _csr(self, node: dict, depth: int) -> Any:
        from scipy.sparse import csr_matrix

        data, indices, indptr = (self.arrays[_position(i)] for i in node["csr"])
        matrix = csr_matrix((data, indices, indptr), shape=tuple(int(n) for n in node["shape"]))
        matrix.check_format(full_check=True)
        return matrix

    def _frame(self, node: dict, depth: int) -> Any:
        import pandas as pd

        columns = [self.decode(c, depth) for c in node["frame"]]
        return pd.DataFrame(dict(zip(node["names"], columns, strict=True)))

    def _series(self, node: dict, depth: int) -> Any:
        import pandas as pd

        return pd.Series(self.decode(node["series"], depth))

    def _dict(self, node: dict, depth: int) -> dict:
        return {self.decode(k, depth): self.decode(v, depth) for k, v in node["dict"]}

    def _class(self, node: dict, depth: int) -> type:
        name = node["class"]
        return _PLAIN[name] if name in _PLAIN else self._find(name)

    def _formula(self, node: dict, depth: int) -> Formula:
        args, value = self.decode(node["parts"], depth)
        if not all(isinstance(a, Formula) for a in args):
            raise self.refuse("a formula has parts that are none")
        return Formula(str(node["formula"]), args, value)

    def _random(self, node: dict, depth: int) -> Any:
        generator = np.random.RandomState()
        generator.set_state(self.decode(node["random"], depth))
        return generator

    def _find(self, name: str) -> type:
        module, _, qualified = str(name).partition(":")
        if not _allowed(module, qualified):
            raise self.refuse(f"it names {name!r:.80}, which a model file does not hold")
        cls = getattr(importlib.import_module(module), qualified, None)
        if not isinstance(cls, type) or cls.__module__ != module:
            raise self.refuse(f"it names {name!r:.80}, which this version does not have")
        return cls

    def _object(self, node: dict, depth: int) -> Any:
        cls = self._find(node["object"])
        state = {str(k): self.decode(v, depth) for k, v in node["state"].items()}
        if issubclass(cls, (Kernel, KernelExpansion)):
            # Kernels and expansions are values: built as by hand, with all their checks.
            return cls(**state)
        instance: Any = object.__new__(cls)
        for name, value in state.items():
            object.__setattr__(instance, name, value)
        return instance


def _position(index: Any) -> int:
    if not isinstance(index, int) or isinstance(index, bool) or index < 0:
        raise StoreError(f"{index!r} is not the number of an array")
    return index


#: Number types that stand in parameters such as ``dtype``.
_PLAIN: dict[str, type] = {
    f"{cls.__module__}:{cls.__qualname__}": cls
    for cls in (np.float32, np.float64, np.int32, np.int64, float, int, str, bool, object)
}

_DECODERS: dict[str, Any] = {
    "float": lambda r, n, d: float(n["float"]),
    "tuple": lambda r, n, d: tuple(r.decode(v, d) for v in n["tuple"]),
    "set": lambda r, n, d: {r.decode(v, d) for v in n["set"]},
    "frozenset": lambda r, n, d: frozenset(r.decode(v, d) for v in n["frozenset"]),
    "slice": lambda r, n, d: slice(*n["slice"]),
    "dtype": lambda r, n, d: np.dtype(str(n["dtype"])),
    "bytes": lambda r, n, d: r.arrays[_position(n["bytes"])].tobytes(),
    "array": _Reader._array,
    "scalar": _Reader._scalar,
    "objects": _Reader._objects,
    "csr": _Reader._csr,
    "frame": _Reader._frame,
    "series": _Reader._series,
    "dict": _Reader._dict,
    "class": _Reader._class,
    "formula": _Reader._formula,
    "random": _Reader._random,
    "object": _Reader._object,
}
