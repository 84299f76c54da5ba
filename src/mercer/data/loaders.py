"""Data files in: `load` picks the reader by the name of the file."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from mercer.data.arrays import read_idx, read_libsvm, read_npz
from mercer.data.dataset import Dataset
from mercer.data.schema import DataError
from mercer.data.tables import from_frame, read_csv, read_parquet
from mercer.data.texts import read_fasta, read_maildir, read_mbox

__all__ = ["READERS", "DataError", "from_frame", "guess_format", "load"]

READERS: dict[str, Callable[..., Dataset]] = {
    "csv": read_csv,
    "tsv": partial(read_csv, separator="\t"),
    "parquet": read_parquet,
    "libsvm": read_libsvm,
    "idx": read_idx,
    "fasta": read_fasta,
    "mbox": read_mbox,
    "maildir": read_maildir,
    "npz": read_npz,
}

_ENDINGS = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".txt": "csv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".libsvm": "libsvm",
    ".svmlight": "libsvm",
    ".svm": "libsvm",
    ".fasta": "fasta",
    ".fa": "fasta",
    ".mbox": "mbox",
    ".npz": "npz",
}
_TABLES = ("csv", "tsv", "parquet")


def load(
    path: str | Path,
    target: str | None = None,
    format: str | None = None,
    columns: Any = None,
) -> Dataset:
    """A data file as a `Dataset`; the format comes from the file's name unless it is given.

    csv, tsv (also .gz), parquet, libsvm, idx (images beside their labels), fasta, mbox, maildir,
    npz. `columns` takes some of a table's columns only.
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
    if path.is_file() and path.stat().st_size == 0:
        raise DataError(f"{str(path)!r} is empty")
    if columns is not None and name not in _TABLES:
        raise DataError(f"columns are chosen from tables ({', '.join(_TABLES)}), not from {name}")
    try:
        return READERS[name](path, target, columns)
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
    for ending, kind in _ENDINGS.items():
        if name.endswith(ending):
            return kind
    raise DataError(
        f"the name {path.name!r} does not say what the file is; give the format "
        f"({', '.join(READERS)})"
    )
