"""Formats of data files: `load` picks the reader by the name of the file; others can add theirs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from mercer._plugins import load_plugins
from mercer._suggest import nearest, suggest
from mercer.data.arrays import read_idx, read_libsvm, read_npz
from mercer.data.dataset import Dataset
from mercer.data.making import make
from mercer.data.schema import DataError
from mercer.data.tables import read_csv, read_parquet
from mercer.data.texts import read_fasta, read_maildir, read_mbox

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


__all__ = ["FORMATS", "Format", "guess_format", "load", "register_format"]
