"""Formats of data files: `load` picks the reader by the name of the file; others can add theirs."""

from __future__ import annotations

import struct
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from mercer._config import get_config, show_bytes
from mercer._plugins import load_plugins
from mercer._suggest import nearest, suggest
from mercer.data.dataset import Dataset, Note
from mercer.data.making import make
from mercer.data.schema import DataError
from mercer.data.tables import check_size, open_bytes, read_csv, read_parquet
from mercer.data.targets import whole_numbers
from mercer.data.texts import read_fasta, read_maildir, read_mbox

# --- Numbers: .npz archives, LIBSVM's sparse text and IDX images ----------------------------------


def read_npz(path: Path, target: str | None, columns: Any = None) -> Dataset:
    """Arrays X and y (or X_train and y_train) without pickled objects."""
    _check_npz(path)
    with np.load(path, allow_pickle=False) as arrays:
        key, label = _keys(list(arrays), target)
        X, y = arrays[key], arrays.get(label)
    if X.ndim < 2 or X.dtype.kind not in "biuf":
        raise DataError(f"{key} must hold rows of numbers; it has shape {X.shape}, type {X.dtype}")
    if X.ndim > 4 or (X.ndim == 4 and X.shape[3] > 4):
        raise DataError(f"{key} has shape {X.shape}: rows of numbers or images are expected")
    if not len(X):
        raise DataError(f"{path.name} holds no rows")
    X = X.astype(np.uint8) if X.dtype.kind == "b" else X
    if X.ndim == 2:
        return made(X, y, label, path, "vectors")
    return made(X.reshape(len(X), -1), y, label, path, "images", image_shape(X))


def _keys(names: list[str], target: str | None) -> tuple[str, str]:
    """The names of the arrays of examples and of targets."""
    key = next((k for k in ("X", "X_train", "x", "data") if k in names), None)
    if key is None:
        raise DataError(f"an .npz file needs an array X; it has {', '.join(names[:20])}")
    if target is not None and target not in names:
        raise DataError(f"there is no array {target!r}.{suggest(target, names)}")
    return key, target or {"X_train": "y_train", "data": "target"}.get(key, "y")


def image_shape(X: np.ndarray) -> tuple[int, int]:
    """Height and width; the colors of a pixel stand beside each other."""
    return int(X.shape[1]), int(np.prod(X.shape[2:]))


def made(
    X: Any,
    y: np.ndarray | None,
    target: str,
    path: Path,
    kind: str,
    shape: tuple[int, int] | None = None,
    notes: tuple[str, ...] = (),
) -> Dataset:
    """Rows and targets of a file as a data set; labels that were kept as floats become whole."""
    y = y if y is None else whole_numbers(y)
    return make(X, y, target, kind=kind, source=path.name, shape=shape, notes=notes)


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
    return made(X, y, "label", path, "vectors")


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
    notes = () if y is not None else (Note("file", "no file of labels beside the images"),)
    shape = image_shape(X) if X.ndim > 2 else (1, int(X.shape[1]))
    return made(X.reshape(len(X), -1), y, "label", path, "images", shape, notes)


_IDX_TYPES = {8: "u1", 9: "i1", 11: ">i2", 12: ">i4", 13: ">f4", 14: ">f8"}


def idx_array(path: Path) -> np.ndarray:
    # A header may claim any size: no more is read than the file holds or, if it is compressed,
    # than the memory limit allows.
    most = get_config().memory_bytes if path.suffix == ".gz" else path.stat().st_size
    with open_bytes(path) as stream:
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


#: A function of (path, target, columns).
Reader = Callable[[Path, str | None, Any], Any]


@dataclass(frozen=True)
class Format:
    """How files of one format are read, what their names end in, and whether they are tables."""

    read: Reader
    endings: tuple[str, ...] = ()
    is_table: bool = False


FORMATS = {
    "csv": Format(read_csv, (".csv", ".txt"), True),
    "tsv": Format(partial(read_csv, separator="\t"), (".tsv", ".tab"), True),
    "parquet": Format(read_parquet, (".parquet", ".pq"), True),
    "libsvm": Format(read_libsvm, (".libsvm", ".svmlight", ".svm")),
    "idx": Format(read_idx, (".idx",)),
    "fasta": Format(read_fasta, (".fasta", ".fa")),
    "mbox": Format(read_mbox, (".mbox",)),
    "maildir": Format(read_maildir),
    "npz": Format(read_npz, (".npz",)),
}


