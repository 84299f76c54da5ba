"""Pictures with matplotlib. Each function takes an `ax` (or makes one) and gives it back.

Of models: `decision_regions`, `regression_curve`, `mistakes_against_bound`, `contributions`,
`learning_curve`. Of their errors: `confusion`, `roc`, `calibration`, `predicted_against_truth`,
`residuals`. Of kernels and data: `kernel_shape`, `gram`, `spectrum`, `monomial_growth`,
`before_and_after`.
"""

from mercer.plot.errors import calibration, confusion, predicted_against_truth, residuals, roc
from mercer.plot.kernels import before_and_after, gram, kernel_shape, monomial_growth, spectrum
from mercer.plot.models import (
    contributions,
    decision_regions,
    learning_curve,
    mistakes_against_bound,
    regression_curve,
)

__all__ = [
    "before_and_after",
    "calibration",
    "confusion",
    "contributions",
    "decision_regions",
    "gram",
    "kernel_shape",
    "learning_curve",
    "mistakes_against_bound",
    "monomial_growth",
    "predicted_against_truth",
    "regression_curve",
    "residuals",
    "roc",
    "spectrum",
]
