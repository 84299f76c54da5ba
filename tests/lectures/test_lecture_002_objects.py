"""Lecture 002: strokes, medical records, kernels of densities, and the scoreboard."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm
from sklearn.mixture import GaussianMixture

import mercer
from mercer import KernelNeighborsClassifier, KernelSVC
from mercer.kernels import BagOfWords, ConditionalExpectation, Gaussian, Subsequence


def test_characters_are_looked_up_by_stroke_order():
    """002, lines 361-363: strokes as letters (→ ↓ ↙ ↘), in the order of writing."""
    strokes = {"十": "rd", "土": "rdr", "大": "rab", "木": "rdab", "天": "rrab"}
    kernel = Subsequence(2, 0.5).normalized()
    model = KernelNeighborsClassifier(kernel, n_neighbors=1)
    model.fit(list(strokes.values()), list(strokes))
    assert list(model.predict(list(strokes.values()))) == list(strokes)
    # An extra stroke slipped in; the order of the others still tells.
    assert list(model.predict(["rdaab", "rrarb"])) == ["木", "天"]
    # The same strokes in another order are another character: counts alone cannot see that.
    counts = BagOfWords()
    assert counts(["r d r"], ["r r d"])[0, 0] == counts(["r d r"], ["r d r"])[0, 0]
    assert kernel(["rdr"], ["rrd"])[0, 0] < 1 - 1e-6


def test_a_medical_record_is_words_and_numbers():
    """002, lines 364-367: the physician's comments and the measurements, in one kernel."""
    rng = np.random.default_rng(0)
    n = 60
    cough, fever = rng.integers(0, 2, n).astype(bool), rng.integers(0, 2, n).astype(bool)
    words = np.where(cough, "coughs at night", "sleeps well")
    record = pd.DataFrame(
        {"comment": words, "temperature": np.where(fever, 39.2, 36.8) + 0.2 * rng.normal(size=n)}
    )
    ill = (cough & fever).astype(int)
    both = BagOfWords().on("comment").normalized() * Gaussian(0.8).on(["temperature"])
    scores = {
        name: KernelSVC(kernel, C=10.0).fit(record[:40], ill[:40]).score(record[40:], ill[40:])
        for name, kernel in {
            "both": both,
            "words": BagOfWords().on("comment"),
            "numbers": Gaussian(0.8).on(["temperature"]),
        }.items()
    }
    assert scores["both"] == 1.0
    assert max(scores["words"], scores["numbers"]) < 0.9


def test_conditional_expectation_from_a_mixture(rng, smallest_eigenvalue):
    """002, line 604: E_c[p(x|c) p(x'|c)], with p a mixture of normal densities that was learned."""
    sample = np.concatenate([rng.normal(-2, 0.5, 80), rng.normal(1, 1.0, 120)])[:, None]
    mixture = GaussianMixture(2, random_state=0).fit(sample)
    kernel = ConditionalExpectation(mixture)
    X, Z = rng.normal(size=(7, 1)), rng.normal(size=(5, 1))
    widths = np.sqrt(mixture.covariances_[:, 0, 0])
    density = [norm(m, s) for m, s in zip(mixture.means_[:, 0], widths, strict=True)]
    expected = sum(
        p * np.outer(d.pdf(X[:, 0]), d.pdf(Z[:, 0]))
        for p, d in zip(mixture.weights_, density, strict=True)
    )
    np.testing.assert_allclose(kernel(X, Z), expected, rtol=1e-9)
    assert smallest_eigenvalue(kernel(X)) > -1e-12
    assert isinstance(mercer.prove(kernel), mercer.proof.Proof)


@pytest.mark.filterwarnings("ignore")
def test_the_scoreboard_of_a_contest(circles):
    """002, lines 13-37: who did what, in how many tries and what time, and how well; the best
    first, of equals the one that keeps fewer examples or came earlier; who failed is told."""
    X, y = circles
    board = mercer.selection.compare(
        X,
        y.astype(int),
        kernels=["linear()", "polynomial(2)", "chi_squared()"],
        learners=["ridge", "svm"],
        cv=4,
        holdout=None,
    )
    means = [row.mean for row in board.rows]
    assert means == sorted(means, reverse=True)
    assert board.rows[0].mean == 1.0
    assert "polynomial" in str(board.rows[0].kernel).lower()
    linear = [row.mean for row in board.rows if "linear" in str(row.kernel).lower()]
    assert max(linear) < 0.8
    assert all(row.fit_seconds >= 0 for row in board.rows)
    assert (board.best.predict(X) == y).all()
    assert {len(row.scores) for row in board.rows} == {4}
    for ahead, behind in pairwise(board.rows):
        if (ahead.mean, ahead.spread) == (behind.mean, behind.spread):
            assert ahead.n_support <= behind.n_support
    failed = [note for note in board.notes if "was left out" in note]
    assert len(failed) == 2
    assert all("ChiSquared is defined for x ≥ 0 only" in note for note in failed)
