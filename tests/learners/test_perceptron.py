"""KernelPerceptron and Perceptron as estimators: conventions, averages, streams, every input."""

from __future__ import annotations

import itertools
import pickle
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV
from sklearn.utils.estimator_checks import check_estimator

import mercer
from mercer import KernelExpansion, KernelPerceptron, Perceptron
from mercer.kernels import Gaussian, Linear, Polynomial, Precomputed, Similarity

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

AVERAGING = ["last", "average", "vote"]
SEPARABLE = {"epochs": 1000, "shuffle": False}


def _integers(n=40, classes=3, seed=0, noise=True):
    """Points of ℤ², on which polynomial kernels are exact."""
    rng = np.random.default_rng(seed)
    X = rng.integers(-4, 5, size=(n, 2)).astype(float)
    y = np.where(X[:, 0] > 1, 2, np.where(X[:, 1] > 0, 1, 0)) % classes
    if noise:
        y[:: n // 5] = (y[:: n // 5] + 1) % classes
    return X, y


def _visits(model, X, y):
    """The predictor after every visit, as (α, b), from the plain loop."""
    states = []
    for visit in model.steps(X, y):
        alpha = visit.alpha[:, None] if visit.alpha.ndim == 1 else visit.alpha
        states.append((alpha.copy(), np.atleast_1d(visit.intercept).copy()))
    return states


# --- the contract of scikit-learn --------------------------------------------------------------


# scikit-learn's own Perceptron is excused from these, for the same reason.
EXCUSED = dict.fromkeys(
    [f"check_sample_weight_equivalence_on_{kind}_data" for kind in ("dense", "sparse")],
    "one update that goes twice as far is not two visits",
)
NO_INTERCEPT = {
    "check_class_weight_classifiers": "a line through 0 cannot favor a class everywhere"
}


@pytest.mark.parametrize(
    ("model", "excused"),
    [(KernelPerceptron(), EXCUSED), (Perceptron(), EXCUSED | NO_INTERCEPT)],
    ids=repr,
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.EstimatorCheckFailedWarning")
def test_check_estimator(model, excused):
    check_estimator(model, expected_failed_checks=excused)


def test_clone_pickle_and_nested_parameters():
    X, y = _integers()
    model = KernelPerceptron("gaussian(2)", averaging="vote", random_state=0)
    assert repr(clone(model)) == repr(model)
    model.fit(X, y)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
    search = GridSearchCV(model, {"kernel__sigma": [0.01, 1.0]}, cv=3).fit(X, y)
    assert search.best_params_ == {"kernel__sigma": 1.0}


# --- the three predictors ----------------------------------------------------------------------


@pytest.mark.parametrize("multi_class", ["native", "ovr"])
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("dual", [True, False])
def test_average_and_vote_are_over_the_predictors_after_every_visit(
    classes, multi_class, bias, dual
):
    X, y = _integers(classes=classes)
    options = {"epochs": 2.5, "fit_intercept": bias, "multi_class": multi_class, "shuffle": False}
    make = (
        (lambda **o: KernelPerceptron(Linear(), **options, **o))
        if dual
        else (lambda **o: Perceptron(**options, **o))
    )
    states = _visits(make(), X, y)
    assert len(states) == 100
    test = np.random.default_rng(1).integers(-4, 5, size=(30, 2)).astype(float)
    scores = np.array([test @ X.T @ alpha + b for alpha, b in states])
    squeeze = (lambda s: s[:, 0]) if scores.shape[2] == 1 else (lambda s: s)

    last = make(averaging="last").fit(X, y)
    np.testing.assert_array_equal(last.decision_function(test), squeeze(scores[-1]))
    average = make(averaging="average").fit(X, y)
    np.testing.assert_allclose(
        average.decision_function(test), squeeze(scores.mean(axis=0)), rtol=1e-12, atol=1e-12
    )
    if classes > 2 and multi_class == "native":
        votes = np.eye(3)[scores.argmax(axis=2)]
    else:
        votes = np.where(scores > 0, 1.0, -1.0)
    vote = make(averaging="vote").fit(X, y)
    np.testing.assert_allclose(
        vote.decision_function(test), squeeze(votes.mean(axis=0)), rtol=1e-12, atol=1e-15
    )
    assert vote.n_mistakes_ == last.n_mistakes_ == average.n_mistakes_


def test_the_average_is_exact_where_the_sums_are():
    X, y = _integers(classes=2)
    model = KernelPerceptron(Linear(), epochs=2, averaging="average", shuffle=False)
    total = sum(alpha for alpha, _ in _visits(model, X, y))
    model.fit(X, y)
    expected = total[:, 0] / model.n_visits_
    np.testing.assert_array_equal(model.dual_coef_[0], expected[model.support_])
    assert not np.array_equal(model.alpha_, expected)  # α is that of the last predictor


def test_a_vote_without_a_single_mistake():
    X, y = np.array([[1.0], [2.0], [3.0]]), np.array([0, 0, 1])
    options = {"epochs": 0.6, "tie": "first", "shuffle": False}
    model = KernelPerceptron(Linear(), averaging="vote", **options).fit(X, y)
    assert model.n_mistakes_ == 0
    assert model.n_visits_ == 2
    assert not model.converged_  # the rest of the epoch was not seen
    assert model.mistakes_.size == model.support_.size == 0
    np.testing.assert_array_equal(model.decision_function(X), [-1, -1, -1])
    np.testing.assert_array_equal(model.predict(X), [0, 0, 0])


# --- streams -----------------------------------------------------------------------------------


@settings(max_examples=25, deadline=None)
@given(
    st.sampled_from(AVERAGING),
    st.sampled_from(["native", "ovr"]),
    st.booleans(),
    st.lists(st.integers(1, 39), max_size=4, unique=True).map(sorted),
    st.sampled_from([2, 3]),
    st.sampled_from([None, 7]),
)
def test_any_split_into_partial_fits_is_one_fit(averaging, how, bias, cuts, classes, most):
    X, y = _integers(classes=classes)
    options = {
        "averaging": averaging,
        "multi_class": how,
        "fit_intercept": bias,
        "max_updates": most,
        "shuffle": False,
    }
    for make in (lambda **o: KernelPerceptron(Polynomial(2, offset=1.0), **o), Perceptron):
        whole = make(epochs=1, **options).fit(X, y)
        parts = make(**options)
        for start, stop in zip([0, *cuts], [*cuts, 40], strict=True):
            parts.partial_fit(X[start:stop], y[start:stop], classes=range(classes))
        np.testing.assert_array_equal(parts.decision_function(X), whole.decision_function(X))
        np.testing.assert_array_equal(parts.mistakes_, whole.mistakes_)
        assert parts.n_mistakes_ == whole.n_mistakes_
        assert parts.n_visits_ == whole.n_visits_
        if isinstance(parts, KernelPerceptron):
            np.testing.assert_array_equal(parts.support_, whole.support_)
            np.testing.assert_array_equal(parts.dual_coef_, whole.dual_coef_)
            np.testing.assert_array_equal(parts.alpha_, whole.alpha_)
        else:
            np.testing.assert_array_equal(parts.coef_, whole.coef_)


@pytest.mark.parametrize("policy", ["oldest", "random", "project"])
def test_a_stream_on_a_budget_goes_on_exactly(policy):
    X, y = _integers()
    options = {"budget": 6, "budget_policy": policy, "shuffle": False, "random_state": 5}
    whole = KernelPerceptron(Linear() + 1.0, epochs=1, **options).fit(X, y)
    parts = KernelPerceptron(Linear() + 1.0, **options)
    for part in np.split(np.arange(40), [1, 13, 29]):
        parts.partial_fit(X[part], y[part], classes=[0, 1, 2])
    np.testing.assert_array_equal(parts.support_, whole.support_)
    np.testing.assert_allclose(parts.dual_coef_, whole.dual_coef_, atol=1e-9)
    assert parts.n_mistakes_ == whole.n_mistakes_
    assert len(parts.support_) <= 6


@pytest.mark.parametrize("policy", ["oldest", "random", "project", "merge"])
def test_an_endless_stream_stays_small(policy):
    rng = np.random.default_rng(0)
    model = KernelPerceptron(Gaussian(1.0), budget=10, budget_policy=policy, random_state=0)
    sizes = []
    for _ in range(30):
        X = rng.normal(size=(20, 3))
        model.partial_fit(X, rng.integers(0, 2, size=20), classes=[0, 1])
        sizes.append(len(pickle.dumps(model)))
    assert model.n_mistakes_ > 100
    assert len(model.support_) <= 10
    assert len(model.history_) == 1
    assert len(model.mistakes_) <= 20
    assert max(sizes[5:]) < 1.2 * min(sizes[5:])


def test_average_with_projection():
    """Projection on the whole space keeps the average, too."""
    X, y = _integers()
    X = X + np.random.default_rng(0).normal(size=X.shape)  # no ties for rounding to decide
    options = {"epochs": 3, "averaging": "average", "fit_intercept": True, "shuffle": False}
    plain = KernelPerceptron(Linear(), **options).fit(X, y)
    kept = KernelPerceptron(Linear(), budget=2, budget_policy="project", **options).fit(X, y)
    assert len(kept.support_) == 2
    np.testing.assert_array_equal(kept.intercept_, plain.intercept_)
    np.testing.assert_allclose(kept.decision_function(X), plain.decision_function(X), atol=1e-8)


# --- options -----------------------------------------------------------------------------------


def test_primal_and_dual_agree():
    X, y = _integers()
    for kernel, feature_map in (
        (Linear(), None),
        (Polynomial(2), Polynomial(2).feature_map(2)),
        (mercer.kernels.FromFeatures(np.square), np.square),
    ):
        options = {"epochs": 5, "fit_intercept": True, "random_state": 3}
        dual = KernelPerceptron(kernel, **options).fit(X, y)
        primal = Perceptron(feature_map, **options).fit(X, y)
        if kernel != Polynomial(2):  # √2 rounds
            np.testing.assert_array_equal(primal.mistakes_, dual.mistakes_)
            np.testing.assert_allclose(primal.coef_.T, dual.expansion_.primal(), atol=1e-9)
        np.testing.assert_array_equal(
            primal.expansion_(primal._phi(X)), primal.decision_function(X)
        )


def test_warm_starts():
    X, y = _integers(classes=2)
    cold = KernelPerceptron(Linear(), epochs=3, shuffle=False, fit_intercept=True).fit(X, y)
    warm = clone(cold).set_params(epochs=1).fit(X, y)
    for _ in range(2):
        warm.fit(X, y, alpha_init=warm.alpha_, intercept_init=warm.intercept_)
    np.testing.assert_array_equal(warm.alpha_, cold.alpha_)
    np.testing.assert_array_equal(warm.counts_, cold.counts_)
    np.testing.assert_array_equal(warm.intercept_, cold.intercept_)
    primal = Perceptron(epochs=1, shuffle=False, fit_intercept=True, averaging="vote").fit(X, y)
    for _ in range(2):
        primal.fit(X, y, coef_init=primal.coef_, intercept_init=primal.intercept_)
    np.testing.assert_array_equal(primal.coef_[0], cold.alpha_ @ X)
    with pytest.raises(ValueError, match=r"shape \(40,\)"):
        cold.fit(X, y, alpha_init=np.ones(3))
    with pytest.raises(ValueError, match="intercept_init"):
        cold.fit(X, y, intercept_init=[1.0, 2.0])
    with pytest.raises(ValueError, match="coef_init"):
        primal.fit(X, y, coef_init=np.ones(3))


@pytest.mark.parametrize("averaging", AVERAGING)
def test_a_warm_start_counts_from_the_first_visit(averaging):
    X, y = _integers()
    alpha = np.random.default_rng(0).integers(-2, 3, size=(40, 3)).astype(float)
    b = np.array([1.0, -2.0, 0.0])
    options = {"epochs": 2, "shuffle": False, "fit_intercept": True, "averaging": averaging}
    dual = KernelPerceptron(Linear(), **options).fit(X, y, alpha_init=alpha, intercept_init=b)
    primal = Perceptron(**options).fit(X, y, coef_init=alpha.T @ X, intercept_init=b)
    np.testing.assert_array_equal(primal.mistakes_, dual.mistakes_)
    np.testing.assert_allclose(
        primal.decision_function(X), dual.decision_function(X), rtol=1e-12, atol=1e-12
    )


@pytest.mark.parametrize("multi_class", ["native", "ovr"])
def test_at_most_so_many_updates(multi_class):
    X, y = _integers()
    options = {"epochs": 50, "multi_class": multi_class, "shuffle": False}
    for most in (1, 2, 5, 9):
        model = KernelPerceptron(Linear(), max_updates=most, **options).fit(X, y)
        assert model.n_mistakes_ == len(model.mistakes_) == most
        primal = Perceptron(max_updates=most, **options).fit(X, y)
        np.testing.assert_array_equal(primal.coef_.T, model.expansion_.primal())
        assert sum(visit.updated for visit in model.steps(X, y)) == len(set(model.mistakes_))


def test_a_fraction_of_an_epoch():
    X, y = _integers()
    model = KernelPerceptron(Linear(), epochs=0.1, shuffle=False).fit(X, y)
    assert model.n_visits_ == 4
    assert model.n_iter_ == 1
    assert model.mistakes_.max() < 4
    assert KernelPerceptron(Linear(), epochs=2.3).fit(X, y).n_visits_ == 92
    assert KernelPerceptron(Linear(), epochs=1e-9).fit(X, y).n_visits_ == 1


@pytest.mark.parametrize("averaging", AVERAGING)
@pytest.mark.parametrize("dual", [True, False])
def test_early_stopping_keeps_the_best_epoch(averaging, dual):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2))
    y = np.where(X[:, 0] + rng.normal(size=200) > 0, "yes", "no")
    options = {
        "epochs": 40,
        "averaging": averaging,
        "validation_fraction": 0.25,
        "n_iter_no_change": 3,
        "random_state": 1,
    }
    model = KernelPerceptron(Linear(), **options) if dual else Perceptron(**options)
    model.fit(X, y)
    scores = [record["validation_score"] for record in model.history_]
    best = int(np.argmax(scores))
    assert model.n_iter_ == len(scores) == min(40, best + 4)
    # The held-out quarter was never visited, and gives that score again.
    assert model.n_visits_ == 150 * (best + 1)
    from sklearn.model_selection import train_test_split

    held = train_test_split(
        np.arange(200), test_size=0.25, stratify=y, random_state=np.random.RandomState(1)
    )[1]
    assert not np.isin(held, model.mistakes_).any()
    assert model.score(X[held], y[held]) == max(scores)
    assert model.n_mistakes_ == sum(r["mistakes"] for r in model.history_[: best + 1])


