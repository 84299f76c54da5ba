"""What is refused, with a word that helps, and what is used with a warning."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import mercer
from mercer import KernelPerceptron, Perceptron
from mercer.kernels import Gaussian, Linear, Similarity

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

X = np.array([[1.0, 0.5], [-1.0, 0.5], [2.0, 0.1], [-2.0, -1.0]])
Y = np.array([1, 0, 1, 0])
BOTH = [KernelPerceptron(Linear()), Perceptron()]


@pytest.mark.parametrize("model", BOTH, ids=repr)
def test_one_class(model):
    with pytest.raises(ValueError, match="at least 2 classes"):
        model.fit(X, np.ones(4))
    with pytest.raises(ValueError, match="at least 2 classes"):
        model.__class__().partial_fit(X, np.ones(4), classes=[1])


@pytest.mark.parametrize("model", BOTH, ids=repr)
def test_classes_of_a_stream(model):
    model = model.__class__()
    with pytest.raises(ValueError, match="classes must be passed"):
        model.partial_fit(X, Y)
    model.partial_fit(X, Y, classes=[0, 1])
    with pytest.raises(ValueError, match=r"new: \[.*7"):
        model.partial_fit(X, [0, 1, 7, 1])
    with pytest.raises(ValueError, match="not the same"):
        model.partial_fit(X, Y, classes=[0, 1, 2])
    model.partial_fit(X, Y)  # still usable
    assert model.n_visits_ == 8


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("model", BOTH, ids=repr)
def test_nan(model, bad):
    broken = X.copy()
    broken[1, 1] = bad
    with pytest.raises(ValueError, match=r"NaN|infin"):
        model.fit(broken, Y)
    with pytest.raises(ValueError, match=r"NaN|infin"):
        model.fit(X, np.array([0.0, 1.0, bad, 1.0]))
    with pytest.raises(ValueError, match=r"NaN|infin"):
        model.fit(X, Y).predict(broken)


def test_mixed_labels():
    with pytest.raises((TypeError, ValueError), match=r"mixture|mix|type"):
        KernelPerceptron(Linear()).fit(X, np.array([1, "a", None, 2.5], dtype=object))


@pytest.mark.parametrize(
    "options",
    [
        {"budget": 5, "averaging": "vote"},
        {"budget": 5, "averaging": "average"},
        {"budget": 5, "budget_policy": "merge"},
    ],
    ids=str,
)
def test_options_that_do_not_go_with_a_budget(options):
    with pytest.raises(ValueError, match="budget"):
        KernelPerceptron(Linear(), **options).fit(X, Y)


def test_a_kernel_of_the_wrong_type():
    with pytest.raises(TypeError, match="kernel must be"):
        KernelPerceptron(3.0).fit(X, Y)


def test_merge_says_what_it_needs():
    with pytest.raises(ValueError, match="Gaussian kernel on vectors"):
        KernelPerceptron(Linear(), budget=2, budget_policy="merge").fit(X, Y)
    model = KernelPerceptron(Gaussian(), budget=1, budget_policy="merge").fit(X, Y)
    with pytest.raises(AttributeError, match="merged"):
        model.alpha_
    with pytest.raises(AttributeError, match="budget"):
        model.counts_


def test_a_budget_takes_no_warm_start():
    with pytest.raises(ValueError, match="alpha_init"):
        KernelPerceptron(Linear(), budget=2).fit(X, Y, alpha_init=np.ones(4))


def test_precomputed():
    K = X @ X.T
    with pytest.raises(ValueError, match="square"):
        KernelPerceptron("precomputed").fit(K[:, :3], Y)
    model = KernelPerceptron("precomputed").fit(K, Y)
    with pytest.raises(ValueError, match="4"):
        model.predict(K[:, :3])
    with pytest.raises(ValueError, match="partial_fit"):
        model.partial_fit(K, Y)
    with pytest.raises(ValueError, match="needs examples"):
        KernelPerceptron("precomputed").partial_fit(K, Y, classes=[0, 1])


def test_a_kernel_that_is_none_warns_once_and_runs():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = KernelPerceptron(-1.0 * Gaussian(), epochs=1).fit(X, Y)
        for _ in range(3):
            model.partial_fit(X, Y)
    told = [w for w in caught if "positive semi-definite" in str(w.message)]
    assert len(told) == 1
    assert model.predict(X).shape == (4,)


def test_a_feature_map_that_is_none():
    with pytest.raises(TypeError, match="feature_map"):
        Perceptron(feature_map=3).fit(X, Y)
    with pytest.raises(ValueError, match="shape"):
        Perceptron(feature_map=lambda rows: rows[:, 0]).fit(X, Y)


@pytest.mark.parametrize("budget", [None, 3])
@pytest.mark.parametrize("stream", [False, True])
def test_an_interrupt_leaves_a_model_that_can_be_used(budget, stream):
    rng = np.random.default_rng(0)
    data = rng.normal(size=(60, 2))
    labels = rng.integers(0, 2, size=60)
    calls = 0

    def slow(x, z):
        nonlocal calls
        calls += 1
        if calls == 200:
            raise KeyboardInterrupt
        return float(np.exp(-((x - z) ** 2).sum()))

    model = KernelPerceptron(Similarity(slow), epochs=50, budget=budget, shuffle=False)
    start = model.fit if not stream else lambda X, y: model.partial_fit(X, y, classes=[0, 1])
    with pytest.warns(UserWarning, match="interrupted after .* visits"):
        start(data, labels)
    assert model.interrupted_
    assert 0 < model.n_visits_ < 60 * 50
    assert 0 < len(model.support_) <= model.n_mistakes_
    assert np.isfinite(model.decision_function(data)).all()
    assert model.score(data, labels) >= 0
    model.partial_fit(data, labels)
    assert not model.interrupted_


def test_overflow_is_said():
    with pytest.raises(ValueError, match="overflow"):
        Perceptron(learning_rate=1e300, epochs=3).fit(X * 1e10, Y)


def test_long_stretches_are_cut_to_the_memory_limit():
    """A limit far below N × mistakes gives the same model."""
    rng = np.random.default_rng(0)
    data = rng.integers(-3, 4, size=(600, 3)).astype(float)
    labels = rng.integers(0, 2, size=600)
    whole = KernelPerceptron(Linear(), epochs=2, shuffle=False).fit(data, labels)
    with mercer.config(memory=100_000):
        small = KernelPerceptron(Linear(), epochs=2, shuffle=False).fit(data, labels)
    np.testing.assert_array_equal(small.mistakes_, whole.mistakes_)
