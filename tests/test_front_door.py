"""What new users try first: words they know from elsewhere, and mistakes that name their fix."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.model_selection import GridSearchCV
from sklearn.svm import SVC

import mercer
from mercer import Gaussian, KernelRidge, KernelSVC, Linear
from mercer._deprecated import modern

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3)) * [1.0, 5.0, 0.2]
Y = (X[:, 0] + 0.1 * X[:, 1] > 0).astype(int)


@pytest.mark.parametrize("kernel", ["rbf", "poly", "sigmoid", "linear"])
def test_the_words_of_svc_give_its_machine(kernel) -> None:
    digits = load_digits()
    rows, labels = digits.data[:300], digits.target[:300] > 4
    theirs = SVC(kernel=kernel, tol=1e-6).fit(rows, labels)
    ours = KernelSVC(kernel, tol=1e-6).fit(rows, labels)
    scores = theirs.decision_function(rows)
    # The last digits of a fit depend on the order of its steps; the machine is the same.
    np.testing.assert_allclose(ours.decision_function(rows), scores, atol=1e-3 * np.ptp(scores))


def test_the_kernel_with_numbers_is_kept_and_the_word_too() -> None:
    model = KernelSVC(Gaussian("scale")).fit(X, Y)
    assert model.kernel == Gaussian("scale")
    assert model.kernel_ == Gaussian("scale").fitted(X)
    assert model.expansion_.kernel == model.kernel_
    few = KernelSVC(Gaussian("scale")).fit(X[:20], Y[:20])
    assert few.kernel_ != model.kernel_


def test_a_search_gives_each_fold_its_own_width() -> None:
    grid = {"kernel__gaussian__sigma": ["scale", "median", 3.0]}
    search = GridSearchCV(KernelSVC(0.5 * Gaussian() + Linear()), grid, cv=3)
    search.fit(X, Y)
    assert len(search.cv_results_["params"]) == 3
    assert search.best_estimator_.kernel_.words == {}


def test_the_first_rows_choose_for_all_that_follow() -> None:
    model = mercer.KernelPerceptron(Gaussian("scale"))
    model.partial_fit(X[:30], Y[:30], classes=[0, 1])
    first = model.kernel_
    assert first == Gaussian("scale").fitted(X[:30])
    assert model.partial_fit(X[30:] * 100, Y[30:]).kernel_ == first


def test_a_model_with_a_word_is_saved_with_its_numbers(tmp_path) -> None:
    model = KernelRidge("rbf", alpha=0.1).fit(X, X[:, 0])
    mercer.save(model, tmp_path / "model")
    again = mercer.load(tmp_path / "model")
    assert again.kernel_ == model.kernel_
    assert again.kernel == "rbf"
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


def test_maps_choose_too() -> None:
    for cls in (mercer.maps.NystromMap, mercer.maps.RandomFourierMap):
        found = cls("rbf", n_components=10, random_state=0).fit(X)
        assert found.kernel_ == Gaussian("scale").fitted(X)


def test_a_width_far_off_is_told_once_with_one_that_fits() -> None:
    with pytest.warns(UserWarning, match="all below 0.001") as told:
        KernelSVC(Gaussian(0.001)).fit(X, Y)
    better = Gaussian("scale").fitted(X).sigma
    assert f"Gaussian(sigma={better:.3g})" in str(told[0].message)
    with pytest.warns(UserWarning, match="all above 1"):
        KernelRidge(Gaussian(1e6)).fit(X, X[:, 0])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        KernelSVC(Gaussian(2.0)).fit(X, Y)
        KernelSVC(Gaussian("median")).fit(X, Y)
        KernelRidge(Gaussian(5.0)).fit(np.ones((5, 2)), np.arange(5.0))


KERNEL_LEARNERS = [
    name for name in mercer.learners.__all__ if hasattr(getattr(mercer, name), "_start")
]


@pytest.mark.parametrize("name", KERNEL_LEARNERS)
def test_every_learner_has_the_one_default(name) -> None:
    model = getattr(mercer, name)()
    assert model.kernel is mercer.kernels.DEFAULT
    model.fit(X, Y)
    # The bandwidth of a smoother is the width that the data chooses; a process learns another.
    smooth, learned = hasattr(model, "bandwidth"), hasattr(model, "theta_")
    assert learned or model.kernel_ == (Gaussian() if smooth else Gaussian("scale").fitted(X))
    answer = next(a for a in ("predict", "transform", "score_samples") if hasattr(model, a))
    assert len(getattr(model, answer)(X)) == len(X)


#: Learners whose counterparts in scikit-learn take gamma, degree and coef0.
WITH_NUMBERS = {
    "KernelOneClass",
    "KernelPCA",
    "KernelRidge",
    "KernelSVC",
    "KernelSVR",
    "SpectralClustering",
}


@pytest.mark.parametrize("name", KERNEL_LEARNERS)
def test_numbers_beside_a_kernel_are_where_scikit_learn_has_them(name) -> None:
    taken = set(getattr(mercer, name)().get_params(deep=False)) & {"gamma", "coef0"}
    assert taken == ({"gamma", "coef0"} if name in WITH_NUMBERS else set())


@pytest.mark.parametrize("name", sorted(set(KERNEL_LEARNERS) - WITH_NUMBERS))
def test_others_still_take_them_for_one_version(name) -> None:
    cls = getattr(mercer, name)
    with pytest.warns(FutureWarning, match=r"'rbf\(gamma=0.5\)'"):
        model = cls("rbf", gamma=0.5)
    assert model.kernel == Gaussian(1.0)
    with pytest.warns(FutureWarning, match="coef0=2.0"):
        changed = cls("poly").set_params(coef0=2.0)
    assert changed.kernel.offset == 2.0


#: Former spellings, by the class and its present ones.
FORMER = [
    ("KernelRidge", {"alpha": "loo"}, {"alpha": "auto"}),
    ("KernelRidgeClassifier", {"alpha": "loo"}, {"alpha": "auto"}),
    ("KernelLogisticRegression", {"alpha": "loo"}, {"alpha": "auto"}),
    ("KernelLogisticRegression", {"learning_rate": None}, {"learning_rate": "auto"}),
    ("KernelQuantileRegressor", {"C": "loo"}, {"C": "auto"}),
    ("KernelDensity", {"bandwidth": "loo"}, {"bandwidth": "auto"}),
    ("NadarayaWatsonClassifier", {"bandwidth": "loo"}, {"bandwidth": "auto"}),
    ("LocalLinearRegressor", {"degree": 2}, {"local_degree": 2}),
    ("GaussianProcessRegressor", {"noise": "learn"}, {"noise": "auto"}),
    ("KernelPerceptron", {"order": "mixed"}, {"chunks": "mixed"}),
    ("DeformableTemplateClassifier", {"iterations": 3}, {"max_iter": 3}),
    ("DeformableTemplateClassifier", {"order": 1}, {"max_frequency": 1}),
    ("RFMRegressor", {"rounds": None}, {"rounds": "auto"}),
    ("RFMClassifier", {"power": None, "length": None}, {"power": "auto", "length": "auto"}),
    ("TaylorGaussianMap", {"order": 3}, {"degree": 3}),
    ("LearnedMetric", {"rounds": None}, {"rounds": "auto"}),
]


@pytest.mark.parametrize(("name", "former", "now"), FORMER)
def test_former_spellings_work_for_one_version(name, former, now) -> None:
    cls = getattr(mercer.learners, name, None) or getattr(mercer.maps, name)
    said = next(f"{key}={value!r}" for key, value in now.items())
    with pytest.warns(FutureWarning, match=f"is {said} now; the old spelling ends in version"):
        made = cls(**former)
    with pytest.warns(FutureWarning, match="the old spelling ends in version 0.4"):
        changed = cls().set_params(**former)
    kept = {key: None if former.get(key, 0) is None else value for key, value in now.items()}
    for model in (made, changed, clone(made)):
        assert model.get_params(deep=False) == cls().get_params(deep=False) | kept
    for old in former.keys() - now.keys():
        assert old not in made.get_params()
        with pytest.warns(FutureWarning, match=f"{name}.{old} is"):
            assert getattr(made, old) == former[old]


def test_models_of_older_versions_are_read_by_their_present_names() -> None:
    former = {"bandwidth": "loo", "degree": 2, "loo_error_": 0.1}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        read = modern(mercer.LocalLinearRegressor, former, say=False)
    assert read == {"bandwidth": "auto", "local_degree": 2, "loo_error_": 0.1}


@pytest.mark.parametrize(
    "model",
    [
        mercer.KernelRidge(alpha=1.0, alphas=[0.1, 1.0]),
        mercer.KernelRidgeClassifier(alpha=1.0, alphas=[0.1, 1.0]),
        mercer.KernelDensity(bandwidth=1.0, bandwidths=[0.1, 1.0]),
    ],
)
def test_a_number_and_a_path_contradict_each_other(model) -> None:
    with pytest.raises(ValueError, match="s= lists what 'auto' chooses from"):
        model.fit([[0.0], [1.0], [2.0]], [0, 1, 1])


def test_a_former_value_by_position() -> None:
    with pytest.warns(FutureWarning, match="alpha='auto'"):
        assert mercer.KernelRidge("rbf", "loo").alpha == "auto"
    with pytest.raises(TypeError):
        mercer.KernelRidge("rbf", "loo", None, None)


def test_models_say_by_name_what_the_data_will_choose() -> None:
    assert repr(mercer.KernelRidge()) == "KernelRidge(alpha='auto')"
    assert repr(mercer.KernelRidge(alpha=2.0)) == "KernelRidge(alpha=2.0)"
    assert repr(mercer.NadarayaWatsonRegressor("laplacian")) == (
        "NadarayaWatsonRegressor(bandwidth='auto', kernel='laplacian')"
    )
    assert repr(mercer.KernelQuantileRegressor()) == "KernelQuantileRegressor(C='auto')"
    assert repr(mercer.GaussianProcessRegressor(noise=[1.0, 2.0])).startswith("GaussianProcessReg")
    assert repr(mercer.KernelSVC()) == "KernelSVC()"


def test_one_word_where_the_data_choose() -> None:
    """No parameter but a name of a rule or "auto" stands for a value that the data choose."""
    words = {
        (name, key): value
        for name in mercer.learners.__all__
        for key, value in getattr(mercer.learners, name)().get_params(deep=False).items()
        if key in ("alpha", "C", "bandwidth", "noise", "rounds", "power", "length", "learning_rate")
        and not isinstance(value, (int, float))
    }
    assert len(words) > 10
    assert set(words.values()) == {"auto"}


@pytest.mark.parametrize("name", ["KernelSVC", "KernelRidge", "KernelPCA"])
def test_gamma_degree_and_coef0_stand_beside_a_bare_name(name) -> None:
    cls = getattr(mercer, name)
    model = cls("poly", gamma=0.1, degree=2, coef0=1.0).fit(X, Y)
    assert model.kernel_ == mercer.Polynomial(2, 1.0, 0.1)
    # So they do beside the default, for which nobody has named a kernel.
    assert cls(gamma=0.5).fit(X, Y).kernel_ == Gaussian()


def test_a_smoother_says_where_two_widths_meet() -> None:
    with pytest.warns(UserWarning, match="bandwidth='auto' chooses h"):
        mercer.NadarayaWatsonRegressor(Gaussian(2.0)).fit(X, X[:, 0])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        mercer.NadarayaWatsonRegressor(Gaussian(2.0), bandwidth=1.0).fit(X, X[:, 0])
        mercer.NadarayaWatsonRegressor("epanechnikov").fit(X, X[:, 0])
        mercer.KernelNeighborsClassifier(Gaussian(1e-4)).fit(X, Y)
