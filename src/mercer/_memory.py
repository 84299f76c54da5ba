"""The memory that one result may take."""

from __future__ import annotations

from mercer._config import get_config


def memory_bytes() -> int:
    """The memory one call may take: `mercer.config(memory=...)`."""
    return get_config().memory_bytes


def fits(n_rows: int, n_features: int, n_bytes: int, instead: str) -> None:
    """Refuse, with the exact count, an output that the memory limit does not allow."""
    limit = memory_bytes()
    if n_bytes > limit:
        rows = "one row" if n_rows == 1 else f"{n_rows} rows"
        raise ValueError(
            f"to make {rows} of {n_features} features takes {_human(n_bytes)} and the limit is "
            f"{_human(limit)} (mercer.config(memory=...)). {instead}"
        )


def _human(n_bytes: int) -> str:
    for unit in ("B", "kB", "MB", "GB", "TB"):
        if n_bytes < 1000 or unit == "TB":
            return f"{n_bytes} {unit}"
        # Exact integers overflow floats where a count is absurd, so divide as integers.
        n_bytes = -(-n_bytes // 1000)
    raise AssertionError