def register_format(
    name: str, read: Reader, endings: tuple[str, ...] = (), is_table: bool = False
) -> None:
    """Add a format: `load` and every command read it from now on.

    `read(path, target, columns)` gives a DataFrame with all columns (then `is_table` is True, and
    the target and the columns are picked out of it), or a `Dataset`. Errors that are no
    `DataError` are reported as a file that cannot be read.

    Parameters
    ----------
    name : str
        Of the format, as ``--format`` takes it.
    read : callable
        Reads a file: ``read(path, target, columns)``.
    endings : tuple of str
        Ends of file names that mean it.
    is_table : bool, default False
        Whether `read` gives a DataFrame with all columns.

    Examples
    --------
    >>> import pandas as pd
    >>> def read_lines(path, target, columns):
    ...     return pd.read_json(path, lines=True)
    >>> register_format("jsonl", read_lines, (".jsonl",), is_table=True)
    >>> del FORMATS["jsonl"]
    """
    if name in FORMATS:
        raise ValueError(f"there is a format {name!r} already")
    FORMATS[name] = Format(read, tuple(endings), is_table)


def load(
    path: str | Path, target: str | None = None, format: str | None = None, columns: Any = None
) -> Dataset:
    """A data file as a `Dataset`; the format comes from the file's name unless it is given.

    csv, tsv (also .gz), parquet, libsvm, idx (images beside their labels), fasta, mbox, maildir,
    npz. `columns` takes some of a table's columns only.

    Parameters
    ----------
    path : str or Path
        The file, or a folder of mail.
    target : str or None
        Name of the column, or of the header, that is to be predicted.
    format : str or None
        One of the names above; None goes by the end of the file's name.
    columns : list of str or None
        Columns of a table to take; None takes all.

    Returns
    -------
    Dataset
        The examples, the targets and what was found out about them.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from mercer import data
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "rows.csv"
    >>> _ = path.write_text("size,kind\\n1,a\\n2,b\\n3,a\\n4,b\\n")
    >>> data.load(path, target="kind").task
    'classification'
    """
    path = Path(path)
    if not path.exists():
        near = nearest(path.name, _siblings(path))
        hint = f" Did you mean {near!r}?" if near else ""
        raise DataError(f"there is no file {str(path)!r}.{hint}")
    load_plugins("formats")
    name = format or guess_format(path)
    if name not in FORMATS:
        raise DataError(f"there is no reader for format {name!r}.{suggest(name, FORMATS)}")
    if path.is_dir() and name != "maildir":
        raise DataError(f"{str(path)!r} is a folder; give a file (or a Maildir)")
    if path.is_file() and path.stat().st_size == 0:
        raise DataError(f"{str(path)!r} is empty")
    if columns is not None and not FORMATS[name].is_table:
        tables = ", ".join(n for n, known in FORMATS.items() if known.is_table)
        raise DataError(f"columns are chosen from tables ({tables}), not from {name}")
    try:
        found = FORMATS[name].read(path, target, columns)
        found = make(found, None, target, columns=columns, source=path.name)
        # New rows from a file come with the names of their columns, so that order is no matter.
        return replace(found, given=())
    except (DataError, ImportError, MemoryError):
        raise
    except UnicodeDecodeError as error:
        raise DataError(
            f"{str(path)!r} is not UTF-8 text (byte {error.start}); convert it first, "
            "e.g. iconv -f latin1 -t utf-8"
        ) from None
    except Exception as error:
        raise DataError(
            f"{str(path)!r} cannot be read as {name} ({type(error).__name__}: {error})"
        ) from error


def _siblings(path: Path) -> list[str]:
    try:
        return [p.name for p in path.parent.iterdir()][:10_000]
    except OSError:
        return []


def guess_format(path: Path) -> str:
    """The format that the name of a file tells."""
    if path.is_dir():
        return "maildir"
    name = path.name.lower().removesuffix(".gz")
    if "ubyte" in name:
        return "idx"
    for kind, known in FORMATS.items():
        if name.endswith(known.endings):
            return kind
    raise DataError(
        f"the name {path.name!r} does not say what the file is; give the format "
        f"({', '.join(FORMATS)})"
    )
