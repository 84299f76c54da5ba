"""Several targets and labels at once, noise per row, and a number where the kernel goes."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.gaussian_process import GaussianProcessRegressor as TheirProcess
from sklearn.gaussian_process.kernels import RBF
from sklearn.linear_model import RidgeClassifier

import mercer
from mercer import GaussianProcessRegressor, KernelRidgeClassifier, KernelSVR

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 2))
Y = np.column_stack([np.sin(X[:, 0]), X[:, 1] ** 2])
NOISE = RNG.uniform(0.05, 1.0, size=40)


@pytest.mark.parametrize("options", [{}, {"nu": 0.4}, {"sample_weight": RNG.uniform(0, 2, 40)}])
def test_targets_of_a_support_vector_machine_are_solved_one_by_one(options, tmp_path) -> None:
    weight = {k: v for k, v in options.items() if k == "sample_weight"}
    made = {k: v for k, v in options.items() if k == "nu"}
    both = KernelSVR("gaussian(1)", tol=1e-6, **made).fit(X, Y, **weight)
    assert both.predict(X).shape == (40, 2)
    for j in range(2):
        one = KernelSVR("gaussian(1)", tol=1e-6, **made).fit(X, Y[:, j], **weight)
        np.testing.assert_allclose(both.predict(X)[:, j], one.predict(X), atol=1e-5)
        np.testing.assert_allclose(both.slack_[:, j], one.slack_, atol=1e-5)
        assert both.n_support_[j] == one.n_support_[0]
        assert both.intercept_[j] == pytest.approx(one.intercept_[0], abs=1e-5)
        assert both.epsilon_[j] == pytest.approx(one.epsilon_, abs=1e-5)
    both.save(tmp_path / "svr.mercer")
    again = mercer.load(tmp_path / "svr.mercer")
    np.testing.assert_array_equal(again.predict(X), both.predict(X))


def test_labels_of_ridge_are_scikit_learns(tmp_path) -> None:
    labels = (Y > 0.3).astype(int)
    ours = KernelRidgeClassifier("linear", alpha=1.0).fit(X, labels)
    theirs = RidgeClassifier(alpha=1.0).fit(X, labels)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-8)
    np.testing.assert_array_equal(ours.classes_, theirs.classes_)
    assert ours.score(X, labels) == theirs.score(X, labels)
    ours.save(tmp_path / "labels.mercer")
    np.testing.assert_array_equal(
        mercer.load(tmp_path / "labels.mercer").predict(X), ours.predict(X)
    )
    with pytest.raises(ValueError, match="0 or 1, one per label"):
        KernelRidgeClassifier("linear").fit(X, labels + (X > 1))
    with pytest.raises(ValueError, match="one column of classes"):
        KernelRidgeClassifier("linear", class_weight="balanced").fit(X, labels)


@pytest.mark.parametrize("width", [0.5, 2.0])
@pytest.mark.parametrize("y", [Y[:, 0], Y])
def test_noise_per_row_is_scikit_learns(width: float, y: np.ndarray) -> None:
    theirs = TheirProcess(RBF(width), alpha=NOISE, optimizer=None).fit(X, y)
    ours = GaussianProcessRegressor(
        mercer.Gaussian(width), NOISE, optimizer=None, normalize_y=False
    )
    ours.fit(X, y)
    found, wanted = (m.predict(X + 0.1, return_std=True) for m in (ours, theirs))
    np.testing.assert_allclose(found[0], wanted[0], atol=1e-9)
    stds = found[1] if y.ndim == 1 else found[1][:, 0]
    np.testing.assert_allclose(stds, wanted[1].reshape(len(X), -1)[:, 0], atol=1e-9)
    assert ours.log_marginal_likelihood() == pytest.approx(theirs.log_marginal_likelihood_value_)


def test_the_width_is_learned_with_noise_per_row() -> None:
    theirs = TheirProcess(RBF(1.0), alpha=NOISE).fit(X, Y[:, 0])
    ours = GaussianProcessRegressor(mercer.Gaussian(1.0), NOISE, normalize_y=False)
    ours.fit(X, Y[:, 0])
    assert ours.kernel_.sigma == pytest.approx(theirs.kernel_.length_scale, rel=1e-3)
    assert ours.log_marginal_likelihood_value_ == pytest.approx(
        theirs.log_marginal_likelihood_value_, abs=1e-4
    )


def test_noise_that_does_not_fit_the_rows() -> None:
    for bad in (NOISE[:5], np.append(NOISE[:39], 0.0)):
        with pytest.raises(ValueError, match="one above 0 for each of the 40 examples"):
            GaussianProcessRegressor(noise=bad).fit(X, Y)
    with pytest.raises(ValueError, match="what weights would"):
        GaussianProcessRegressor(noise=NOISE).fit(X, Y, sample_weight=NOISE)


@pytest.mark.parametrize(
    ("model", "hint"),
    [
        (mercer.KernelPCA(2), "n_components=2?"),
        (mercer.KernelKMeans(2), "n_clusters=2?"),
        (mercer.SpectralClustering(3), "n_clusters=3?"),
        (mercer.KernelNeighborsClassifier(5), "n_neighbors=5?"),
        (mercer.KernelSVC(10.0), "C=10.0?"),
        (mercer.KernelRidge(0.1), "alpha=0.1?"),
    ],
)
def test_a_number_in_the_place_of_the_kernel(model, hint: str) -> None:
    with pytest.raises(TypeError) as told:
        model.fit(X, Y[:, 0] > 0)
    assert str(told.value).endswith(hint)
