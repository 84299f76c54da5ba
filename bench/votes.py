"""Predictions of a voted perceptron next to those of the average of the same predictors.

A vote asks every predictor on the way, one per update; the average is one of them. Minima of
interleaved rounds, over columns, classes and epochs (with more of these there are more updates).
"""

from __future__ import annotations

import warnings
from functools import partial

import numpy as np
from _harness import Row, at_most, claim, main, race

from mercer import Gaussian, KernelPerceptron
from mercer.kernels import Polynomial

#: Rows to learn from, and rows to predict.
LEARNED, ASKED = 3000, 4000
#: Columns, classes, epochs, how several classes are learned, the dtype of rows.
SHAPES = (
    (2, 2, 1, "native", "float64"),
    (2, 2, 10, "native", "float64"),
    (10, 2, 2, "native", "float64"),
    (10, 5, 5, "native", "float64"),
    (10, 5, 5, "ovr", "float64"),
    (30, 2, 10, "native", "float32"),
    (30, 26, 5, "native", "float64"),
    (120, 10, 10, "native", "float32"),
    (784, 10, 5, "native", "float32"),
)


def vote_against_average(d: int, classes: int, epochs: int, how: str, dtype: str) -> Row:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(LEARNED + ASKED, d)).astype(dtype)
    noisy = X[:, : min(d, classes)] @ rng.normal(size=(min(d, classes), classes))
    y = (noisy + 0.5 * rng.normal(size=noisy.shape)).argmax(axis=1)
    kernel = Polynomial(3) if d == 784 else Gaussian(np.sqrt(d))
    vote, average = (
        KernelPerceptron(
            kernel, epochs=epochs, averaging=averaging, multi_class=how, random_state=0
        ).fit(X[:LEARNED], y[:LEARNED])
        for averaging in ("vote", "average")
    )
    asked = X[LEARNED:]
    times = race(partial(vote.predict, asked), partial(average.predict, asked), rounds=7)
    note = f"{vote.n_mistakes_} updates on {len(vote.support_)} points; {dtype}"
    name = f"votes, {d} columns, {classes} classes ({how}), {epochs} epochs"
    return claim(name, times.ours, times.peer, at_most(3.0), note)


def measure() -> list[Row]:
    warnings.simplefilter("ignore")
    return [vote_against_average(*shape) for shape in SHAPES]


if __name__ == "__main__":
    main(measure)
