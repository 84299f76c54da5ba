"""Data files in: one function a format, and `load`, which picks by the name of the file."""

from __future__ import annotations

import csv
import difflib
import gzip
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from mercer.data.dataset import Dataset, guess_task

#: The most columns a table may have.
MAX_COLUMNS = 100_000


class DataError(ValueError):
    """The file cannot be read as asked; the message says what was found and what to do."""


def load(path: str | Path, target: str | None = None, format: str | None = None) -> Dataset:
    """A data file as a `Dataset`; the format comes from the file's name unless it is given.

    csv, tsv (also .gz), parquet, libsvm, idx (images beside their labels), fasta, mbox, maildir,
    npz.
    """
    path = Path(path)
    if not path.exists():
        near = difflib.get_close_matches(path.name, _siblings(path), 1)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        raise DataError(f"there is no file {str(path)!r}.{hint}")
    name = format or guess_format(path)
    if name not in READERS:
        near = difflib.get_close_matches(name, READERS, 1)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        raise DataError(f"no reader for format {name!r}.{hint} There are: {', '.join(READERS)}.")
    if path.is_dir() and name != "maildir":
        raise DataError(f"{str(path)!r} is a folder; give a file (or a Maildir)")
    if not path.is_dir() and path.stat().st_size == 0:
        raise DataError(f"{str(path)!r} is empty")
    try:
        return READERS[name](path, target)
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
    name = path.name.lower().removesuffix(".gz")
    if path.is_dir():
        return "maildir"
    if "ubyte" in name or name.endswith(".idx"):
        return "idx"
    endings = {
        ".csv": "csv",
        ".tsv": "tsv",
        ".tab": "tsv",
        ".txt": "csv",
        ".parquet": "parquet",
        ".libsvm": "libsvm",
        ".svm": "libsvm",
        ".fasta": "fasta",
        ".fa": "fasta",
        ".mbox": "mbox",
        ".npz": "npz",
    }
    for ending, kind in endings.items():
        if name.endswith(ending):
            return kind
    raise DataError(
        f"the name {path.name!r} does not say what the file is; give the format "
        f"({', '.join(READERS)})"
    )


# --- tables ------------------------------------------------------------------------------------


def _open_text(path: Path) -> Any:
    if path.suffix == ".gz":
        return gzip.open(path, "rt", encoding="utf-8", newline="")
    return path.open(encoding="utf-8", newline="")


def read_csv(path: Path, target: str | None, separator: str | None = None) -> Dataset:
    """A table with a header line; types, missing values and categories are noticed and said."""
    import pandas as pd

    with _open_text(path) as stream:
        head = stream.read(65536)
    if not head.strip():
        raise DataError(f"{str(path)!r} holds no rows")
    if "\0" in head:
        raise DataError(f"{str(path)!r} is not a text file")
    separator = separator or _separator(head)
    first = next(csv.reader([head.splitlines()[0]], delimiter=separator))
    if len(first) > MAX_COLUMNS:
        raise DataError(f"the table has {len(first)} columns; at most {MAX_COLUMNS} are read")
    doubled = sorted({c for c in first if first.count(c) > 1})
    if doubled:
        raise DataError(f"columns with the same name: {', '.join(map(repr, doubled[:5]))}")
    frame = pd.read_csv(path, sep=separator, encoding="utf-8", skipinitialspace=True)
    return from_frame(frame, target, str(path.name))


def _separator(head: str) -> str:
    line = head.splitlines()[0]
    counts = {s: line.count(s) for s in (",", "\t", ";", "|")}
    best = max(counts, key=lambda s: counts[s])
    return best if counts[best] else ","


