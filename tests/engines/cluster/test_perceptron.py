"""The perceptron over pieces: the textbook's visits in turn, or a mixture of all pieces."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mercer
from mercer import KernelPerceptron

pytestmark = pytest.mark.filterwarnings("ignore:not converged")
RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 3))
TWO = X[:, 0] * X[:, 1] > 0
THREE = np.digitize(X[:, 0] + 0.3 * X[:, 1] ** 2, [-0.3, 0.6])


def _same(ours, whole):
    """The same mistakes in the same order, hence the same numbers to the last bit."""
    np.testing.assert_array_equal(ours.mistakes_, whole.mistakes_)
    np.testing.assert_array_equal(ours.dual_coef_, whole.dual_coef_)
    np.testing.assert_array_equal(ours.intercept_, whole.intercept_)
    np.testing.assert_array_equal(ours.alpha_, whole.alpha_)
    assert (ours.n_visits_, ours.n_iter_) == (whole.n_visits_, whole.n_iter_)
    assert [e["mistakes"] for e in ours.history_] == [e["mistakes"] for e in whole.history_]


@settings(max_examples=12, deadline=None)
@given(
    step=st.integers(30, 300),
    classes=st.sampled_from([2, 3]),
    kernel=st.sampled_from(["gaussian(1)", "poly(2)", "linear()"]),
    epochs=st.sampled_from([0.4, 1, 3]),
    averaging=st.sampled_from(["last", "average", "vote"]),
    intercept=st.booleans(),
    weighted=st.booleans(),
)
def test_pieces_in_turn_make_the_mistakes_of_one_array(
    step, classes, kernel, epochs, averaging, intercept, weighted
):
    y = TWO if classes == 2 else THREE
    options = {"epochs": epochs, "averaging": averaging, "fit_intercept": intercept}
    model = KernelPerceptron(kernel, shuffle=False, **options)
    weights = np.round(2 * RNG.uniform(size=300)) if weighted else None
    whole = model.fit(X, y, sample_weight=weights)
    kept = mercer.KernelPerceptron(kernel, shuffle=False, **options)
    ours = kept.fit(mercer.chunks(X, rows=step), y, sample_weight=weights)
    _same(ours, whole)
    np.testing.assert_allclose(ours.decision_function(X), whole.decision_function(X), atol=1e-9)
    assert len(ours.expansion_.points) == len(ours.support_)


def test_one_piece_is_shuffled_as_one_array_is():
    options = {"epochs": 3, "random_state": 0, "max_updates": 50}
    whole = KernelPerceptron("gaussian(1)", **options).fit(X, THREE)
    _same(KernelPerceptron("gaussian(1)", **options).fit(mercer.chunks(X, rows=300), THREE), whole)
    pieces = KernelPerceptron("gaussian(1)", epochs=1, random_state=0)
    pieces.fit(mercer.chunks(X, rows=100), THREE)
    order = pieces.mistakes_ // 100  # all of one piece, then all of the next
    assert len(np.flatnonzero(np.diff(order))) == 2


def test_validation_and_going_on():
    options = {"validation_fraction": 0.2, "shuffle": False, "random_state": 0, "epochs": 4}
    whole = KernelPerceptron("gaussian(1)", **options).fit(X, TWO)
    _same(KernelPerceptron("gaussian(1)", **options).fit(mercer.chunks(X, rows=70), TWO), whole)
    stream = KernelPerceptron("gaussian(1)").partial_fit(X[:150], TWO[:150], classes=[False, True])
    stream.partial_fit(mercer.chunks(X[150:], rows=60), TWO[150:])
    whole = KernelPerceptron("gaussian(1)").partial_fit(X, TWO, classes=[False, True])
    np.testing.assert_array_equal(stream.alpha_, whole.alpha_)


@pytest.mark.parametrize("y", [TWO, THREE], ids=["two", "three"])
def test_a_mixture_learns_within_its_budget_and_says_what_it_is(y):
    rows = mercer.chunks(X, rows=60)
    model = KernelPerceptron("gaussian(0.5)", epochs=20, chunks="mixed", random_state=0)
    with pytest.warns(UserWarning, match="not the textbook's sequence"):
        model.fit(rows, y)
    assert model.score(X, y) > 0.95
    assert model.n_visits_ == 300 * model.n_iter_
    small = KernelPerceptron("gaussian(0.5)", epochs=20, chunks="mixed", budget=40, random_state=0)
    with pytest.warns(UserWarning, match="not the textbook's sequence"):
        small.fit(rows, y)
    assert len(small.support_) <= 40
    assert small.score(X, y) > 0.7
    np.testing.assert_array_equal(small.expansion_.points, X[small.support_])


@pytest.mark.filterwarnings("ignore:chunks='mixed'")
def test_one_piece_mixed_is_the_textbook():
    whole = KernelPerceptron("gaussian(1)", epochs=3, shuffle=False).fit(X, THREE)
    mixed = KernelPerceptron("gaussian(1)", epochs=3, shuffle=False, chunks="mixed")
    _same(mixed.fit(mercer.chunks(X, rows=300), THREE), whole)


@pytest.mark.parametrize(
    ("options", "rows", "told"),
    [
        ({"budget": 9}, True, "chunks='mixed'"),
        ({"chunks": "mixed"}, False, "mercer.chunks"),
        ({"chunks": "mixed", "averaging": "vote"}, True, "no averaging"),
        ({"chunks": "mixed", "validation_fraction": 0.1}, True, "no validation_fraction"),
        ({"chunks": "random"}, True, "chunks"),
    ],
)
def test_what_does_not_go_together_is_said(options, rows, told):
    with pytest.raises(ValueError, match=told):
        KernelPerceptron("gaussian(1)", **options).fit(mercer.chunks(X) if rows else X, TWO)
