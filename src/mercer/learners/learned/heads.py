"""Logits on a learned metric: of squares, calibrated, of logistic regression, or their mean.

Squares of centered codes are best where classes hardly overlap, the log-loss where they do. Folds
that learned the metric without their rows calibrate the scores of the one, choose the penalty of
the other, and say how much each counts. All are linear in f: one expansion holds the logits.
"""

from __future__ import annotations

import numpy as np
from scipy.special import log_softmax
from sklearn.linear_model import LogisticRegression

from mercer.expansion import KernelExpansion
from mercer.learners.learned.leaves import Leaves, mapped
from mercer.learners.logistic import KernelLogisticRegression
from mercer.maps.learned.choice import Recipe
from mercer.maps.learned.inputs import Inputs
from mercer.maps.learned.metric import roots_of
from mercer.maps.learned.rounds import coefficients, kernel_of

#: Penalties of logistic regression, of which the three near that of squares are tried, and how much
#: it may count; for more rows than the last number, squares only.
PENALTIES, SHARES, MOST_ROWS = 10.0 ** np.arange(-5.0, 1.0), (0.5, 1.0), 4000
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
    squares: KernelExpansion | Leaves,
    calibration: LogisticRegression,
    Y: np.ndarray,
    w: np.ndarray,
    share: float,
    penalty: float,
) -> KernelExpansion | Leaves:
    """One logit per class, or one in all for two classes; `share` of them are of the log-loss."""
    A, b = calibration.coef_, calibration.intercept_
    f: KernelExpansion | Leaves = mapped(squares, A, b)
    if share and isinstance(f, KernelExpansion) and len(f) == len(Y):
        rows, labels, shares = by_label(Y, w)
        logistic = KernelLogisticRegression(f.kernel, alpha=penalty)
        logistic.fit(f.points[rows], labels, sample_weight=shares)
        other = np.zeros_like(f.coef)
        np.add.at(other, rows, logistic.dual_coef_.reshape(len(rows), -1))
        coef = (1.0 - share) * f.coef + share * other
        b = (1.0 - share) * f.intercept + share * logistic.intercept_
        f = KernelExpansion(f.kernel, f.points, coef, b)
    if len(A) == 1:
        f = mapped(f, np.ones(1), 0.0)
    return f


def chosen_share(recipe: Recipe, n: int) -> tuple[float, float]:
    """How much logistic regression counts beside squares, and its penalty: least on the folds."""
    if len(recipe.folds) < 2 or n > MOST_ROWS:
        return 0.0, 0.0
    parts, guesses = [], []
    for part, fitted in recipe.folds:
        Z, T = part.inputs(recipe.member.inputs)
        rows, labels, shares = by_label(part.Y, part.w)
        if len(np.unique(labels)) < 2:
            return 0.0, 0.0
        cross = np.asarray(fitted.kernel.gram(T, Z).dense())
        guesses.append(cross @ fitted.coef + np.average(part.Y, axis=0, weights=part.w))
        parts.append((np.asarray(fitted.kernel(Z[rows])), cross[:, rows], labels, shares))
    Y, w = (np.concatenate([part.judge[i] for part, _ in recipe.folds]) for i in (1, 2))
    scores, (rows, truth, weights) = np.vstack(guesses), by_label(Y, w)
    squares = log_shares(calibrated(scores, Y, w).decision_function(scores))

    def loss(logits: np.ndarray) -> float:
        """The mean log-loss on the folds."""
        said = np.maximum(log_shares(logits)[rows, truth], np.log(LEAST))
        return -float(np.average(said, weights=weights))

    def logistic(penalty: float) -> np.ndarray:
        """Log-probabilities of logistic regression on the folds."""
        said = []
        for K, cross, labels, shares in parts:
            model = KernelLogisticRegression("precomputed", alpha=penalty)
            model.fit(K, labels, sample_weight=shares)
            one = np.full((len(cross), squares.shape[1]), np.log(LEAST))
            one[:, model.classes_] = log_shares(model.decision_function(cross))
            said.append(one)
        return np.vstack(said)

    near = int(np.abs(np.log(PENALTIES / recipe.penalties[-1])).argmin())
    tried = [(loss(squares), 0.0, 0.0)]
    for penalty in PENALTIES[max(0, near - 1) : near + 2].tolist():
        said = logistic(penalty)
        tried += [(loss((1 - s) * squares + s * said), s, penalty) for s in SHARES]
    return min(tried)[1:]
