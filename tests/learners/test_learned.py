"""Recursive feature machines against a plain transcription, and what they are not misled by."""

from __future__ import annotations

import time

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline

import mercer
from mercer import RFMClassifier, RFMRegressor
from mercer.gram.gradients import outer_product
from mercer.maps import LearnedMetric
from mercer.maps.learned import choice, rounds
from mercer.maps.learned.inputs import Inputs, merged
from mercer.maps.learned.rounds import (
    Shape,
    bent,
    best_of,
    kernel_of,
    learned,
    solved,
)


def problem(n=150, d=5, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, np.sin(2 * X[:, 0]) + X[:, 0] * X[:, 1] + 0.05 * rng.normal(size=n)


# --- the algorithm, word for word ---------------------------------------------------------------


def plain_round(Z, Y, A, length, power, norm, penalty):
    """α, leave-one-out residuals by N refits, and G, by loops over rows."""
    n = len(Z)
    U = Z @ A.T
    gap = U[:, None] - U[None]
    r = (np.abs(gap) ** norm).sum(axis=2) ** (1 / norm)
    K = np.exp(-((r / length) ** power))
    alpha = np.linalg.solve(K + penalty * np.eye(n), Y)
    left_out = np.empty_like(Y)
    for i in range(n):
        rest = np.arange(n) != i
        part = np.linalg.solve(K[np.ix_(rest, rest)] + penalty * np.eye(n - 1), Y[rest])
        left_out[i] = K[i, rest] @ part
    G = np.zeros((Z.shape[1], Z.shape[1]))
    for i in range(n):
        for t in range(Y.shape[1]):
            slope = np.zeros(Z.shape[1])
            for j in range(n):
                if r[i, j] == 0:
                    continue
                rise = np.sign(gap[i, j]) * np.abs(gap[i, j]) ** (norm - 1) * r[i, j] ** (1 - norm)
                rise *= -power / length * (r[i, j] / length) ** (power - 1) * K[i, j]
                slope += alpha[j, t] * (A.T @ rise)
            G += np.outer(slope, slope) / n
    return alpha, left_out, G


@pytest.mark.parametrize(("norm", "power"), [(2.0, 1.0), (2.0, 1.7), (1.0, 1.0), (1.5, 1.2)])
@pytest.mark.parametrize("full", [False, True])
def test_a_round_equals_a_plain_transcription(norm, power, full):
    rng = np.random.default_rng(1)
    Z, Y, w = rng.normal(size=(40, 3)), rng.normal(size=(40, 2)), np.ones(40)
    root = np.array([0.5, 1.0, 2.0]) if not full else rng.normal(size=(3, 3))
    shape = Shape(norm, 2.0, power)
    kernel = kernel_of(shape, root, Z)
    fitted = solved(kernel, shape, Z, Y, w, np.array([0.1, 0.01]))
    A = root if full else np.diag(root)
    length = kernel.kernel.length
    alpha, left_out, G = plain_round(Z, Y, A, length, power, norm, fitted.penalty)
    assert np.allclose(fitted.coef, alpha, rtol=1e-8, atol=1e-8)
    assert np.allclose(fitted.loo, left_out, rtol=1e-8, atol=1e-8)
    assert fitted.error == pytest.approx(np.square(Y - left_out).sum(axis=1).mean(), rel=1e-8)
    assert np.allclose(
        outer_product(fitted.kernel, Z, Z, fitted.coef, w, diagonal=False), G, rtol=1e-8, atol=1e-8
    )
    assert np.allclose(
        outer_product(fitted.kernel, Z, Z, fitted.coef, w, diagonal=True), np.diag(G), atol=1e-8
    )
    new = bent(G)
    assert np.allclose(new.T @ new, G / np.abs(G).max(), atol=1e-8)
    (again,) = learned([shape], [fitted.penalty], Z, Y, w, diagonal=False)
    first = solved(kernel_of(shape, None, Z), shape, Z, Y, w, [fitted.penalty])
    M = outer_product(first.kernel, Z, Z, first.coef, w)
    assert np.allclose(again.T @ again, M / np.abs(M).max(), atol=1e-8)


def test_weights_count_as_copies():
    rng = np.random.default_rng(2)
    Z, Y, w = rng.normal(size=(20, 2)), rng.normal(size=(20, 1)), rng.integers(1, 4, 20) * 1.0
    kernel = mercer.Laplacian(0.5)
    fitted = solved(kernel, Shape(2.0, 1.0), Z, Y, w, np.array([0.3]))
    copies = np.repeat(np.arange(20), w.astype(int))
    K = kernel(Z[copies])
    alpha = np.linalg.solve(K + 0.3 * np.eye(len(K)), Y[copies])
    assert np.allclose(kernel(Z) @ fitted.coef, kernel(Z, Z[copies]) @ alpha)
    path = solved(kernel, Shape(2.0, 1.0), Z, Y, w, np.array([0.3, 0.3]))
    assert np.allclose(path.loo, fitted.loo)
    for i in (0, 7):
        rest = np.arange(20) != i
        part = solved(kernel, Shape(2.0, 1.0), Z[rest], Y[rest], w[rest], np.array([0.3]))
        assert np.allclose(kernel(Z[[i]], Z[rest]) @ part.coef, fitted.loo[i])


def test_the_best_shape_has_the_least_leave_one_out_error():
    X, y = problem(80)
    shapes = [Shape(2.0, length) for length in (0.1, 1.0, 10.0)]
    w, Y = np.ones(80), y[:, None]
    every = [solved(kernel_of(s, None, X), s, X, Y, w, [0.1, 0.01]).error for s in shapes]
    assert best_of(shapes, None, X, Y, w, [0.1, 0.01]).error == min(every)


# --- inputs -------------------------------------------------------------------------------------


def test_inputs_have_one_spread_and_ranks_are_in_the_middle_of_ties():
    rng = np.random.default_rng(0)
    X = np.column_stack(
        [
            np.exp(rng.normal(size=99)),
            np.arange(99) % 2 * 5.0 + 1,
            np.full(99, 3.0),
            np.arange(99) // 33,
        ]
    )
    values = Inputs.of("values", X, np.ones(99))(X)
    assert np.allclose(values[:, 0].std(), 1)
    assert set(values[:, 1]) == {0.0, 1.0}
    assert not values[:, 2].any()
    ranks = Inputs.of("ranks", X, np.ones(99))(X)
    order = np.argsort(X[:, 0])
    assert (np.diff(ranks[order, 0]) > 0).all()
    assert ranks[:, 0].std() == pytest.approx(1, rel=0.05)
    assert np.allclose(np.unique(ranks[:, 3]), np.array([-1, 0, 1]) * 12**0.5 / 3, atol=0.05)
    both = Inputs.of("both", X, np.ones(99))
    assert both(X).shape == (99, 6)
    assert np.allclose(both.folded(np.ones(6)), [2, 1, 1, 2])


@pytest.mark.parametrize(("middle", "kinds"), [(0.0, {"values"}), (0.5, {"values", "both"})])
def test_ranks_of_two_values_are_not_tried(monkeypatch, middle, kinds):
    tried, chain = set(), choice._chain

    def noted(member, *rest, **options):
        tried.add(member.inputs)
        return chain(member, *rest, **options)

    monkeypatch.setattr(choice, "_chain", noted)
    X = (np.random.default_rng(0).random((80, 7)) < 0.5).astype(float)
    X[:10, 0] = middle
    RFMRegressor().fit(X, X[:, 0] * X[:, 1] + X[:, 2])
    assert tried == kinds


def test_equal_rows_are_one():
    X = np.array([[1.0, 2.0], [0.0, 1.0], [1.0, 2.0]])
    rows, targets, weights = merged(X, np.array([[1.0], [5.0], [4.0]]), np.array([1.0, 1.0, 2.0]))
    assert rows.tolist() == [[0.0, 1.0], [1.0, 2.0]]
    assert targets.tolist() == [[5.0], [3.0]]
    assert weights.tolist() == [1.0, 3.0]


# --- learners -----------------------------------------------------------------------------------


def test_useless_columns_fade():
    X, y = problem(400, 12)
    model = RFMRegressor().fit(X[:300], y[:300])
    fixed = RFMRegressor("fixed").fit(X[:300], y[:300])
    assert model.rounds_ >= 1
    assert fixed.rounds_ == 0
    assert model.score(X[300:], y[300:]) > 0.95 > fixed.score(X[300:], y[300:])
    assert model.importances_[:2].sum() > 0.95
    assert model.importances_.sum() == pytest.approx(1)


def test_a_metric_that_overfits_is_not_taken():
    rng = np.random.default_rng(0)
    X = (rng.random((400, 60)) < 0.3).astype(float)
    truth = X.sum(axis=1)  # all columns matter alike
    y = truth[:100] + 3.0 * rng.normal(size=100)
    chosen, fixed, forced = (
        RFMRegressor(**given).fit(X[:100], y).score(X[100:], truth[100:])
        for given in ({}, {"metric": "fixed"}, {"metric": "diagonal", "rounds": 3, "norm": 2})
    )
    assert chosen >= fixed - 0.05
    assert forced < fixed - 0.2


def test_the_same_bits_whatever_the_order_and_the_memory(tmp_path):
    X, y = problem(120)
    model = RFMRegressor().fit(X, y)
    assert np.array_equal(RFMRegressor().fit(X, y).predict(X), model.predict(X))
    assert np.allclose(RFMRegressor().fit(X[::-1], y[::-1]).predict(X), model.predict(X))
    with mercer.config(memory="16MB"):
        assert np.allclose(RFMRegressor().fit(X, y).predict(X), model.predict(X))
    model.save(tmp_path / "m")
    assert np.array_equal(mercer.load(tmp_path / "m").predict(X), model.predict(X))


def test_classes_probabilities_and_files(tmp_path):
    X, y = problem(300)
    labels = np.where(y > 0.7, "high", np.where(y < -0.7, "low", "middle"))
    model = RFMClassifier().fit(X[:200], labels[:200])
    assert model.score(X[200:], labels[200:]) > 0.8
    shares = model.predict_proba(X[200:])
    assert np.allclose(shares.sum(axis=1), 1)
    assert shares.shape == (100, 3)
    assert (model.classes_[model.decision_function(X).argmax(1)] == model.predict(X)).all()
    model.save(tmp_path / "m")
    assert np.array_equal(mercer.load(tmp_path / "m").predict_proba(X), model.predict_proba(X))


def test_weights_of_classes_shift_the_decision():
    X, y = problem(300)
    rare = y > 1.2
    plain, balanced = (RFMClassifier(class_weight=c).fit(X, rare) for c in (None, "balanced"))
    assert balanced.predict(X).sum() >= plain.predict(X).sum()
    heavy = RFMClassifier(rounds=1).fit(X, rare, sample_weight=np.where(rare, 50.0, 1.0))
    assert heavy.predict(X).sum() >= plain.predict(X).sum()


def test_several_outputs_share_a_metric():
    X, y = problem(150)
    model = RFMRegressor(rounds=1).fit(X, np.column_stack([y, 100 * X[:, 2]]))
    assert model.predict(X).shape == (150, 2)
    assert model.metric_.shape[0] >= 5
    assert model.importances_[[0, 1, 2]].sum() > 0.9


def test_more_rows_than_a_factorization_takes(monkeypatch):
    from mercer.learners.learned import estimators
    from mercer.maps.learned import metric

    X, y = problem(500)
    whole = RFMRegressor(rounds=1).fit(X, y)
    monkeypatch.setattr(estimators, "PATH_ROWS", 200)
    monkeypatch.setattr(metric, "ROUND_ROWS", 300)
    sampled = RFMRegressor(rounds=1).fit(X, y)
    assert len(sampled.expansion_) == 500
    assert np.corrcoef(sampled.predict(X), whole.predict(X))[0, 1] > 0.99


@pytest.mark.parametrize(
    "spoil",
    [
        lambda X: np.column_stack([X, np.full(len(X), 7.0)]),
        lambda X: np.column_stack([X, X[:, 0]]),
        lambda X: X * 1e-150,
        lambda X: X * 1e150,
        lambda X: X.astype(np.float32),
        lambda X: np.column_stack([X, np.where(np.arange(len(X)) == 3, 1e12, 0.0)]),
    ],
    ids=["constant", "twice", "tiny", "huge", "float32", "outlier"],
)
def test_odd_columns_are_answered(spoil):
    X, y = problem(100)
    model = RFMRegressor().fit(spoil(X), y)
    assert model.score(spoil(X), y) > 0.8


def test_few_rows_wide_rows_and_constant_targets_are_answered():
    X, y = problem(30)
    for n in (1, 2, 3, 10):
        assert np.isfinite(RFMRegressor().fit(X[:n], y[:n]).predict(X)).all()
    assert np.allclose(RFMRegressor().fit(X, np.full(30, 4.0)).predict(X), 4.0)
    rng = np.random.default_rng(0)
    assert np.isfinite(RFMRegressor().fit(rng.normal(size=(30, 5000)), y).importances_).all()
    wide = rng.normal(size=(30, 100_000))
    assert np.isfinite(RFMRegressor().fit(wide, y).predict(wide)).all()
    assert RFMClassifier().fit(wide, y > 0).predict(wide[:2]).shape == (2,)
    assert RFMClassifier().fit(X[:4], [0, 1, 0, 1]).predict(X).shape == (30,)
    assert RFMRegressor().fit(np.zeros((9, 2)), np.arange(9.0)).predict([[0.0, 0.0]]) == [4.0]


@pytest.mark.parametrize("model", [RFMRegressor(), RFMClassifier()])
def test_what_it_cannot_take_is_said(model):
    X, y = problem(30)
    with pytest.raises(TypeError, match=r"[Ss]parse"):
        model.fit(sparse.csr_matrix(X), y > 0)
    with pytest.raises(ValueError, match="infinity"):
        model.fit(np.where(X[0, 0] == X, np.inf, X), y > 0)
    if isinstance(model, RFMRegressor):
        with pytest.raises(ValueError, match="infinity"):
            model.fit(X, np.where(y == y[0], np.inf, y))
    with pytest.raises(ValueError, match="holds text"):
        model.fit(pd.DataFrame({"a": ["x", "y"], "b": [1.0, 2.0]}), [0, 1])
    with pytest.raises(ValueError, match="metric"):
        type(model)("round").fit(X, y > 0)


def test_one_class_is_refused():
    with pytest.raises(ValueError, match="class"):
        RFMClassifier().fit(np.zeros((5, 2)), [1] * 5)


# --- Ctrl-C -------------------------------------------------------------------------------------


def test_ctrl_c_keeps_the_best_member_so_far(monkeypatch):
    X, y = problem(200)
    real, errors = choice._chain, []

    def chain(member, part, rounds, search, hints, stops=False):
        if len(errors) == 3:
            raise KeyboardInterrupt
        found = real(member, part, rounds, search, hints, stops)
        errors.append((min(part.least(one) for one in found), member))
        return found

    monkeypatch.setattr(choice, "_chain", chain)
    with pytest.warns(ConvergenceWarning, match="interrupted: the metric is the best one"):
        model = RFMRegressor().fit(X, y)
    best = min(errors, key=lambda one: one[0])[1]
    asked = {"metric": best.metric, "norm": best.norm, "inputs": best.inputs}
    assert asked.items() <= model.chosen_.items()
    assert model.score(X, y) > 0.8
    errors[:] = [None] * 3
    with pytest.raises(KeyboardInterrupt):  # nothing is known yet
        RFMRegressor().fit(X, y)


def test_ctrl_c_keeps_the_rounds_so_far(monkeypatch):
    X, y = problem(200)
    asked = {"length": 2.0, "power": 1.0, "alpha": 1e-3, "norm": 2.0, "inputs": "values"}
    once = RFMRegressor("diagonal", 1, **asked).fit(X, y)
    real, calls = rounds.outer_product, []

    def outer_product(*arguments):
        calls.append(1)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return real(*arguments)

    monkeypatch.setattr(rounds, "outer_product", outer_product)
    with pytest.warns(ConvergenceWarning, match="interrupted"):
        model = RFMRegressor("diagonal", 4, **asked).fit(X, y)
    assert model.rounds_ == 1
    assert np.array_equal(model.predict(X), once.predict(X))


def test_what_was_chosen_may_be_fitted_again():
    X, y = problem(300)
    model = RFMRegressor().fit(X, y)
    again = RFMRegressor(**model.chosen_).fit(X, y)
    assert again.chosen_ == model.chosen_
    assert again.score(X, y) == pytest.approx(model.score(X, y), abs=0.02)
    few = RFMRegressor(**model.chosen_, n_centers=50).fit(X, y)
    assert len(few.expansion_) == 50
    assert few.score(X, y) > 0.8


# --- the map ------------------------------------------------------------------------------------


def test_a_learned_metric_helps_neighbors():
    X, y = problem(300, 10)
    plain = KNeighborsRegressor().fit(X[:200], y[:200]).score(X[200:], y[200:])
    pipeline = make_pipeline(LearnedMetric(), KNeighborsRegressor()).fit(X[:200], y[:200])
    assert pipeline.score(X[200:], y[200:]) > plain + 0.2
    search = GridSearchCV(pipeline, {"learnedmetric__metric": ["full", "diagonal"]}, cv=2)
    assert search.fit(X[:100], y[:100]).best_score_ > 0


def test_a_learned_metric_of_classes_and_files(tmp_path):
    X, y = problem(150)
    learned = LearnedMetric("full", 1).fit(X, np.where(y > 0, "a", "b"))
    assert learned.metric_.shape == (5, 5)
    assert learned.rounds_ == 1
    distance = learned.transform(X[:1]) - learned.transform(X[1:2])
    gap = learned.inputs_(X[:1]) - learned.inputs_(X[1:2])
    assert np.square(distance).sum() == pytest.approx((gap @ learned.metric_ @ gap.T).item())
    mercer.save(learned, tmp_path / "m")
    assert np.array_equal(mercer.load(tmp_path / "m").transform(X), learned.transform(X))


@pytest.mark.slow
def test_all_choices_take_seconds():
    X, y = problem(2000, 20)
    RFMRegressor().fit(X[:300], y[:300])
    start = time.process_time()
    RFMRegressor().fit(X, y)
    assert time.process_time() - start < 4.0, "1.5 s where nothing else runs"


def test_a_refined_solution_is_as_exact_as_that_of_the_own_factor():
    random = np.random.default_rng(0)
    Z, Y = random.normal(size=(120, 4)), random.normal(size=(120, 2))
    K = np.exp(-np.sqrt(np.square(Z[:, None] - Z).sum(axis=2)))
    A = K + 1e-3 * np.eye(120)
    made = rounds._refined(A, Y)
    assert np.abs(made - np.linalg.solve(A, Y)).max() < 1e-12 * np.abs(made).max()
    assert rounds._refined(A, np.zeros((120, 1))).max() == 0.0


def test_what_float32_cannot_factorize_has_its_own_factor():
    Z = np.linspace(0, 1, 60)[:, None]
    kernel, w = mercer.Gaussian(3.0), np.ones(60)
    A = kernel(Z) + 1e-9 * np.eye(60)
    assert rounds._refined(A, np.sin(9 * Z)) is None
    coef = rounds.coefficients(kernel, Z, np.sin(9 * Z), w, 1e-9)
    assert np.abs(A @ coef - np.sin(9 * Z)).max() < 1e-6
