"""Spellings that still work: one warning that names the new one and the version that ends it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mercer._notices import warn

#: The version in which the spellings of 0.2 end.
ENDS = "0.4"


def warn_of(old: str, new: str, why: str = "") -> None:
    """Warn, at the user's line, that `old` is spelled `new`."""
    reason = f": {why}" if why else ""
    warn(f"{old} is {new} now{reason}; the old spelling ends in version {ENDS}", FutureWarning)


def modern(cls: Any, values: Mapping[str, Any], say: bool = True) -> dict[str, Any]:
    """Parameters of an estimator by their present names and values; warns of each that changed.

    `cls.former_spellings` maps a former name to the present one, and a parameter to its former
    value and the present one. None stays None, as scikit-learn wants it: learners take it for
    "auto".
    """
    former: Mapping[str, Any] = getattr(cls, "former_spellings", {})
    result: dict[str, Any] = {}
    for name, value in values.items():
        now = former.get(name, name)
        new = now if isinstance(now, str) else name
        change: Any = former.get(new)
        kind = isinstance(change, tuple) and type(value) is type(change[0])
        instead = change[1] if kind and value == change[0] else value
        result[new] = value if value is None else instead
        if say and (new != name or instead is not value):
            warn_of(f"{cls.__name__}({name}={value!r:.60})", f"{new}={instead!r:.60}")
    return result
