"""Radius, margin, separability and bounds, against scikit-learn's hard margin and by hand."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.svm import SVC

from mercer import Gaussian, KernelExpansion, KernelPerceptron, Linear, Polynomial, Sigmoid, theory


def blobs(seed, gap, n=30, d=2):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    y = np.where(np.arange(n) % 2, 1, -1)
    X[:, 0] = np.abs(X[:, 0]) * y + gap * y
    return X, y


@pytest.mark.parametrize("kernel", [Linear(), Polynomial(2, offset=1.0), Gaussian(1.5)])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_widest_gap_is_the_hard_margin_of_libsvm(kernel, seed):
    X, y = blobs(seed, gap=0.5)
    found = theory.separability(kernel, X, y, fit_intercept=True)
    svc = SVC(C=1e9, kernel="precomputed", tol=1e-10).fit(kernel(X), y)
    alpha = svc.dual_coef_[0]
    K = kernel(X)[np.ix_(svc.support_, svc.support_)]
    assert found.margin == pytest.approx(1 / math.sqrt(alpha @ K @ alpha), rel=1e-4)
    assert found.width == 2 * found.margin
    assert (y * found.separator(X) > 0).all()


def test_least_squares_that_end_too_early_are_noticed(monkeypatch):
    """As SciPy 1.15 has them; equal weights are far from the nearest points of the classes."""
    X, y = blobs(0, gap=0.5)
    right = theory.separability(Linear(), X, y, fit_intercept=True)
    balanced = np.where(y > 0, 1 / (y > 0).sum(), 1 / (y < 0).sum())
    monkeypatch.setattr("mercer.theory.separation._by_nnls", lambda system, target: balanced)
    assert theory.separability(Linear(), X, y, fit_intercept=True).margin == pytest.approx(
        right.margin
    )


def test_without_intercept_the_separator_passes_through_the_origin():
    X = np.array([[3.0, 1.0], [3.0, -1.0]])
    y = np.array([1, -1])
    found = theory.separability(Linear(), X, y)
    assert found.margin == pytest.approx(1.0)
    assert found.separator.intercept == 0.0
    assert found.separator.primal() == pytest.approx([0.0, 1.0])


def test_a_certificate_is_a_mixture_of_both_classes_at_one_point():
    X, y = blobs(3, gap=-1.0, n=40)
    found = theory.separability(Linear(), X, y, fit_intercept=True)
    assert not found
    mu = found.certificate
    assert (mu >= 0).all()
    assert mu.sum() == pytest.approx(1)
    assert abs(mu @ y) < 1e-6
    assert np.linalg.norm(X.T @ (mu * y)) < 1e-6
    assert "not separable" in str(found)


def test_one_point_with_both_labels_is_never_separable():
    X = np.array([[0.0], [0.0], [1.0]])
    assert not theory.separability(Gaussian(0.1), X, [1, -1, 1])
    assert theory.separability(Gaussian(0.1), X + [[0], [1e-2], [0]], [1, -1, 1])


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000), st.floats(0.05, 1.0), st.booleans())
def test_a_textbook_perceptron_never_exceeds_the_bound(seed, gap, bias):
    X, y = blobs(seed, gap, n=16, d=3)
    separation = theory.separability(Linear(), X, y, fit_intercept=bias)
    bound = theory.mistake_bound(separation.separator, X, y, fit_intercept=bias)
    w, b, mistakes = np.zeros(3), 0.0, 0
    for _ in range(10_000):
        wrong = np.flatnonzero(y * (X @ w + b) <= 0)
        if not len(wrong):
            break
        w, b, mistakes = w + y[wrong[0]] * X[wrong[0]], b + bias * y[wrong[0]], mistakes + 1
    assert mistakes <= bound


def test_freund_and_schapire_bound_a_single_pass_over_noisy_data():
    X, y = blobs(5, gap=0.1, n=200)
    y[:20] *= -1
    separator = KernelExpansion(Linear(), np.array([[1.0, 0.0]]), np.ones(1))
    bound, gamma = theory.deviation_bound(separator, X, y)
    for other in np.geomspace(gamma / 30, gamma * 30, 50):
        assert theory.deviation_bound(separator, X, y, other)[0] >= bound * (1 - 1e-6)
    w, mistakes = np.zeros(2), 0
    for x, t in zip(X, y, strict=True):
        if t * (x @ w) <= 0:
            w, mistakes = w + t * x, mistakes + 1
    assert mistakes <= bound


def test_on_separable_data_it_is_at_most_the_plain_bound():
    X, y = blobs(6, gap=0.5)
    separator = theory.separability(Linear(), X, y).separator
    plain = theory.mistake_bound(separator, X, y)
    assert theory.deviation_bound(separator, X, y)[0] <= plain * (1 + 1e-9)


def test_the_compression_bound_by_hand_and_at_its_ends():
    expected = (math.log(math.comb(100, 3)) + math.log(100) + math.log(20)) / 97
    assert theory.compression_bound(100, 3) == pytest.approx(expected)
    assert theory.compression_bound(100, 100) == 1.0
    assert theory.compression_bound(100, 2) < theory.compression_bound(100, 3)


def test_a_separator_that_fails_gives_no_bound():
    X, y = blobs(7, gap=0.5)
    separator = KernelExpansion(Linear(), np.array([[-1.0, 0.0]]), np.ones(1))
    assert theory.margin(separator, X, y) < 0
    assert theory.mistake_bound(separator, X, y) == math.inf


def test_regret_is_what_was_lost_beyond_the_comparator():
    X, y = np.array([[2.0], [-0.5]]), np.array([1, -1])
    f = KernelExpansion(Linear(), np.array([[1.0]]), np.ones(1))
    assert theory.regret(f, X, y, [1.0, 1.0]) == pytest.approx(2.0 - 0.5)
    with pytest.warns(FutureWarning, match=r"regret\(comparator, X, y, losses\) now"):
        assert theory.regret([1.0, 1.0], f, X, y) == pytest.approx(2.0 - 0.5)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda X, y: theory.separability(Linear(), X, np.arange(len(X))), "two classes"),
        (lambda X, y: theory.separability(Linear(), X, np.zeros(len(X))), "two classes"),
        (lambda X, y: theory.separability(Linear(), X, y[:-1]), "labels"),
        (lambda X, y: theory.separability(Sigmoid(1.0, -1.0), X, y), "negative eigenvalue"),
        (lambda X, y: theory.radius(-Linear(), X), "negative"),
        (lambda X, y: theory.compression_bound(3, 5), "5 stored of 3"),
        (lambda X, y: theory.compression_bound(3, 1, 2.0), "confidence"),
    ],
)
def test_bad_input_is_named(call, message):
    X, y = blobs(0, 0.5)
    with pytest.raises(ValueError, match=message):
        call(X, y)


def test_bounds_refuse_a_separator_of_the_wrong_kind():
    X, y = blobs(0, 0.5)
    biased = KernelExpansion(Linear(), np.array([[1.0, 0.0]]), np.ones(1), intercept=0.1)
    with pytest.raises(ValueError, match="intercept"):
        theory.mistake_bound(biased, X, y, fit_intercept=False)
    with pytest.raises(ValueError, match="origin"):
        theory.deviation_bound(biased, X, y)
    plain = KernelExpansion(Linear(), np.array([[1.0, 0.0]]), np.ones(1))
    with pytest.raises(ValueError, match="gamma"):
        theory.deviation_bound(plain, X, y, gamma=0.0)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("gap", [0.5, -1.0])
def test_the_report_prints_bounds_beside_facts(gap):
    X, y = blobs(8, gap)
    model = KernelPerceptron(Linear(), epochs=50, fit_intercept=False).fit(X, y)
    found = theory.report(model, X, y)
    bound, fact = found["mistakes"]
    assert fact == model.n_mistakes_
    assert fact <= bound
    assert (bound == math.inf) == (gap < 0)
    bound, fact = found["mistakes in one pass"]
    assert fact <= bound
    assert found["radius R"][0] == pytest.approx(np.linalg.norm(X, axis=1).max())
    assert "theory" in str(found)
    with pytest.raises(KeyError, match="not in the report"):
        found["luck"]
