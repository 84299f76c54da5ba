"""Kernels from densities: against the sum they are defined by, and far out in the tails."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.mixture import BayesianGaussianMixture, GaussianMixture
from sklearn.naive_bayes import BernoulliNB, GaussianNB, MultinomialNB

import mercer

X, y = load_iris(return_X_y=True)


def normal(X, mean, covariance):
    from scipy.stats import multivariate_normal

    return multivariate_normal(mean, covariance).pdf(X)


def by_definition(weights, densities, densities_z=None):
    """Σ_c P(c) p(x|c) p(z|c)."""
    densities_z = densities if densities_z is None else densities_z
    return np.einsum("c,ic,jc->ij", weights, densities, densities_z)


@pytest.mark.parametrize("kind", ["full", "diag", "tied", "spherical"])
def test_gaussian_mixture(kind):
    model = GaussianMixture(3, covariance_type=kind, random_state=0).fit(X)
    cov = {
        "full": lambda c: model.covariances_[c],
        "diag": lambda c: np.diag(model.covariances_[c]),
        "tied": lambda c: model.covariances_,
        "spherical": lambda c: model.covariances_[c] * np.eye(4),
    }[kind]
    p = np.column_stack([normal(X, model.means_[c], cov(c)) for c in range(3)])
    k = mercer.kernels.ConditionalExpectation(model)
    expected = by_definition(model.weights_, p)
    np.testing.assert_allclose(k(X), expected, rtol=1e-8, atol=1e-300)
    np.testing.assert_allclose(k(X, X[:7]), expected[:, :7], rtol=1e-8, atol=1e-300)
    np.testing.assert_allclose(k.diag(X), np.diagonal(expected), rtol=1e-8)
    np.testing.assert_allclose(k.features(X) @ k.features(X).T, expected, rtol=1e-8, atol=1e-300)
    root = np.sqrt(np.diagonal(expected))
    np.testing.assert_allclose(
        k.normalized()(X), expected / root[:, None] / root, rtol=1e-8, atol=1e-200
    )
    assert k.n_dims(4) == 3


@pytest.mark.parametrize("kind", [GaussianNB, MultinomialNB, BernoulliNB])
def test_naive_bayes(kind):
    model = kind().fit(X, y)
    prior = model.class_prior_ if kind is GaussianNB else np.exp(model.class_log_prior_)
    p = np.exp(model.predict_joint_log_proba(X)) / prior
    k = mercer.kernels.ConditionalExpectation(model)
    np.testing.assert_allclose(k(X), by_definition(prior, p), rtol=1e-9, atol=1e-300)


def test_small_densities_do_not_vanish():
    """In 400 dimensions p(x | c) is 0 in float64; the cosine between two points is not."""
    rng = np.random.default_rng(0)
    centers = np.zeros((2, 400))
    centers[1, 0] = 1.0

    class Two:
        weights = (0.25, 0.75)

        def log_densities(self, X):
            squared = ((X[:, None, :] - centers) ** 2).sum(axis=2)
            return -0.5 * squared * 50 - 2000.0

    points = rng.normal(size=(6, 400)) * 5
    k = mercer.kernels.ConditionalExpectation(Two())
    assert not k(points).any()  # the numbers themselves are below 10⁻³⁰⁸
    unit = k.normalized()
    K = unit(points)
    np.testing.assert_allclose(np.diagonal(K), 1.0, rtol=1e-14)
    logs = Two().log_densities(points) + 0.5 * np.log(Two.weights)
    top = logs - logs.max(axis=1, keepdims=True)
    phi = np.exp(top) / np.linalg.norm(np.exp(top), axis=1, keepdims=True)
    np.testing.assert_allclose(K, phi @ phi.T, rtol=1e-9)
    assert 0 < K.min() < 1
    assert unit.normalized() == unit
    np.testing.assert_allclose(unit.diag(points), 1.0, rtol=1e-14)


def test_large_and_small_densities_meet():
    class Needle:
        weights = np.array([1.0])

        def log_densities(self, X):
            return X

    k = mercer.kernels.ConditionalExpectation(Needle())
    assert k([[-800.0]], [[790.0]])[0, 0] == pytest.approx(np.exp(-10.0))


def test_classes_that_cannot_be_and_points_that_cannot_be():
    class Odd:
        weights = np.array([0.5, 0.5, 0.0])

        def log_densities(self, X):
            return np.column_stack([np.where(X > 0, 0.0, -np.inf), np.full((len(X), 2), -np.inf)])

    k = mercer.kernels.ConditionalExpectation(Odd())
    assert np.array_equal(k([[1.0], [-1.0]]), [[0.5, 0], [0, 0]])
    assert np.array_equal(k.normalized()([[1.0], [-1.0]]), [[1, 0], [0, 0]])
    assert k.n_dims(1) == 2


def test_identity_is_that_of_the_model():
    model = GaussianMixture(2, random_state=0).fit(X)
    k = mercer.kernels.ConditionalExpectation(model)
    before = k(X[:5])
    again = pickle.loads(pickle.dumps(k))
    assert again == k
    assert hash(again) == hash(k)
    assert np.array_equal(again(X[:5]), before)
    assert k.set_params(**k.get_params(deep=False)) == k
    assert k != k.normalized()
    assert k != mercer.kernels.ConditionalExpectation(GaussianMixture(3, random_state=0).fit(X))
    model.fit(X[:50])  # the kernel keeps what it was given
    assert np.array_equal(k(X[:5]), before)
    assert "GaussianMixture" in repr(k)
    assert "P(c)" in k.latex()
    assert r"mathrm{normalized}" in k.normalized().latex()


def test_models_that_cannot_be_pickled():
    class Local:
        weights = (1.0,)

        def log_densities(self, X):
            return np.zeros((len(X), 1))

    one = Local()
    assert mercer.kernels.ConditionalExpectation(one) == mercer.kernels.ConditionalExpectation(one)
    assert mercer.kernels.ConditionalExpectation(one) != mercer.kernels.ConditionalExpectation(
        Local()
    )


def test_proved_and_composed():
    model = GaussianMixture(3, random_state=0).fit(X)
    k = mercer.kernels.ConditionalExpectation(model).normalized() + 0.1 * mercer.Gaussian()
    assert mercer.prove(k)
    assert np.linalg.eigvalsh(k(X)).min() > -1e-10
    assert k.on([0, 1, 2, 3])(X).shape == (150, 150)


def test_sparse_counts():
    sparse = pytest.importorskip("scipy.sparse")
    model = MultinomialNB().fit(X, y)
    k = mercer.kernels.ConditionalExpectation(model)
    np.testing.assert_allclose(k(sparse.csr_array(X[:9])), k(X[:9]), rtol=1e-10)


def test_bad_models():
    with pytest.raises(ValueError, match="fit it first"):
        mercer.kernels.ConditionalExpectation(GaussianMixture(2))
    with pytest.raises(ValueError, match="fit it first"):
        mercer.kernels.ConditionalExpectation(GaussianNB())
    with pytest.raises(TypeError, match="is a class"):
        mercer.kernels.ConditionalExpectation(GaussianMixture)
    with pytest.raises(TypeError, match="no model of densities"):
        mercer.kernels.ConditionalExpectation("gaussian")

    class Wrong:
        weights = np.array([0.5, 0.5])

        def log_densities(self, X):
            return np.full((len(X), self.columns), self.value)

    wrong = Wrong()
    wrong.columns, wrong.value = 3, 0.0
    with pytest.raises(ValueError, match="one column for each class"):
        mercer.kernels.ConditionalExpectation(wrong)([[1.0]])
    wrong.columns, wrong.value = 2, np.nan
    with pytest.raises(ValueError, match="no finite density for row 0"):
        mercer.kernels.ConditionalExpectation(wrong)([[1.0]])
    wrong.weights = np.array([-1.0, 2.0])
    with pytest.raises(ValueError, match="≥ 0"):
        mercer.kernels.ConditionalExpectation(wrong)
    model = GaussianMixture(2, random_state=0).fit(X)
    with pytest.raises(ValueError, match="NaN"):
        mercer.kernels.ConditionalExpectation(model)([[np.nan] * 4])


# --- Fisher ----------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["full", "diag", "tied", "spherical"])
def test_fisher_scores_are_gradients(kind):
    """Against finite differences of ln p in the means, whitened by I = P(c) Σ_c⁻¹."""
    model = GaussianMixture(2, covariance_type=kind, random_state=0).fit(X)
    k = mercer.kernels.Fisher(model)
    few = X[::30]
    phi = k.features(few)
    np.testing.assert_allclose(k(few), phi @ phi.T, rtol=1e-9)
    assert k.n_dims(4) == phi.shape[1]
    posterior = model.predict_proba(few)
    np.testing.assert_allclose(
        phi[:, :2], (posterior - model.weights_) / np.sqrt(model.weights_), atol=1e-12
    )
    step, means, gradient = 1e-5, model.means_.copy(), np.empty((len(few), 4))
    for j in range(4):
        ends = []
        for sign in (1, -1):
            model.means_ = means.copy()
            model.means_[0, j] += sign * step
            ends.append(model.score_samples(few))
        gradient[:, j] = (ends[0] - ends[1]) / (2 * step)
    model.means_ = means
    root = {
        "full": lambda: model.precisions_cholesky_[0],
        "tied": lambda: model.precisions_cholesky_,
        "diag": lambda: np.diag(model.precisions_cholesky_[0]),
        "spherical": lambda: model.precisions_cholesky_[0] * np.eye(4),
    }[kind]()
    # gradient = γ Σ⁻¹ (x − μ) = γ R Rᵀ (x − μ); the feature is γ Rᵀ (x − μ) / √P(c)
    np.testing.assert_allclose(
        phi[:, 2:6] @ root.T * np.sqrt(model.weights_[0]), gradient, rtol=1e-4, atol=1e-4
    )


def test_fisher_identity_and_bad_models():
    model = BayesianGaussianMixture(n_components=2, covariance_type="diag", random_state=0).fit(X)
    k = mercer.kernels.Fisher(model)
    assert pickle.loads(pickle.dumps(k)) == k
    assert mercer.prove(k.normalized())
    assert "ln" in k.latex()
    assert k(X[:4].astype(np.float32)).dtype == np.float32
    with pytest.raises(ValueError, match="fit it first"):
        mercer.kernels.Fisher(GaussianMixture(2))
    with pytest.raises(TypeError, match="fisher_scores"):
        mercer.kernels.Fisher(GaussianNB().fit(X, y))
