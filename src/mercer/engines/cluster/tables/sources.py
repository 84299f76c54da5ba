"""Which files a name, a pattern or a folder stands for, and how they are cut."""

from __future__ import annotations

import glob
from pathlib import Path
from typing import Any

from mercer.data.schema import DataError
from mercer.engines.cluster.pieces import runs

#: What the names of files that are read in chunks end in.
ENDINGS = {".parquet": "parquet", ".pq": "parquet", ".csv": "csv", ".txt": "csv", ".tsv": "tsv",
           ".tab": "tsv"}  # fmt: skip


def files_of(source: str) -> list[str]:
    """The files that a pattern, a folder or a name stands for, sorted."""
    path = Path(source)
    if path.is_dir():
        files = [str(p) for p in path.iterdir() if p.suffix in ENDINGS]
    else:
        files = glob.glob(source) or ([source] if path.exists() else [])
    if not files:
        raise FileNotFoundError(f"no file matches {source!r}")
    return sorted(files)


def kind_of(files: list[str], format: str | None = None) -> str:
    """The one format of some files, by their names."""
    kinds = {format or ENDINGS.get(Path(name.removesuffix(".gz")).suffix, "") for name in files}
    if len(kinds) == 1 and kinds <= {"csv", "tsv", "parquet"}:
        return kinds.pop()
    raise DataError(
        f"{files[0]!r} and files with it are of the formats {sorted(kinds)}: CSV, TSV and Parquet "
        "files are read in pieces, of one format at a time"
    )


def groups_of(outline: Any, rows: int) -> list[tuple[tuple[int, ...], int]]:
    """Row groups that have about `rows` rows together."""
    sizes = [outline.row_group(i).num_rows for i in range(outline.num_row_groups)]
    parts = [(tuple(range(part.start, part.stop)), sum(sizes[part])) for part in runs(sizes, rows)]
    return [(groups, size) for groups, size in parts if size]
