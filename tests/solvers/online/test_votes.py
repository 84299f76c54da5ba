"""Votes by the compiled loop are those of all predictors on the way, one after the other."""

import numpy as np
import pytest

from mercer.solvers.online.memory import RunningScores
from mercer.solvers.online.rule import Rule

RNG = np.random.default_rng(1)
ROWS, UPDATES, POINTS, VISITS = 150, 80, 40, 400


def decisions(f, ranked):
    return np.eye(f.shape[1])[f.argmax(axis=1)] if ranked else np.where(f > 0, 1.0, -1.0)


@pytest.mark.parametrize(
    ("ranked", "outputs"),
    [(True, 2), (True, 4), (True, 8), (True, 9), (True, 26), (False, 3), (False, 1)],
)
def test_votes_of_every_predictor(ranked, outputs):
    K = np.round(RNG.normal(size=(ROWS, POINTS)), 1)  # rounded, so that scores tie
    weights = RNG.integers(-1, 2, (UPDATES, outputs)).astype(float)
    if ranked:
        weights[:] = 0.0
        for row in weights:
            row[RNG.choice(outputs, 2, replace=False)] = 1.0, -1.0
    times = np.sort(RNG.choice(np.arange(1, VISITS), UPDATES, replace=False))
    columns = RNG.integers(0, POINTS, UPDATES)
    running = RunningScores(ROWS, Rule(outputs, ranked, bias=True), "vote")
    for part in (slice(0, 50), slice(50, UPDATES)):
        running.add(K, weights[part], times[part], columns[part])

    f, votes, since = np.zeros((ROWS, outputs)), np.zeros((ROWS, outputs)), 1
    for weight, time, column in zip(weights, times, columns, strict=True):
        votes += decisions(f, ranked) * (time - since)
        f, since = f + np.outer(K[:, column] + 1.0, weight), time
    votes += decisions(f, ranked) * (VISITS + 1 - since)
    np.testing.assert_array_equal(running.scores(VISITS), votes / VISITS)
