"""Pictures with matplotlib. Each function takes an `ax` (or makes one) and gives it back.

Of models: `decision_regions`, `regression_curve`, `mistakes_against_bound`, `contributions`,
`calibration`, `roc`, `learning_curve`. Of kernels and data: `kernel_shape`, `gram`, `spectrum`,
`monomial_growth`, `before_and_after`.
"""

from mercer.plot.kernels import before_and_after, gram, kernel_shape, monomial_growth, spectrum
from mercer.plot.models import (
    calibration,
    contributions,
    decision_regions,
    learning_curve,
    mistakes_against_bound,
    regression_curve,
    roc,
)

__all__ = [
    "before_and_after",
    "calibration",
    "contributions",
    "decision_regions",
    "gram",
    "kernel_shape",
    "learning_curve",
    "mistakes_against_bound",
    "monomial_growth",
    "regression_curve",
    "roc",
    "spectrum",
]
