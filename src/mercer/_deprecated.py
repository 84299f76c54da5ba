"""Spellings that still work: one warning that names the new one."""

from __future__ import annotations

from mercer._notices import warn


def warn_of(old: str, new: str, why: str = "") -> None:
    """Warn, at the user's line, that `old` is spelled `new`."""
    reason = f": {why}" if why else ""
    warn(f"{old} is {new} now{reason}", DeprecationWarning)
