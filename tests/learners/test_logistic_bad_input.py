"""What logistic regression says about senseless input, and what it does with odd input."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from mercer import Gaussian
from mercer.kernels import NegativeSquaredDistance
from mercer.learners import KernelLogisticRegression
from mercer.solvers.linear.panels import GramPanels

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 2))
y = (X[:, 0] > 0).astype(int)


def test_weights_and_classes():
    model = KernelLogisticRegression()
    with pytest.raises(ValueError, match="class_weight must be positive"):
        KernelLogisticRegression(class_weight={0: 1.0, 1: -1.0}).fit(X, y)
    with pytest.raises(ValueError, match="not be negative"):
        model.fit(X, y, sample_weight=-np.ones(40))
    with pytest.raises(ValueError, match="at least one non-zero"):
        model.fit(X, y, sample_weight=np.zeros(40))
    with pytest.raises(ValueError, match="at least 2 classes"):
        model.fit(X, np.ones(40))
    with pytest.raises(ValueError, match="at least 2 classes"):
        model.fit(X, y, sample_weight=(y == 1).astype(float))


def test_a_class_without_weight_is_no_class():
    three = y.copy()
    three[:5] = 2
    model = KernelLogisticRegression().fit(X, three, sample_weight=(three < 2).astype(float))
    assert list(model.classes_) == [0, 1]
    rest = KernelLogisticRegression().fit(X[three < 2], three[three < 2])
    np.testing.assert_allclose(model.predict_proba(X), rest.predict_proba(X), atol=1e-4)


def test_duplicates_separable_classes_and_a_tiny_penalty():
    """The optimum is finite for every α > 0, and is found."""
    twice, labels = np.vstack([X, X]), np.append(y, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        model = KernelLogisticRegression(Gaussian(1.0), 1e-8).fit(twice, labels)
    assert model.score(twice, labels) == 1.0
    assert model.objective_ < 0.01


def test_contradictory_labels_of_equal_examples():
    model = KernelLogisticRegression(Gaussian(0.1), 1e-6)
    model.fit(np.zeros((10, 1)), [0, 1, 1, 1, 1, 0, 1, 1, 1, 1])
    np.testing.assert_allclose(model.predict_proba([[0.0]]), [[0.2, 0.8]], atol=1e-4)


@pytest.mark.parametrize("labels", [y, np.arange(40) % 3])
def test_a_kernel_that_is_none_is_named_and_does_not_run_away(labels):
    with pytest.warns(UserWarning, match="not a positive semi-definite kernel"):
        model = KernelLogisticRegression(NegativeSquaredDistance(), 0.1).fit(X, labels)
    assert np.isfinite(model.dual_coef_).all()
    assert np.isfinite(model.predict_proba(X)).all()
    assert np.abs(model.dual_coef_).max() < 1e6


def test_too_few_steps_and_interruption(monkeypatch):
    with pytest.warns(ConvergenceWarning, match="max_iter=1"):
        KernelLogisticRegression(alpha=1e-4, max_iter=1).fit(X, y)
    with pytest.warns(ConvergenceWarning, match="max_iter=5"):
        KernelLogisticRegression(alpha=1e-4, solver="gradient", max_iter=5).fit(X, y)
    calls = []
    product = GramPanels.product

    def interrupted(self, V):
        calls.append(1)
        if len(calls) == 6:
            raise KeyboardInterrupt
        return product(self, V)

    monkeypatch.setattr(GramPanels, "product", interrupted)
    with pytest.warns(ConvergenceWarning, match="interrupted"):
        model = KernelLogisticRegression(alpha=1e-4).fit(X, y)
    assert model.n_iter_ >= 1
    assert model.objective_ < model.objectives_[0]
    assert model.predict(X).shape == (40,)
