"""Logits on a learned metric: of squares on centered codes, calibrated on rows left out.

They are linear in f: one expansion holds them. Kernel logistic regression on the same metric took
part once, where folds asked for it: on 20 tables it was better on 2, worse on 5 and the same on all
others, and its log-loss smaller on 4 and larger on 4.
"""

from __future__ import annotations

import numpy as np
from scipy.special import log_softmax
from sklearn.linear_model import LogisticRegression

from mercer.expansion import KernelExpansion
from mercer.learners.learned.leaves import Leaves, mapped
from mercer.maps.learned.choice import Recipe
from mercer.maps.learned.inputs import Inputs
from mercer.maps.learned.metric import roots_of
from mercer.maps.learned.rounds import coefficients, kernel_of

#: The inverse of the penalty on the weights of scores, the folds that make them, and the least
#: probability.
CALIBRATION, CALIBRATION_FOLDS, LEAST = 10.0, 5, 1e-5


def by_label(Y: np.ndarray, w: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Index, class and weight of every class of every row, of which Y has the shares."""
    shares = np.hstack([1.0 - Y, Y]) if Y.shape[1] == 1 else Y
    rows, labels = np.nonzero(shares > 0)
    return rows, labels, (w[:, None] * shares)[rows, labels]


def calibrated(scores: np.ndarray, Y: np.ndarray, w: np.ndarray) -> LogisticRegression:
    """Probabilities from scores of rows that were left out.

    A row of perfect scores per class is added, so that none is unknown.
    """
    ideal = np.eye(Y.shape[1]) if Y.shape[1] > 1 else np.array([[0.0], [1.0]])
    scores, Y, w = np.vstack([scores, ideal]), np.vstack([Y, ideal]), np.append(w, ideal.any(1) | 1)
    rows, labels, shares = by_label(Y, w)
    model = LogisticRegression(C=CALIBRATION, max_iter=1000)
    return model.fit(scores[rows], labels, sample_weight=shares)


def held_out_scores(recipe: Recipe, X: np.ndarray, Y: np.ndarray, w: np.ndarray) -> np.ndarray:
    """Scores of squares, of folds that learned the metric without their rows."""
    scores, fold = np.empty_like(Y), np.arange(len(X)) % min(CALIBRATION_FOLDS, len(X))
    for i in np.unique(fold) if len(X) > 1 else ():
        a, b = fold != i, fold == i
        inputs = Inputs.of(recipe.member.inputs, X[a], w[a])
        Z, mean = inputs(X[a]), np.average(Y[a], axis=0, weights=w[a])
        roots = roots_of(recipe, Z, Y[a] - mean, w[a])
        last = len(roots)
        kernel = kernel_of(recipe.shapes[last], roots[-1] if roots else None, Z)
        coef = coefficients(kernel, Z, Y[a] - mean, w[a], recipe.penalties[last])
        scores[b] = kernel.gram(inputs(X[b]), Z) @ coef + mean
    return scores if len(X) > 1 else Y


def log_shares(logits: np.ndarray) -> np.ndarray:
    """Log-probabilities from one logit per class, or one in all for two classes."""
    logits = logits if logits.ndim == 2 else np.stack([np.zeros(len(logits)), logits], axis=1)
    found: np.ndarray = log_softmax(logits, axis=1)
    return found


def logits_of(
    squares: KernelExpansion | Leaves, calibration: LogisticRegression
) -> KernelExpansion | Leaves:
    """One logit per class, or one in all for two classes."""
    A, b = calibration.coef_, calibration.intercept_
    f: KernelExpansion | Leaves = (
        mapped(squares, A[0], b[0]) if len(A) == 1 else mapped(squares, A, b)
    )
    return f
