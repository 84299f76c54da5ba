"""The weighted mean of several finalists, where that pays.

Models that err in different places err less on average. Weights are chosen on the rows that judged
the finalists, by squared errors or by the logarithms of probabilities. A mean of models takes
longer and is harder to understand than one of them, so it has to be better than chance.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.ensemble import VotingClassifier, VotingRegressor
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import LabelEncoder

from mercer.learners.probabilities import CalibratedScores, evidence
from mercer.selection.racing.entries import Data, Entry
from mercer.selection.rivals.named import Rival
from mercer.selection.rivals.trainer import RivalTrainer
from mercer.selection.scores import cross_calibrated
from mercer.selection.trainers.base import Outcome

#: Weights are multiples of one by this number; members with none are left out.
WEIGHT_STEPS = 5
WHY = "models that err in different places err less on average"


class BlendTrainer(RivalTrainer):
    """Makes the mean of candidates as they would be saved; `weights` sum to 1."""

    def __init__(self, members: Sequence[Entry], weights: Sequence[float], data: Data) -> None:
        title = " + ".join(
            f"{w:.2g} × {e.name.removesuffix(' (rival without a kernel)')}"
            for e, w in zip(members, weights, strict=True)
        )
        task = "classification" if data.classes else "regression"
        rival = Rival("blend", title, lambda *_: None, WHY, who="a blend")
        super().__init__(rival, task, data.classes)
        self.members, self.weights, self.data = list(members), list(weights), data

    def work(self, n: int) -> float:
        """Seconds, as its members have taken them."""
        return sum(e.fitted[max(e.fitted)] * e.trainer.work(n) for e in self.members)

    def final(self, kernel: Any, outcomes: Sequence[Outcome], unit: float, y: Any) -> Any:
        made = [e.trainer.final(e.kernel, e.chosen, e.unit, y) for e in self.members]
        return self._voting([self._probable(e, m) for e, m in zip(self.members, made, strict=True)])

    def fitted(self, models: Sequence[Pipeline]) -> Pipeline:
        """The mean of members that are fitted on the same rows, with the same preparation."""
        members = zip(self.members, models, strict=True)
        made = self._voting([self._probable(e, model[-1]) for e, model in members])
        made.estimators_ = [model for _, model in made.estimators]
        made.named_estimators_ = dict(made.estimators)
        if self.data.classes:
            made.classes_ = made.estimators_[0].classes_
            made.le_ = LabelEncoder().fit(made.classes_)
        return Pipeline([*models[0].steps[:-1], ("model", made)])

    def _voting(self, models: list[Any]) -> Any:
        named = [
            (e.kind + str(i), m) for i, (e, m) in enumerate(zip(self.members, models, strict=True))
        ]
        if self.data.classes:
            return VotingClassifier(named, voting="soft", weights=self.weights)
        return VotingRegressor(named, weights=self.weights)

    def _probable(self, entry: Entry, model: Any) -> Any:
        """With probabilities, from the scores of rows that judged it."""
        outcome = entry.outcomes[0]
        if not self.data.classes or outcome.probable:
            return model
        truth = self.data.y[entry.tests[0]]
        made = CalibratedScores.fitted(model, evidence(np.asarray(outcome.scores), False), truth)
        if hasattr(model, "classes_"):
            made.estimator_, made.classes_ = model, model.classes_
        return made

    def support(self, model: Any, n: int) -> int:
        return max(e.trainer.support(m, n) for e, m in self._inside(model))

    def memory(self, model: Any) -> int:
        return sum(e.trainer.memory(m) for e, m in self._inside(model))

    def _inside(self, model: Any) -> list[tuple[Entry, Any]]:
        """Members with their models, without calibrations."""
        inside = [getattr(m, "estimator_", m) for m in model.estimators_]
        return list(zip(self.members, inside, strict=True))


def blended(known: list[Entry], data: Data, index: int) -> Entry | None:
    """The mean of these candidates, all judged by the same rows, if it is better than the first;
    of classes they have scores."""
    best = known[0]
    truth = [data.y[rows] for rows in best.tests]
    said = [
        np.concatenate([_answers(o, t) for o, t in zip(e.outcomes, truth, strict=True)])
        for e in known
    ]
    whole = np.concatenate(truth)
    weights = greedy(said, whole)
    taken, mean = np.flatnonzero(weights), np.tensordot(weights, said, axes=1)
    gain = _losses(said[0], whole) - _losses(mean, whole)
    if len(taken) < 2 or gain.mean() <= gain.std() / np.sqrt(len(gain)):
        return None
    trainer = BlendTrainer([known[i] for i in taken], weights[taken].tolist(), data)
    parts = np.split(mean, np.cumsum([len(t) for t in truth])[:-1])
    outcomes = [_outcome(p, [e.outcomes[i] for e in trainer.members]) for i, p in enumerate(parts)]
    scores = [data.metric(t, o.predicted) for t, o in zip(truth, outcomes, strict=True)]
    made = replace(
        best, kernel=None, trainer=trainer, index=index, scores=scores, outcomes=outcomes,
        fitted={best.size: 1.0}, history={}, chosen=outcomes,
    )  # fmt: skip
    return made if made.mean > best.mean else None


def greedy(said: list[np.ndarray], truth: np.ndarray) -> np.ndarray:
    """Weights of answers: one after the other is added, the one that helps most, again and again.

    >>> up, down = np.array([0.2, 1.2]), np.array([-0.2, 0.8])
    >>> greedy([up, down], np.array([0.0, 1.0]))
    array([0.6, 0.4])
    """
    counts, total = np.zeros(len(said)), np.zeros_like(said[0])
    for step in range(1, WEIGHT_STEPS + 1):
        losses = [float(_losses((total + s) / step, truth).mean()) for s in said]
        best = int(np.argmin(losses))
        counts[best] += 1
        total = total + said[best]
    return counts / WEIGHT_STEPS


def _answers(outcome: Outcome, truth: np.ndarray) -> np.ndarray:
    """Numbers, or probabilities by class."""
    if outcome.scores is None:
        return outcome.predicted
    return outcome.scores if outcome.probable else cross_calibrated(outcome.scores, truth)


def _losses(said: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """Squared errors, or what the probability of the truth lacks, row by row."""
    if said.ndim == 1:
        return np.square(said - truth)
    return -np.log(np.maximum(said[np.arange(len(truth)), truth.astype(int)], 1e-6))


def _outcome(said: np.ndarray, members: list[Outcome]) -> Outcome:
    fit, predict = (sum(getattr(o, n) for o in members) for n in ("fit_seconds", "predict_seconds"))
    support, memory = max(o.n_support for o in members), sum(o.memory_bytes for o in members)
    answers, sure, scores = said, np.full(len(said), np.nan), None
    if said.ndim == 2:
        top = np.partition(said, -2, axis=1)
        answers, sure, scores = said.argmax(axis=1), top[:, -1] - top[:, -2], said
    return Outcome(answers, sure, support, fit, predict, 0, {0: 0.0}, memory, scores, True)