def from_frame(frame: Any, target: str | None, source: str) -> Dataset:
    """A DataFrame as a data set: the target taken out, what is odd about the columns said."""
    import pandas as pd

    if not len(frame):
        raise DataError(f"{source} has a header but no rows")
    notes = []
    y, task = None, None
    if target is not None:
        if target not in frame.columns:
            names = [str(c) for c in frame.columns]
            near = difflib.get_close_matches(target, names, 1, cutoff=0.4)
            hint = f"Did you mean {near[0]!r}?" if near else f"There are: {', '.join(names[:20])}."
            raise DataError(f"there is no column {target!r}. {hint}")
        missing = frame[target].isna()
        if missing.any():
            notes.append(f"{int(missing.sum())} rows without a target were left out")
            frame = frame[~missing]
        y = frame[target].to_numpy()
        if y.dtype.kind not in "biuf":
            y = y.astype(str)
        frame = frame.drop(columns=[target])
        task, why = guess_task(y)
        notes.append(f"{task}: {why}")
        if len(np.unique(y)) < 2:
            raise DataError(f"the target {target!r} takes a single value: nothing can be learnt")
    if not frame.shape[1]:
        raise DataError("there is no column beside the target")
    constant = [c for c in frame.columns if frame[c].nunique(dropna=False) <= 1]
    if constant:
        notes.append(f"constant columns left out: {', '.join(map(str, constant[:8]))}")
        frame = frame.drop(columns=constant)
    if not frame.shape[1]:
        raise DataError("every column is constant: nothing can be learnt")
    gaps = {str(c): int(frame[c].isna().sum()) for c in frame.columns if frame[c].isna().any()}
    if gaps:
        shown = ", ".join(f"{c} ({n})" for c, n in list(gaps.items())[:8])
        notes.append(f"missing values, filled in by the pipeline: {shown}")
    dates = [
        c
        for c in frame.columns
        if pd.api.types.is_datetime64_any_dtype(frame[c]) or _looks_like_dates(frame[c])
    ]
    for column in dates:
        since = pd.to_datetime(frame[column], errors="coerce") - pd.Timestamp("1970-01-01")
        frame = frame.assign(**{column: since.dt.total_seconds()})
    if dates:
        notes.append(f"dates read as seconds: {', '.join(map(str, dates[:8]))}")
    return Dataset(
        frame, y, "table", task, target, source, tuple(notes), None, tuple(map(str, frame.columns))
    )


def _looks_like_dates(series: Any) -> bool:
    import pandas as pd

    if pd.api.types.is_numeric_dtype(series):
        return False
    sample = series.dropna().astype(str).head(50)
    if not len(sample) or not sample.str.match(r"^\d{4}-\d{1,2}-\d{1,2}").all():
        return False
    return bool(pd.to_datetime(sample, errors="coerce").notna().all())


def read_parquet(path: Path, target: str | None) -> Dataset:
    import pandas as pd

    try:
        frame = pd.read_parquet(path)
    except ImportError:
        raise ImportError("Parquet files need pyarrow: pip install pyarrow") from None
    return from_frame(frame, target, path.name)


def read_npz(path: Path, target: str | None) -> Dataset:
    """Arrays X and y (or X_train and y_train) without pickled objects."""
    with np.load(path, allow_pickle=False) as arrays:
        names = list(arrays)
        key = next((k for k in ("X", "X_train", "x") if k in names), None)
        if key is None:
            raise DataError(f"an .npz file needs an array X; it has {', '.join(names[:20])}")
        X = arrays[key]
        label = target or {"X": "y", "X_train": "y_train", "x": "y"}[key]
        if target is not None and target not in names:
            raise DataError(f"there is no array {target!r}; the file has {', '.join(names[:20])}")
        y = arrays[label] if label in names else None
    shape = X.shape[1:] if X.ndim == 3 else None
    X = X.reshape(len(X), -1)
    task = None if y is None else guess_task(y)[0]
    kind = "images" if shape else "vectors"
    return Dataset(X, y, kind, task, label if y is not None else None, path.name, (), shape)


def read_libsvm(path: Path, target: str | None) -> Dataset:
    from sklearn.datasets import load_svmlight_file

    X, y = load_svmlight_file(str(path))
    task, why = guess_task(y)
    return Dataset(X, y, "vectors", task, "label", path.name, (f"{task}: {why}",))


# --- images, sequences, mail -----------------------------------------------------------------