def test_early_stopping_on_a_budget():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2))
    y = (X[:, 0] + rng.normal(size=200) > 0).astype(int)
    model = KernelPerceptron(
        Gaussian(1.0), 30, budget=20, validation_fraction=0.2, n_iter_no_change=2, random_state=0
    ).fit(X, y)
    best = int(np.argmax([record["validation_score"] for record in model.history_]))
    assert model.n_iter_ == best + 3
    assert model.n_visits_ == 160 * (best + 1)


def test_shuffling_is_reproducible_and_changes_the_order():
    X, y = _integers()
    runs = [KernelPerceptron(Linear(), 3, random_state=s).fit(X, y).mistakes_ for s in (0, 0, 1)]
    np.testing.assert_array_equal(runs[0], runs[1])
    assert not np.array_equal(runs[0], runs[2])


def test_the_learning_rate_scales_and_sums_without_drift():
    X, y = _integers(classes=2)
    one = KernelPerceptron(Linear(), 5, shuffle=False).fit(X, y)
    tenth = KernelPerceptron(Linear(), 5, shuffle=False, learning_rate=0.1).fit(X, y)
    np.testing.assert_array_equal(tenth.alpha_, 0.1 * one.alpha_)
    np.testing.assert_allclose(tenth.counts_, one.counts_)


