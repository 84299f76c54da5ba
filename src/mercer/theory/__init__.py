"""What theory says, next to what happened.

Radius and margin (`lengths`), bounds (`bounds`) and their table for a fitted model (`reports`), the
widest separator of two classes (`separation`), all separators of small data sets in the plane
(`separators`), and the lectures' derivations as functions whose lines are checked by numbers
(`derivations`).
"""

from __future__ import annotations

from mercer._lazy import by_name, in_stub

_WHERE = in_stub(__name__)
__all__ = sorted(_WHERE)
__getattr__ = by_name(__name__, _WHERE)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
