"""Numbers: .npz archives, LIBSVM's sparse text and IDX images."""

from __future__ import annotations

import gzip
import struct
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from mercer._config import get_config, show_bytes
from mercer.data.dataset import Dataset, guess_task
from mercer.data.schema import DataError, Schema, suggest
from mercer.data.tables import check_size


def read_npz(path: Path, target: str | None, columns: Any = None) -> Dataset:
    """Arrays X and y (or X_train and y_train) without pickled objects."""
    _check_npz(path)
    with np.load(path, allow_pickle=False) as arrays:
        names = list(arrays)
        key = next((k for k in ("X", "X_train", "x", "data") if k in names), None)
        if key is None:
            raise DataError(f"an .npz file needs an array X; it has {', '.join(names[:20])}")
        X = arrays[key]
        label = target or {"X_train": "y_train", "data": "target"}.get(key, "y")
        if target is not None and target not in names:
            hint = suggest(target, names) or f"; the file has {', '.join(names[:20])}"
            raise DataError(f"there is no array {target!r}{hint}")
        y = arrays[label] if label in names else None
    if X.ndim < 2 or X.dtype.kind not in "biuf":
        raise DataError(f"{key} must hold rows of numbers; it has shape {X.shape}, type {X.dtype}")
    if X.ndim > 4 or (X.ndim == 4 and X.shape[3] > 4):
        raise DataError(f"{key} has shape {X.shape}: rows of numbers or images are expected")
    if not len(X):
        raise DataError(f"{path.name} holds no rows")
    shape = (int(X.shape[1]), int(np.prod(X.shape[2:]))) if X.ndim > 2 else None
    X = X.reshape(len(X), -1)
    if X.dtype.kind == "b":
        X = X.astype(np.uint8)
    kind = "images" if shape else "vectors"
    return labelled(X, y, kind, label, path.name, shape)


def labelled(
    X: Any,
    y: np.ndarray | None,
    kind: str,
    target: str | None,
    source: str,
    shape: tuple[int, int] | None = None,
    notes: tuple[str, ...] = (),
) -> Dataset:
    """Rows and their targets, checked against each other."""
    sparse = hasattr(X, "tocsr")
    schema = Schema(kind, target=target if y is not None else None, shape=shape, sparse=sparse)
    if y is None:
        return Dataset(X, None, kind, None, None, source, notes, shape, (), schema)
    n = X.shape[0] if hasattr(X, "shape") else len(X)
    if y.shape == (n, 1):
        y = y[:, 0]
    if y.shape != (n,):
        raise DataError(f"{source}: {n} rows need as many targets, got shape {y.shape}")
    if y.dtype.kind == "f" and not np.isfinite(y).all():
        raise DataError(f"{source}: the target holds missing or infinite values")
    if y.dtype.kind == "f" and (y == np.round(y)).all() and np.abs(y).max() < 2**53:
        y = y.astype(np.int64)
    if len(np.unique(y)) < 2:
        raise DataError(f"{source}: the target takes a single value: nothing can be learnt")
    task, why = guess_task(y)
    said = (*notes, f"{task}: {why}")
    return Dataset(X, y, kind, task, target, source, said, shape, (), schema)


def _check_npz(path: Path) -> None:
    """No array may claim more than its part of the archive holds, nor all more than the limit."""
    limit = get_config().memory_bytes
    with zipfile.ZipFile(path) as archive:
        total = sum(info.file_size for info in archive.infolist())
        if total > limit:
            raise DataError(
                f"{path.name} unpacks to {show_bytes(total)}; the memory limit is "
                f"{show_bytes(limit)}. Raise it with mercer.set_config(memory=…)."
            )
        for info in archive.infolist():
            with archive.open(info) as stream:
                version = np.lib.format.read_magic(stream)
                read = getattr(np.lib.format, f"read_array_header_{version[0]}_0")
                shape, _, dtype = read(stream)
            if int(np.prod(shape, dtype=object)) * dtype.itemsize > info.file_size:
                raise DataError(f"{path.name}: {info.filename} claims shape {shape}, holds less")


def read_libsvm(path: Path, target: str | None, columns: Any = None) -> Dataset:
    from sklearn.datasets import load_svmlight_file

    check_size(path)
    X, y = load_svmlight_file(str(path))
    if not X.shape[0]:
        raise DataError(f"{path.name} holds no rows")
    return labelled(X, y, "vectors", "label", path.name)


def read_idx(path: Path, target: str | None, columns: Any = None) -> Dataset:
    """MNIST's format; labels are looked for beside the images (…images… → …labels…)."""
    X = idx_array(path)
    if X.ndim < 2:
        raise DataError(f"{path.name} holds {X.ndim}-D numbers, not images")
    labels = path.with_name(
        path.name.replace("images", "labels").replace("idx3", "idx1").replace("idx4", "idx1")
    )
    y = idx_array(labels) if labels != path and labels.exists() else None
    if y is not None and len(y) != len(X):
        raise DataError(f"{len(X)} images but {len(y)} labels in {labels.name}")
    notes = () if y is not None else ("no file of labels beside the images",)
    shape = (int(X.shape[1]), int(np.prod(X.shape[2:]))) if X.ndim > 2 else (1, int(X.shape[1]))
    return labelled(X.reshape(len(X), -1), y, "images", "label", path.name, shape, notes)


_IDX_TYPES = {8: "u1", 9: "i1", 11: ">i2", 12: ">i4", 13: ">f4", 14: ">f8"}


def idx_array(path: Path) -> np.ndarray:
    zipped = path.suffix == ".gz"
    opener: Any = gzip.open if zipped else open
    # Believe the header no further than the file goes, or than memory does if it is compressed.
    most = get_config().memory_bytes if zipped else path.stat().st_size
    with opener(path, "rb") as stream:
        head = stream.read(4)
        if len(head) < 4 or head[:2] != b"\0\0" or head[2] not in _IDX_TYPES:
            raise DataError(f"{path.name} does not start like an IDX file")
        lengths = stream.read(4 * head[3])
        if len(lengths) < 4 * head[3]:
            raise DataError(f"{path.name} ends within its header")
        shape = struct.unpack(f">{head[3]}I", lengths)
        dtype = np.dtype(_IDX_TYPES[head[2]])
        size = int(np.prod(shape, dtype=object)) * dtype.itemsize
        data = stream.read(size + 1) if size <= most else b""
    if len(data) != size:
        raise DataError(f"{path.name} promises shape {shape} but does not hold that many bytes")
    return np.frombuffer(data, dtype).reshape(shape).astype(dtype.newbyteorder("="), copy=False)