def test_convergence_is_said_and_its_absence_too():
    X = np.array([[1.0, 1.0], [-1.0, -1.0], [2.0, 1.0]])
    model = KernelPerceptron(Linear(), **SEPARABLE).fit(X, [1, -1, 1])
    assert model.converged_
    assert model.n_iter_ < 5
    assert model.history_[-1]["mistakes"] == 0
    X, y = _integers()
    with pytest.warns(ConvergenceWarning, match="still made"):
        model = KernelPerceptron(Linear(), epochs=3).fit(X, y)
    assert not model.converged_
    with warnings.catch_warnings():  # one pass, or an average, promises none
        warnings.simplefilter("error")
        KernelPerceptron(Linear(), epochs=1).fit(X, y)
        KernelPerceptron(Linear(), epochs=3, averaging="average").fit(X, y)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.booleans(), st.sampled_from([Linear(), Polynomial(2)]))
def test_the_mistake_bound_is_never_violated(seed, bias, kernel):
    """(R/ρ)² without b; (b*² + 1)(R² + 1)/ρ² with it; ρ the half width, ‖w*‖ = 1."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(60, 2))
    phi = kernel.features(X)
    w = rng.normal(size=phi.shape[1])
    w /= np.linalg.norm(w)
    b = rng.normal() if bias else 0.0
    score = phi @ w + b
    keep = np.abs(score) > 0.2
    X, y, score, phi = X[keep], np.sign(score[keep]), score[keep], phi[keep]
    if len(np.unique(y)) < 2:
        return
    model = KernelPerceptron(kernel, 5000, fit_intercept=bias, random_state=seed).fit(X, y)
    rho, R2 = np.abs(score).min(), (phi**2).sum(axis=1).max()
    bound = (b**2 + 1) * (R2 + 1) / rho**2 if bias else R2 / rho**2
    assert model.converged_
    assert model.n_mistakes_ <= bound


# --- steps and regret --------------------------------------------------------------------------


@pytest.mark.parametrize("multi_class", ["native", "ovr"])
@pytest.mark.parametrize("classes", [2, 3])
def test_steps_show_what_fit_does(classes, multi_class):
    X, y = _integers(classes=classes)
    kernel = Polynomial(2)
    model = KernelPerceptron(
        kernel, 3, multi_class=multi_class, fit_intercept=True, random_state=4, margin=2.0
    )
    rng = np.random.default_rng(0)
    shape = (2,) if classes == 2 else (2, 3)
    star = KernelExpansion(
        kernel, X[:2], rng.normal(size=shape), 1.5 if classes == 2 else [1, 2, 3]
    )
    visits = list(model.steps(X, y, separator=star))
    model.fit(X, y)
    updates = [visit.index for visit in visits if visit.updated]
    # "ovr" lists an example once for each class that was wrong about it
    assert updates == [index for index, _ in itertools.groupby(model.mistakes_)]
    np.testing.assert_array_equal(visits[-1].alpha, model.alpha_)
    np.testing.assert_array_equal(np.atleast_1d(visits[-1].intercept), model.intercept_)
    assert len(visits) == model.n_visits_
    assert visits[-1].squared_norm == pytest.approx(np.sum(model.expansion_.squared_norm))
    alpha = model.alpha_.reshape(40, -1)
    aligned = np.sum((kernel(X[:2], X) @ alpha) * np.reshape(star.coef, (2, -1)))
    assert visits[-1].alignment == pytest.approx(aligned)
    fresh = clone(model)
    list(fresh.steps(X, y))
    assert vars(fresh) == vars(clone(model))  # steps leave no trace


def test_steps_of_the_primal():
    X, y = _integers(classes=2)
    w = np.array([1.0, -2.0])
    model = Perceptron(epochs=2, shuffle=False)
    visits = list(model.steps(X, y, separator=w))
    model.fit(X, y)
    np.testing.assert_array_equal(visits[-1].alpha @ X, model.coef_[0])
    assert visits[-1].alignment == pytest.approx(float(model.coef_[0] @ w))
    assert visits[-1].squared_norm == pytest.approx(float(model.coef_[0] @ model.coef_[0]))
    star = KernelExpansion(Linear(), w[None], np.ones(1), 3.0)
    assert list(model.steps(X, y, star))[-1].alignment == visits[-1].alignment
    assert next(iter(model.steps(X, y))).alignment is None


@pytest.mark.parametrize(("classes", "multi_class"), [(2, "native"), (3, "native"), (3, "ovr")])
def test_regret_is_what_learning_cost(classes, multi_class):
    X, y = _integers(classes=classes)
    model = KernelPerceptron(Linear(), 2.5, multi_class=multi_class, random_state=0)
    visits = list(model.steps(X, y))
    model.fit(X, y)
    shape = (1,) if classes == 2 else (1, 3)
    star = KernelExpansion(Linear(), X[3:4], np.arange(1.0, 1 + np.prod(shape)).reshape(shape))
    scores = star(X).reshape(40, -1)

    def hinge(f, label):
        f = np.atleast_1d(f)
        if classes > 2 and multi_class == "native":
            return max(0.0, 1 - (f[label] - np.delete(f, label).max()))
        sign = np.where(np.arange(len(f)) + (classes == 2) == label, 1, -1)
        return float(np.maximum(0, 1 - sign * f).sum())

    own = sum(hinge(v.score, v.target) for v in visits)
    other = sum(hinge(scores[v.index], v.target) for v in visits)
    assert model.regret(star, X, y, loss="hinge") == pytest.approx(own - other)
    best = clone(model).set_params(epochs=100).fit(X, y)  # not one that separates: noise
    made = model.regret(best.expansion_, X, y)
    assert made == int(made)
    assert model.regret(model.expansion_, X, y) <= model.n_mistakes_
    with pytest.raises(ValueError, match="no number of passes"):
        model.regret(star, X[:7], y[:7])
    with pytest.raises(ValueError, match="output"):
        model.regret(KernelExpansion(Linear(), X[:1], np.ones((1, 2))), X, y)
    with pytest.raises(ValueError, match="loss"):
        model.regret(star, X, y, loss="squared")


# --- every kind of input -----------------------------------------------------------------------


def test_dense_sparse_frame_precomputed_and_black_box_agree():
    import pandas as pd

    X, y = _integers()
    options = {"epochs": 4, "random_state": 0, "averaging": "vote"}
    kernel = Linear() * Linear() + 2.0
    expected = KernelPerceptron(kernel, **options).fit(X, y)
    scores = expected.decision_function(X)
    frame = pd.DataFrame(X, columns=["a", "b"])
    by_name = (Linear().on(["a", "b"]) ** 2) + 2.0
    for k, data in (
        (kernel, sp.csr_array(X)),
        (kernel, frame),
        (by_name, frame),
        ("linear()*linear() + 2", X.tolist()),
        ("precomputed", kernel(X)),
        (Precomputed(), kernel(X)),
        (lambda a, b: float(a @ b) ** 2 + 2.0, X),
        (Similarity(lambda A, B: (A @ B.T) ** 2 + 2.0, blocks=True), X),
    ):
        model = KernelPerceptron(k, **options).fit(data, y)
        np.testing.assert_array_equal(model.mistakes_, expected.mistakes_)
        np.testing.assert_array_equal(model.decision_function(data), scores)
        if not isinstance(data, np.ndarray) or data is X:
            parts = clone(model).partial_fit(data[:20], y[:20], classes=[0, 1, 2])
            parts.partial_fit(data[20:], y[20:])
            assert parts.n_mistakes_ > 5


@pytest.mark.parametrize("budget", [None, 5])
def test_strings(budget):
    words = ["cat", "car", "cart", "dog", "dot", "do"] * 3
    y = np.array(["c", "c", "c", "d", "d", "d"] * 3)
    model = KernelPerceptron(
        lambda a, b: float(len(set(a) & set(b))), budget=budget, random_state=0
    ).fit(words, y)
    assert model.score(words, y) == 1.0
    np.testing.assert_array_equal(model.predict(["carts", "dogs"]), ["c", "d"])
    model = KernelPerceptron(lambda a, b: float(len(set(a) & set(b))), budget=budget)
    for at in range(0, 18, 3):
        model.partial_fit(words[at : at + 3], y[at : at + 3], classes=["c", "d"])
    assert model.score(words, y) > 0.8


@pytest.mark.parametrize(
    ("zero", "one"), [("no", "yes"), (False, True), (-1, 1), (-7, -3), (2.0, 5.0)]
)
def test_labels_of_any_type(zero, one):
    X = np.array([[1.0, 0.5], [-1.0, 0.5], [2.0, 0.1], [-2.0, -1.0]])
    y = np.array([one, zero, one, zero])
    for model in (KernelPerceptron(Linear()), Perceptron()):
        model.fit(X, y)
        np.testing.assert_array_equal(model.predict(X), y)
        np.testing.assert_array_equal(model.classes_, sorted([zero, one]))


def test_float32_stays_float32_and_sparse_features_work():
    X, y = _integers()
    model = KernelPerceptron(Polynomial(2), 3, shuffle=False).fit(X.astype(np.float32), y)
    assert model.expansion_.points.dtype == np.float32
    double = KernelPerceptron(Polynomial(2), 3, shuffle=False).fit(X, y)
    np.testing.assert_array_equal(model.mistakes_, double.mistakes_)
    primal = Perceptron(epochs=3, shuffle=False).fit(sp.csr_array(X), y)
    dense = Perceptron(epochs=3, shuffle=False).fit(X, y)
    np.testing.assert_array_equal(primal.coef_, dense.coef_)


def test_features_that_do_not_fit_are_made_block_by_block():
    X, y = _integers()
    options = {"epochs": 3, "random_state": 0, "averaging": "vote", "validation_fraction": 0.2}

    def wide(rows):
        sizes.append(len(rows))
        return np.tile(rows, 100)

    sizes = []
    whole = Perceptron(wide, **options).fit(X, y)
    assert max(sizes) == 40
    sizes.clear()
    with mercer.config(memory=100_000):
        parts = Perceptron(wide, **options).fit(X, y)
    assert max(sizes) < 40
    np.testing.assert_array_equal(parts.coef_, whole.coef_)


def test_merged_points_of_sparse_rows_are_those_of_dense_ones():
    rng = np.random.default_rng(0)
    X, y = np.where(rng.random((80, 6)) < 0.4, rng.normal(size=(80, 6)), 0.0), np.arange(80) % 2
    options = {"budget": 5, "budget_policy": "merge", "epochs": 2, "random_state": 0}
    dense = KernelPerceptron(Gaussian(), **options).fit(X, y)
    sparse = KernelPerceptron(Gaussian(), **options).fit(sp.csr_array(X), y)
    np.testing.assert_array_equal(sparse.mistakes_, dense.mistakes_)
    np.testing.assert_allclose(
        sparse.decision_function(sp.csr_array(X)), dense.decision_function(X), atol=1e-10
    )
