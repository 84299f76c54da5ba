"""Sequences and mail: FASTA, mbox and Maildir."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from mercer.data.dataset import Dataset
from mercer.data.making import make
from mercer.data.schema import DataError
from mercer.data.tables import check_size, open_bytes, read_within_limit


def read_fasta(path: Path, target: str | None, columns: Any = None) -> Dataset:
    """Sequences; the label, if asked for, follows "TARGET=" in the line of the name, or is its last
    word, after a blank or a bar."""
    check_size(path)
    with open_bytes(path) as stream:
        content = read_within_limit(stream, path.name)
    records = list(fasta_records(io.BytesIO(content), f"{path.name}: "))
    if not records:
        raise DataError(f"{path.name} holds no sequence")
    names, sequences = zip(*((name.decode(), text.decode()) for name, text in records), strict=True)
    y = None
    if target is not None:
        y = np.asarray([_label(name, target) for name in names])
    return make(list(sequences), y, target, kind="strings", source=path.name, names=names)


def _label(name: str, target: str) -> str:
    """
    >>> _label("s1 kind=coding length=60", "kind"), _label("s1|coding", "kind")
    ('coding', 'coding')
    """
    words = name.replace("|", " ").split()
    marked = [w.partition("=")[2] for w in words if w.startswith(f"{target}=")]
    return (marked or words or [""])[-1]


def fasta_records(lines: Iterable[bytes], where: str = "") -> Iterator[tuple[bytes, bytes]]:
    """Names and sequences, one after the other."""
    name: bytes | None = None
    parts: list[bytes] = []
    for line in lines:
        line = line.strip()
        if line.startswith(b">"):
            if name is not None:
                yield name, b"".join(parts)
            name, parts = line[1:].strip(), []
        elif line and not line.startswith(b";"):
            if name is None:
                raise DataError(f"{where}the first line of a FASTA file starts with >")
            parts.append(line)
    if name is not None:
        yield name, b"".join(parts)


def read_mbox(path: Path, target: str | None, columns: Any = None) -> Dataset:
    """Messages of one file; the target is a header, such as X-Label."""
    import mailbox

    check_size(path)
    return _messages(mailbox.mbox(str(path), create=False), path, target)


def read_maildir(path: Path, target: str | None, columns: Any = None) -> Dataset:
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
        raise DataError(f"{str(path)!r} is a folder, but no Maildir and holds none")
    return make(X, y, "folder", kind="mail", source=path.name)


def _messages(box: Any, path: Path, target: str | None) -> Dataset:
    X = [box.get_bytes(key) for key in box.iterkeys()]
    if not X:
        raise DataError(f"{str(path)!r} holds no message")
    y = None
    if target is not None:
        import email

        y = np.asarray([str(email.message_from_bytes(m).get(target, "")) for m in X])
        if not any(y):
            raise DataError(f"no message of {path.name} has the header {target!r}")
    return make(X, y, target, kind="mail", source=path.name)
