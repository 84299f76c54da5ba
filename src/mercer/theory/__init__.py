"""What theory says, next to what happened.

Radius and margin (`lengths`), bounds (`bounds`) and their table for a fitted model (`reports`), the
widest separator of two classes (`separation`), all separators of small data sets in the plane
(`separators`), and the lectures' derivations as functions whose lines are checked by numbers
(`derivations`).
"""

from __future__ import annotations

from mercer.theory.bounds import (
    compression_bound,
    deviation_bound,
    margin_bound,
    mistake_bound,
    regret,
)
from mercer.theory.derivations import (
    Derivation,
    Line,
    binomial_expansion,
    gaussian_series,
    monomial_table,
    ridge_dual,
    verify_expansion,
)
from mercer.theory.lengths import margin, radius, signs
from mercer.theory.reports import Report, report
from mercer.theory.separation import Separation, separability
from mercer.theory.separators import VersionSpace, fewest_errors, hebb, version_space

__all__ = [
    "Derivation", "Line", "Report", "Separation", "VersionSpace", "binomial_expansion",
    "compression_bound", "deviation_bound", "fewest_errors", "gaussian_series", "hebb", "margin",
    "margin_bound", "mistake_bound", "monomial_table", "radius", "regret", "report", "ridge_dual",
    "separability", "signs", "verify_expansion", "version_space",
]  # fmt: skip
