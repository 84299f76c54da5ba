"""Spellings that still work: one warning that names the new one."""

from __future__ import annotations

import warnings


def warn_of(old: str, new: str, why: str = "") -> None:
    """For the caller of the function that calls this."""
    reason = f": {why}" if why else ""
    warnings.warn(f"{old} is {new} now{reason}", DeprecationWarning, stacklevel=3)
