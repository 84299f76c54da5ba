"""Probabilities from decision values, by scikit-learn's own calibration."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.model_selection import StratifiedKFold

from mercer._parameters import random_from


def calibrated(model: Any, X: Any, y: np.ndarray, sample_weight: Any) -> CalibratedClassifierCV:
    """A sigmoid of the decision values, fitted on folds that the machine has not seen."""
    plain = clone(model).set_params(probability=False)
    smallest = int(np.unique(y, return_counts=True)[1].min())
    if smallest < 2:
        raise ValueError(
            "probability=True fits on held-out folds: at least 2 examples of every class are "
            f"needed, one class has {smallest}"
        )
    folds, random = min(5, smallest), model.random_state
    split: Any = folds
    if random is not None:
        split = StratifiedKFold(folds, shuffle=True, random_state=random_from(random))
    wrapped = CalibratedClassifierCV(plain, method="sigmoid", cv=split, ensemble=False)
    wrapped.fit(X, y, sample_weight=sample_weight)
    wrapped.cv = folds  # a splitter is no part of the model, and no file holds one
    return wrapped
