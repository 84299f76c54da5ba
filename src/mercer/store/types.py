"""The format: its version, its limits and the plain types in it, for writing and reading."""

from __future__ import annotations

import numpy as np

FORMAT = "mercer"
#: Version 1 named classes by their modules; version 2 has the names of `mercer.store.names`.
VERSION = 2
#: The header is text about arrays, not data: more than this is not one of ours.
MAX_HEADER = 64 * 2**20
MAX_DEPTH = 60
MAX_ARRAYS = 100_000
#: Kinds of numbers, text and times that arrays are made of; no objects, no records.
ARRAY_KINDS = "biufcSUmM"

#: Number types that stand in parameters such as ``dtype``.
PLAIN: dict[str, type] = {
    f"{cls.__module__}:{cls.__qualname__}": cls
    for cls in (np.float32, np.float64, np.int32, np.int64, float, int, str, bool, object)
}


class StoreError(ValueError):
    """The object cannot be saved, or the file cannot be trusted; the message says why.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import mercer
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "model.mercer"
    >>> _ = path.write_bytes(b"not a model")
    >>> try:
    ...     mercer.load(path)
    ... except mercer.store.StoreError:
    ...     print("refused")
    refused
    """
