"""What theory says, next to what happened.

Radius and margin, the widest separator of two classes and all separators of small data sets in the
plane (`separation`), bounds (`bounds`) and their table for a fitted model (`reports`), and the
lectures' derivations as functions whose lines are checked by numbers (`derivations`).
"""

from __future__ import annotations

from mercer._lazy import from_stub

__all__, __getattr__, __dir__ = from_stub(__name__)
