"""Models of many rows in leaves: against a plain transcription, and across borders."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import pdist
from tests.learners.test_learned import plain_round, problem

import mercer
from mercer import RFMClassifier, RFMRegressor
from mercer.learners.learned import leaves
from mercer.learners.learned.leaves import BORDER, grown, rows_of_leaf
from mercer.maps.learned.choice import Member, Recipe
from mercer.maps.learned.rounds import Shape, kernel_of
from mercer.tuning import EXACT_ROWS

PENALTY = 0.1


@pytest.fixture
def small(monkeypatch):
    """200 rows make leaves of at most 63."""
    monkeypatch.setattr(leaves, "EXACT_ROWS", 93)


# --- word for word ------------------------------------------------------------------------------


def plain_metric(Z, Y):
    """Weights of the columns after one round, and the length in units of the median distance."""
    _, _, G = plain_round(Z, Y, np.eye(Z.shape[1]), np.median(pdist(Z)), 1.0, 2.0, PENALTY)
    root = np.sqrt(np.diag(G) / np.diag(G).max())
    return root, float(np.median(pdist(Z * root)))


def plain_leaves(Z, Y, T, most, root, length):
    """f of rows T: split, or fit and answer."""
    mean = Y.mean(axis=0)
    if len(Z) <= most:
        root, length = plain_metric(Z, Y - mean)
        alpha, _, _ = plain_round(Z, Y - mean, np.diag(root), length, 1.0, 2.0, PENALTY)
        gaps = np.linalg.norm((T[:, None] - Z[None]) * root, axis=2)
        return np.exp(-gaps / length) @ alpha + mean
    _, _, G = plain_round(Z, Y - mean, np.diag(root), length, 1.0, 2.0, PENALTY)
    v = np.linalg.eigh(G)[1][:, -1]
    p = Z @ v
    t = np.sort(p)[len(p) // 2 - 1 : len(p) // 2 + 1].mean()
    h = np.quantile(np.abs(p - t), BORDER)
    left, right = p < t + h, p > t - h
    s = np.clip(0.5 + (T @ v - t) / (2 * h), 0, 1)[:, None]
    below = plain_leaves(Z[left], Y[left], T, most, root, length)
    above = plain_leaves(Z[right], Y[right], T, most, root, length)
    return (1 - s) * below + s * above


def test_leaves_equal_a_plain_transcription(monkeypatch):
    monkeypatch.setattr(leaves, "EXACT_ROWS", 33)
    rng = np.random.default_rng(3)
    Z, Y, T = rng.normal(size=(60, 3)), rng.normal(size=(60, 2)), rng.normal(size=(500, 3))
    shape = Shape(2.0, 1.0, 1.0)
    recipe = Recipe(Member("values", 2.0, "diagonal"), (shape, shape), (PENALTY, PENALTY), 0.0)
    root, length = plain_metric(Z, Y - Y.mean(axis=0))
    f = grown(recipe, kernel_of(shape, root, Z), PENALTY, Z, Y, np.ones(60))
    assert [len(one) <= rows_of_leaf(60) == 24 for one in f.leaves] == [True] * 4
    assert sum(map(len, f.leaves)) > 60  # borders belong to both sides
    plain = plain_leaves(Z, Y, T, 24, root, length)
    assert np.allclose(f(T), plain, rtol=1e-8, atol=1e-8)


def test_f_goes_over_borders_without_a_jump(small):
    X, y = problem(200)
    f = RFMRegressor(rounds=1, inputs="values", norm=2.0).fit(X, y).leaves_
    v, t, h = f.directions[0], f.thresholds[0], f.widths[0]
    across = X[0] + np.linspace(-1.5 * h, 1.5 * h, 3001)[:, None] * v + (t - X[0] @ v) * v
    inside = np.abs(across @ v - t) < h
    assert 1500 < inside.sum() < 2500
    assert np.abs(np.diff(f(across))).max() < 0.01 * np.ptp(y)


# --- models -------------------------------------------------------------------------------------


def test_leaves_learn_what_matters_where_it_does(small, tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 6))
    y = np.where(X[:, 0] > 0, 3 + np.sin(3 * X[:, 1]), np.sin(3 * X[:, 2]))
    model = RFMRegressor().fit(X[:200], y[:200])
    assert len(model.leaves_.leaves) >= 4
    assert model.score(X[200:], y[200:]) > 0.8
    assert model.importances_[:3].sum() > 0.9
    assert model.importances_.sum() == pytest.approx(1)
    model.save(tmp_path / "m")
    assert np.array_equal(mercer.load(tmp_path / "m").predict(X), model.predict(X))
    assert not hasattr(model, "expansion_")
    with pytest.raises(TypeError, match="leaves has no ONNX form"):
        mercer.onnx.export(model)
    model.set_params(n_centers=50).fit(X[:200], y[:200])
    assert len(model.expansion_) == 50
    assert not hasattr(model, "leaves_")


def test_leaves_of_classes_and_of_several_outputs(small):
    X, y = problem(300)
    labels = np.where(y > 0.7, "high", np.where(y < -0.7, "low", "middle"))
    for target, least in ((labels, 0.75), (y > 0, 0.85)):
        model = RFMClassifier().fit(X[:200], target[:200])
        assert len(model.leaves_.leaves) > 1
        assert model.score(X[200:], target[200:]) > least
        assert np.allclose(model.predict_proba(X).sum(axis=1), 1)
    both = RFMRegressor(rounds=1).fit(X[:200], np.column_stack([y, 5 - y])[:200]).predict(X)
    assert np.allclose(both.sum(axis=1), 5, atol=1e-6)


@pytest.mark.parametrize("metric", ["diagonal", "fixed"])
def test_columns_of_few_values_are_split_somewhere(small, metric):
    rng = np.random.default_rng(0)
    X = np.unique((rng.random((400, 12)) < 0.1).astype(float), axis=0)
    X = np.column_stack([np.repeat(X, 2, axis=0), np.tile([0.0, 1.0], len(X))])
    y = X.sum(axis=1)
    model = RFMRegressor(metric).fit(X, y)
    assert max(map(len, model.leaves_.leaves)) <= rows_of_leaf(len(X))
    assert model.score(X, y) > 0.9


def test_rows_that_no_direction_tells_apart_are_one_leaf():
    Z, shape = np.zeros((50, 2)), Shape(2.0, 1.0, 1.0)
    recipe = Recipe(Member("values", 2.0, "fixed"), (shape,), (PENALTY,), 0.0)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(leaves, "EXACT_ROWS", 20)
        f = grown(recipe, kernel_of(shape, None, Z), PENALTY, Z, np.ones((50, 1)), np.ones(50))
    assert len(f.leaves) == 1
    assert np.allclose(f(Z), 1.0)


def test_all_leaves_together_take_what_one_exact_solution_takes():
    assert rows_of_leaf(EXACT_ROWS) == EXACT_ROWS
    assert rows_of_leaf(16 * EXACT_ROWS) == EXACT_ROWS // 4
    with mercer.config(memory="16MB"):
        assert rows_of_leaf(EXACT_ROWS) == 1000
