"""Support vector machines over pieces: the optimum of all rows, proved over all rows."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mercer
from mercer import KernelOneClass, KernelSVC, KernelSVR
from mercer.engines.cluster import svm

TOL = 1e-5


@pytest.fixture(autouse=True)
def small_shards(monkeypatch):
    """Shards and rounds of few rows, so that small problems go through all of the loop."""
    for name, value in {"EXACT_ROWS": 60, "SHARD_ROWS": 10, "JOINING_ROWS": 20}.items():
        monkeypatch.setattr(svm, name, value)


def _problem(seed, n=200, classes=2):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, rng.integers(1, 5)))
    y = np.digitize(X[:, 0] + 0.5 * rng.normal(size=n), np.linspace(-0.5, 0.5, classes - 1))
    return X, y, rng


def _gap(model, X, y, C):
    """LIBSVM's rule over all rows, from the model's own numbers."""
    a = np.zeros(len(y))
    a[model.support_] = model.dual_coef_[0]
    signs = np.where(y == y.max(), 1.0, -1.0)
    K = model.kernel_(X)
    values = signs - K @ a
    lower, upper = np.where(signs > 0, 0, -C), np.where(signs > 0, C, 0)
    return values[a < upper].max() - values[a > lower].min()


@settings(max_examples=15, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    C=st.sampled_from([0.1, 1.0, 30.0]),
    step=st.integers(20, 130),
    ordered=st.booleans(),
)
def test_one_large_problem_ends_where_one_machine_does(seed, C, step, ordered):
    X, y, _ = _problem(seed)
    if ordered:  # every shard has one class only
        order = np.argsort(y, kind="stable")
        X, y = X[order], y[order]
    options = {"kernel": "gaussian(1)", "C": C, "tol": TOL}
    here = KernelSVC(**options).fit(X, y)
    there = KernelSVC(**options).fit(mercer.chunks(X, rows=step), y)
    assert there.fit_status_ == 0
    assert _gap(there, X, y, C) <= TOL * (1 + 1e-6)
    # Both duals are within n·C·tol of the optimum.
    assert abs(there.dual_objective_ - here.dual_objective_) <= len(y) * C * TOL
    np.testing.assert_allclose(there.decision_function(X), here.decision_function(X), atol=0.02)
    np.testing.assert_array_equal(there.support_vectors_, X[there.support_])


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10**6), epsilon=st.sampled_from([0.0, 0.1, 0.5]), nu=st.booleans())
def test_regression_ends_where_one_machine_does(seed, epsilon, nu):
    X, _, rng = _problem(seed)
    y = np.sin(2 * X[:, 0]) + 0.2 * rng.normal(size=len(X))
    options = {"kernel": "gaussian(1)", "tol": TOL, "epsilon": epsilon, "nu": 0.4 if nu else None}
    here = KernelSVR(**options).fit(X, y)
    there = KernelSVR(**options).fit(mercer.chunks(X, rows=70), mercer.chunks(y, rows=70))
    assert there.fit_status_ == 0
    assert abs(there.dual_objective_ - here.dual_objective_) <= len(y) * TOL
    np.testing.assert_allclose(there.predict(X), here.predict(X), atol=0.02)


@pytest.mark.parametrize("classes", [3, 6])
@pytest.mark.parametrize("rows", [60, 1000], ids=["large pairs", "pairs as tasks"])
def test_pairs_of_classes_vote_as_on_one_machine(classes, rows, monkeypatch):
    monkeypatch.setattr(svm, "EXACT_ROWS", rows)
    X, y, rng = _problem(3, 300, classes)
    weight = rng.uniform(0, 2, len(y)) * (rng.uniform(size=len(y)) > 0.1)
    labels = np.array(list("abcdef"))[y]
    here = KernelSVC("gaussian(1)", class_weight="balanced").fit(X, labels, weight)
    there = KernelSVC("gaussian(1)", class_weight="balanced").fit(
        mercer.chunks(X, rows=90), labels, weight
    )
    assert there.classes_.tolist() == here.classes_.tolist()
    f = "decision_function"
    np.testing.assert_allclose(getattr(there, f)(X), getattr(here, f)(X), atol=0.02)
    assert there.n_support_.sum() == len(there.support_vectors_) < 300


def test_nu_and_one_class_and_a_warm_start():
    X, y, _ = _problem(4)
    rows = mercer.chunks(X, rows=70)
    for model in (KernelSVC("gaussian(1)", nu=0.3), KernelOneClass("gaussian(1)", nu=0.2)):
        here = mercer.KernelSVC.fit(model, X, y) if isinstance(model, KernelSVC) else model.fit(X)
        f = here.decision_function(X)
        there = model.fit(rows, y)
        np.testing.assert_allclose(there.decision_function(X), f, atol=0.02)
    warm = KernelSVC("gaussian(1)", C=1.0, warm_start=True).fit(rows, y)
    again = warm.set_params(C=2.0).fit(rows, y)
    cold = KernelSVC("gaussian(1)", C=2.0).fit(X, y)
    np.testing.assert_allclose(again.decision_function(X), cold.decision_function(X), atol=0.05)


@pytest.mark.parametrize(
    ("act", "told"),
    [
        (lambda X, y: KernelSVC(C=np.inf).fit(X, y), "take a finite C"),
        (lambda X, y: KernelSVC(probability=True).fit(X, y), "KernelLogisticRegression has"),
        (lambda X, y: KernelSVC().fit(X, np.zeros(200)), "at least 2 classes"),
        (lambda X, y: KernelSVC("gaussian(1)").fit(mercer.chunks(X[:] * np.nan), y), "NaN"),
        (lambda X, y: KernelSVR("gaussian(1)").fit(X, y * np.nan), "NaN"),
    ],
)
def test_what_does_not_work_on_pieces_is_said(act, told):
    X, y, _ = _problem(5)
    with pytest.raises((TypeError, ValueError), match=told):
        act(mercer.chunks(X, rows=70), y)


def test_a_limit_on_steps_is_kept_and_said():
    X, y, _ = _problem(6)
    with pytest.warns(UserWarning, match="terminated early"):
        model = KernelSVC("gaussian(1)", max_iter=3).fit(mercer.chunks(X, rows=70), y)
    assert model.fit_status_ == 1
