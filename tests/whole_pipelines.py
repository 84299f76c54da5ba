"""Whole pipelines as people build them around a kernel machine, fitted: for the store and ONNX."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import (
    BaggingClassifier,
    BaggingRegressor,
    VotingClassifier,
    VotingRegressor,
)
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer, TfidfVectorizer
from sklearn.model_selection import GridSearchCV
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier
from sklearn.multioutput import MultiOutputRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    KBinsDiscretizer,
    PolynomialFeatures,
    QuantileTransformer,
    SplineTransformer,
    StandardScaler,
)

import mercer

RNG = np.random.default_rng(0)
X = RNG.normal(size=(80, 3)).round(2)  # some values are equal
Y = RNG.integers(0, 3, 80)
T = np.sin(X[:, 0])
NEW = np.vstack([2 * RNG.normal(size=(60, 3)), X[:20]])  # also beyond the training rows
WORDS = np.array(["good fine day", "bad awful night", "fine nice sun", "awful rain"] * 20, object)
MOODS = np.array(["up", "down", "up", "down"] * 20)

SVC, RIDGE = mercer.KernelSVC("gaussian(1)"), mercer.KernelRidge("gaussian(1)", alpha=0.1)
LOGISTIC = mercer.KernelLogisticRegression("gaussian(1)")
PROBABLE = mercer.KernelSVC("gaussian(1)", probability=True)


def before(step: Any) -> Callable[[], Any]:
    return lambda: make_pipeline(step, SVC).fit(X, Y)


#: What is exported, too.
EXPORTED: dict[str, Callable[[], Any]] = {
    "quantiles": before(QuantileTransformer(n_quantiles=20)),
    "polynomials": before(PolynomialFeatures(2)),
    "interactions": before(PolynomialFeatures((2, 3), interaction_only=True, include_bias=False)),
    "bins": before(KBinsDiscretizer(4)),
    "ordinal bins": before(KBinsDiscretizer(4, encode="ordinal")),
    "splines": before(SplineTransformer(n_knots=4)),
    "splines without bias": before(SplineTransformer(n_knots=5, degree=2, include_bias=False)),
    "one against the rest": lambda: OneVsRestClassifier(SVC).fit(X, Y),
    "one against the other": lambda: OneVsRestClassifier(SVC).fit(X, Y > 0),
    "votes": lambda: VotingClassifier([("a", SVC), ("b", LOGISTIC)], weights=[1, 2]).fit(X, Y),
    "soft votes": lambda: VotingClassifier(
        [("a", LOGISTIC), ("b", PROBABLE)], voting="soft", weights=[1, 2]
    ).fit(X, Y),
    "mean": lambda: VotingRegressor([("a", RIDGE), ("b", mercer.KernelSVR())]).fit(X, T),
    "bags": lambda: BaggingClassifier(SVC, n_estimators=3, random_state=0).fit(X, Y),
    "bags of columns": lambda: BaggingRegressor(
        RIDGE, n_estimators=3, random_state=0, max_features=2
    ).fit(X, T),
    "calibrated": lambda: CalibratedClassifierCV(SVC, cv=3).fit(X, Y),
    "calibrated, two classes": lambda: CalibratedClassifierCV(SVC, cv=3).fit(X, Y > 0),
    "a search": lambda: GridSearchCV(SVC, {"C": [1.0, 2.0]}, cv=3).fit(X, Y),
    "a search in a pipeline": lambda: make_pipeline(
        StandardScaler(), GridSearchCV(RIDGE, {"alpha": [1.0, 2.0]}, cv=3)
    ).fit(X, T),
    "a pipeline in a vote": lambda: VotingClassifier(
        [("a", make_pipeline(StandardScaler(), SVC)), ("b", SVC)]
    ).fit(X, Y),
}
#: What is saved, and refused by the export in a sentence that holds these words.
REFUSED: dict[str, tuple[Callable[[], Any], str]] = {
    "tf-idf": (
        lambda: make_pipeline(TfidfVectorizer(), mercer.KernelSVC("linear()")).fit(WORDS, MOODS),
        "splits text into words by a regular expression",
    ),
    "counts": (
        lambda: make_pipeline(
            CountVectorizer(ngram_range=(1, 2)), mercer.KernelSVC("linear()")
        ).fit(WORDS, MOODS),
        "mercer.save",
    ),
    "hashes": (
        lambda: make_pipeline(HashingVectorizer(n_features=64), mercer.KernelSVC("linear()")).fit(
            WORDS, MOODS
        ),
        "mercer.save",
    ),
    "normal quantiles": (
        before(QuantileTransformer(n_quantiles=20, output_distribution="normal")),
        "take 'uniform'",
    ),
    "linear splines": (
        before(SplineTransformer(n_knots=4, extrapolation="linear")),
        "take the default, 'constant'",
    ),
    "isotonic": (
        lambda: CalibratedClassifierCV(SVC, cv=3, method="isotonic").fit(X, Y),
        "take 'sigmoid'",
    ),
    "pairs": (lambda: OneVsOneClassifier(SVC).fit(X, Y), "is not a model that export knows"),
    "several targets": (
        lambda: MultiOutputRegressor(mercer.KernelSVR()).fit(X, np.c_[T, 2 * T]),
        "is not a model that export knows",
    ),
}