def read_idx(path: Path, target: str | None) -> Dataset:
    """MNIST's format; labels are looked for beside the images (…images… → …labels…)."""
    X = _idx_array(path)
    if X.ndim < 2:
        raise DataError(f"{path.name} holds {X.ndim}-D numbers, not images")
    labels = path.with_name(
        path.name.replace("images", "labels").replace("idx3", "idx1").replace("idx4", "idx1")
    )
    y = _idx_array(labels) if labels != path and labels.exists() else None
    if y is not None and len(y) != len(X):
        raise DataError(f"{len(X)} images but {len(y)} labels in {labels.name}")
    notes = () if y is not None else ("no file of labels beside the images",)
    height, width = (int(X.shape[1]), int(np.prod(X.shape[2:]))) if X.ndim > 2 else (1, X.shape[1])
    task = None if y is None else "classification"
    flat = X.reshape(len(X), -1)
    return Dataset(flat, y, "images", task, "label", path.name, notes, (height, width))


_IDX_TYPES = {8: "u1", 9: "i1", 11: ">i2", 12: ">i4", 13: ">f4", 14: ">f8"}


def _idx_array(path: Path) -> np.ndarray:
    opener: Any = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rb") as stream:
        head = stream.read(4)
        if len(head) < 4 or head[:2] != b"\0\0" or head[2] not in _IDX_TYPES:
            raise DataError(f"{path.name} does not start like an IDX file")
        shape = struct.unpack(f">{head[3]}I", stream.read(4 * head[3]))
        dtype = np.dtype(_IDX_TYPES[head[2]])
        size = int(np.prod(shape, dtype=object)) * dtype.itemsize
        # Read no more than the header promises, and believe it no further than the file goes.
        data = stream.read(size + 1) if size < 2**40 else b""
    if len(data) != size:
        raise DataError(f"{path.name} promises shape {shape} but holds {len(data)} bytes")
    return np.frombuffer(data, dtype).reshape(shape)


def read_fasta(path: Path, target: str | None) -> Dataset:
    """Sequences; the label is the word after the last | or blank of the name line, if asked for."""
    names: list[str] = []
    parts: list[list[str]] = []
    with _open_text(path) as stream:
        for line in stream:
            line = line.strip()
            if line.startswith(">"):
                names.append(line[1:].strip())
                parts.append([])
            elif line and not line.startswith(";"):
                if not parts:
                    raise DataError(f"{path.name}: the first line of a FASTA file starts with >")
                parts[-1].append(line)
    if not names:
        raise DataError(f"{path.name} holds no sequence")
    y = None
    if target is not None:
        y = np.asarray([n.replace("|", " ").split()[-1] if n.split() else "" for n in names])
    task = None if y is None else "classification"
    X = ["".join(p) for p in parts]
    return Dataset(X, y, "strings", task, target, path.name, (), None, tuple(names))


def read_mbox(path: Path, target: str | None) -> Dataset:
    import mailbox

    return _messages(mailbox.mbox(str(path), create=False), path, target)


def read_maildir(path: Path, target: str | None) -> Dataset:
    """A Maildir, or a folder of Maildirs whose names are the labels."""
    import mailbox

    if (path / "cur").is_dir() or (path / "new").is_dir():
        return _messages(mailbox.Maildir(str(path), create=False), path, target)
    X: list[bytes] = []
    y: list[str] = []
    for folder in sorted(p for p in path.iterdir() if (p / "cur").is_dir()):
        part = _messages(mailbox.Maildir(str(folder), create=False), folder, None)
        X += part.X
        y += [folder.name] * len(part.X)
    if not X:
        raise DataError(f"{str(path)!r} is no Maildir and holds none")
    return Dataset(X, np.asarray(y), "mail", "classification", "folder", path.name)


def _messages(box: Any, path: Path, target: str | None) -> Dataset:
    X = [box.get_bytes(key) for key in box.iterkeys()]
    if not X:
        raise DataError(f"{str(path)!r} holds no message")
    y = None
    if target is not None:
        import email

        y = np.asarray([str(email.message_from_bytes(m).get(target, "")) for m in X])
        if len(np.unique(y)) < 2:
            raise DataError(f"the header {target!r} takes a single value: nothing can be learnt")
    task = None if y is None else "classification"
    return Dataset(X, y, "mail", task, target, path.name)


READERS: dict[str, Callable[[Path, str | None], Dataset]] = {
    "csv": read_csv,
    "tsv": lambda path, target: read_csv(path, target, "\t"),
    "parquet": read_parquet,
    "libsvm": read_libsvm,
    "idx": read_idx,
    "fasta": read_fasta,
    "mbox": read_mbox,
    "maildir": read_maildir,
    "npz": read_npz,
}
