"""Learners of rows in pieces: each fit is that of one array, by sums over pieces."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import mercer
from mercer import KernelLogisticRegression, KernelRidge, KernelRidgeClassifier
from mercer.engines.cluster.gram import ChunkGram
from mercer.engines.cluster.learning.newton import PieceLoss, SumsNewton
from mercer.solvers.linear.nystrom import centers_at
from mercer.solvers.smooth.spaces import CenterSpan

RNG = np.random.default_rng(0)
X = RNG.normal(size=(400, 3))
Y = np.sin(X[:, 0]) + X[:, 1]


def _chunks(rows=X, step=70):
    return mercer.chunks(rows, rows=step)


def _classes(n):
    return np.array(list("abc"))[np.digitize(Y, np.quantile(Y, np.arange(1, n) / n))]


@pytest.mark.parametrize(
    ("classes", "options"),
    [
        (2, {"alpha": "auto"}),
        (2, {"weights": RNG.uniform(0.5, 2, 400), "fit_intercept": False}),
        (3, {}),
        (3, {"class_weight": "balanced", "centers": X[:20]}),
    ],
    ids=["auto", "sample_weight", "three", "class_weight"],
)
def test_logistic_regression_by_newton_sums(classes, options):
    options = {"alpha": 0.1, "solver": "nystrom", "n_centers": 30, "tol": 1e-9} | options
    weights, labels = options.pop("weights", None), _classes(classes)
    whole, ours = (
        KernelLogisticRegression("gaussian(2)", random_state=0, **options).fit(x, labels, weights)
        for x in (X, _chunks())
    )
    assert ours.alpha_ == whole.alpha_
    assert ours.objective_ == pytest.approx(whole.objective_, rel=1e-7)
    np.testing.assert_allclose(ours.predict_proba(X), whole.predict_proba(X), atol=1e-3)
    assert ours.expansion_.points.shape == (len(ours.dual_coef_), 3)


@pytest.mark.parametrize("classes", [2, 3])
def test_a_class_may_be_missing_in_a_piece(classes):
    order = np.argsort(Y)
    rows, labels = X[order], _classes(classes)[order]
    options = {"alpha": 1.0, "n_centers": 30, "random_state": 0, "solver": "nystrom", "tol": 1e-9}
    whole, ours = (
        KernelLogisticRegression("gaussian(2)", **options).fit(x, labels)
        for x in (rows, _chunks(rows, 50))
    )
    np.testing.assert_allclose(ours.predict_proba(X), whole.predict_proba(X), atol=1e-3)


def test_newton_without_the_matrix_asks_for_products(monkeypatch):
    labels = _classes(2)
    options = {"alpha": 1e-3, "n_centers": 30, "random_state": 0, "tol": 1e-9}
    direct = KernelLogisticRegression("gaussian(2)", **options).fit(_chunks(), labels)
    monkeypatch.setattr("mercer.solvers.linear.nystrom.NORMAL_MATRIX_FLOPS", 0)
    products = KernelLogisticRegression("gaussian(2)", **options).fit(_chunks(), labels)
    np.testing.assert_allclose(products.predict_proba(X), direct.predict_proba(X), atol=1e-3)


def test_a_step_too_long_is_halved():
    rows = _chunks()
    loss = PieceLoss(rows.aligned((Y > 0).astype(int)), 2)
    centers = centers_at(ChunkGram(mercer.Gaussian(2.0), rows), np.arange(0, 400, 20))
    solver = SumsNewton(CenterSpan(centers, np.random.RandomState(0)), loss, 0.1, True)
    start = solver.start(None)
    objective = solver.objective(start)
    step = solver.step(start, objective)
    after = solver.searched(start, replace(step, coef=99 * step.coef), objective)
    assert solver.objective(after) < objective
    length = after.coef[0, 0] / (99 * step.coef[0, 0])
    assert length < 1
    assert np.log2(length) == pytest.approx(round(np.log2(length)))


@pytest.mark.parametrize("options", [{"alpha": 0.1}, {"alphas": [0.01, 1.0]}], ids=["one", "path"])
@pytest.mark.parametrize("targets", [Y, np.column_stack([Y, Y**2])], ids=["one", "two"])
def test_ridge_regression_by_features(options, targets):
    whole, ours = (
        KernelRidge("polynomial(2)", fit_intercept=True, **options).fit(x, targets)
        for x in (X, _chunks())
    )
    assert ours.solver_ == whole.solver_ == "primal"
    assert ours.alpha_ == whole.alpha_
    np.testing.assert_allclose(ours.predict(X), whole.predict(X), atol=1e-10)
    np.testing.assert_allclose(ours.expansion_(X), whole.predict(X), atol=1e-10)
    assert len(ours.X_fit_) < 30, "a model keeps as many examples as span its features"
    if "alphas" in options:
        np.testing.assert_allclose(ours.loo_errors_, whole.loo_errors_, rtol=1e-9)


def test_a_model_of_pieces_is_saved_and_knows_no_deviations(tmp_path):
    for kernel in ("gaussian(2)", "polynomial(2)"):
        model = KernelRidge(kernel, alpha=0.1, n_centers=20, random_state=0).fit(_chunks(), Y)
        model.save(tmp_path / "model.mercer")
        again = mercer.load(tmp_path / "model.mercer")
        np.testing.assert_array_equal(again.predict(X), model.predict(X))
        with pytest.raises(ValueError, match="a model of rows in pieces keeps its"):
            again.predict(X, return_std=True)


def test_arrays_of_unknown_sizes():
    da = pytest.importorskip("dask.array", reason="Dask is not installed")
    rows, kept = da.from_array(X, chunks=(70, 3)), X[:, 0] > -1
    some, labels = rows[rows[:, 0] > -1], da.from_array(Y > 0, chunks=70)[rows[:, 0] > -1]
    options = {"alpha": 0.1, "n_centers": 20, "random_state": 0, "tol": 1e-9}
    ours = KernelLogisticRegression("gaussian(2)", **options).fit(some, labels)
    whole = KernelLogisticRegression("gaussian(2)", solver="nystrom", **options)
    whole.fit(X[kept], Y[kept] > 0)
    shares = ours.predict_proba(some)
    assert np.isnan(shares.shape[0])
    np.testing.assert_allclose(shares.compute(), whole.predict_proba(X[kept]), atol=1e-3)


def test_class_weights_over_pieces():
    options = {"alpha": 0.1, "class_weight": "balanced", "random_state": 0, "n_centers": 30}
    whole, ours = (
        KernelRidgeClassifier("gaussian(2)", solver="nystrom", **options).fit(x, Y > 1)
        for x in (X, _chunks())
    )
    np.testing.assert_allclose(ours.decision_function(X), whole.decision_function(X), atol=1e-7)


@pytest.mark.parametrize("learner", [KernelRidge, KernelRidgeClassifier])
def test_no_penalty_is_refused_in_a_sentence(learner):
    with pytest.raises(ValueError, match="needs alpha > 0"):
        learner("gaussian(2)", alpha=0.0).fit(_chunks(), Y > 0)
