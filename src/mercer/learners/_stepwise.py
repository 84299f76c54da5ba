"""`steps()` of the learners whose solvers go step by step."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import clone

from mercer._arrays import host
from mercer._config import config
from mercer._steps import Step, recorded


class Stepwise:
    """A learner that can show what each step of its `fit` did."""

    def steps(self, X: Any, y: Any, sample_weight: Any = None) -> Iterator[Any]:
        """Every step of `fit`, told by its own loop: coefficients, b, and how far it is.

        Each has `number`, `coef` and `intercept`, shaped as the attributes after `fit`, and the
        last ones are those of `fit`. A step of "gradient" or "newton" has the `objective`, one of
        "cg" the `residual`. Solvers that take no steps are refused.
        """
        model: Any = clone(self)
        with config(device="cpu"):
            found = recorded(lambda: model.fit(host(X), y, sample_weight))
        if not found:
            raise ValueError(
                f"solver {model.solver_!r} takes no steps that could be shown: give solver="
                f"'gradient' or {'newton' if hasattr(model, 'objectives_') else 'cg'!r}"
            )
        return (model._as_fitted(step) for step in found)

    def _as_fitted(self: Any, step: Step) -> Step:
        """With coefficients as `fit` gives them."""
        b = np.reshape(host(step.intercept), np.shape(self.intercept_))
        return replace(
            step,
            coef=np.reshape(host(step.coef), self.dual_coef_.shape),
            intercept=float(b) if b.ndim == 0 else b,
        )
