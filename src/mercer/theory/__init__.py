"""What theory says, next to what happened.

Bounds and margins (`bounds`), separators of small data sets in the plane (`separators`), and the
lectures' derivations as functions whose lines are checked by numbers (`derivations`).
"""

from __future__ import annotations

from mercer.theory.bounds import (
    Report,
    Separation,
    compression_bound,
    deviation_bound,
    margin,
    margin_bound,
    mistake_bound,
    radius,
    regret,
    report,
    separability,
    signs,
)
from mercer.theory.derivations import (
    Derivation,
    Line,
    binomial_expansion,
    gaussian_series,
    monomial_table,
    ridge_dual,
)
from mercer.theory.separators import VersionSpace, fewest_errors, hebb, version_space

__all__ = [
    "Derivation",
    "Line",
    "Report",
    "Separation",
    "VersionSpace",
    "binomial_expansion",
    "compression_bound",
    "deviation_bound",
    "fewest_errors",
    "gaussian_series",
    "hebb",
    "margin",
    "margin_bound",
    "mistake_bound",
    "monomial_table",
    "radius",
    "regret",
    "report",
    "ridge_dual",
    "separability",
    "signs",
    "version_space",
]
