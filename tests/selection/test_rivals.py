"""Learners without a kernel in the race: on the same folds, chosen if they win, and stored."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.tree import DecisionTreeClassifier
from threadpoolctl import threadpool_limits

import mercer
from mercer.learners.rivals import trees
from mercer.learners.rivals.trees import TreesClassifier, TreesRegressor
from mercer.selection import compare
from mercer.selection.board.shown import with_unit
from mercer.selection.rivals.named import rivals_of

FEW = {"kernels": ["linear()"], "learners": ["ridge"], "cv": 2, "holdout": None}


def steps(n=120):
    """A target that jumps at thresholds: trees see it, a linear kernel does not."""
    X = np.random.default_rng(0).normal(size=(n, 4))
    return X, (X[:, 0] > 0.3) ^ (X[:, 1] > -0.2)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("method", ["boosting", "forest"])
def test_trees_answer_as_those_they_were_read_from(method, classes):
    random = np.random.default_rng(1)
    X, Z = random.normal(size=(90, 3)), random.normal(size=(40, 3))
    y = np.array(["a", "b", "c"])[np.digitize(X[:, 0] * X[:, 1], [0.0, 0.4][: classes - 1])]
    peer = {
        "boosting": HistGradientBoostingClassifier(max_iter=12, random_state=0),
        "forest": RandomForestClassifier(12, random_state=0),
    }[method]
    with threadpool_limits(1, user_api="openmp"):  # threads wait for each other at every node
        peer.fit(X, y)
    model = TreesClassifier(method, 12).fit(X, y)
    found = model.predict_proba(Z)
    np.testing.assert_allclose(found, peer.predict_proba(Z), rtol=0, atol=1e-15)
    assert found.max() <= 1
    assert (model.predict(Z) == peer.predict(Z)).all()
    scores = model.decision_function(Z)
    picked = (scores > 0).astype(int) if classes == 2 else scores.argmax(axis=1)
    assert (model.classes_[picked] == model.predict(Z)).mean() > 0.95


@pytest.mark.parametrize("method", ["boosting", "forest"])
def test_trees_for_numbers_answer_as_those_they_were_read_from(method):
    random = np.random.default_rng(1)
    X, Z = random.normal(size=(90, 3)), random.normal(size=(2_000, 3))
    y = 1e4 + X[:, 0] * X[:, 1]
    peer = {
        "boosting": HistGradientBoostingRegressor(max_iter=12, random_state=0),
        "forest": RandomForestRegressor(12, random_state=0),
    }[method]
    with threadpool_limits(1, user_api="openmp"):
        peer.fit(X, y)
    model = TreesRegressor(method, 12).fit(X, y)
    np.testing.assert_allclose(model.predict(Z), peer.predict(Z), rtol=1e-6)


@pytest.mark.parametrize("kind", ["Classifier", "Regressor"])
@pytest.mark.parametrize("method", ["boosting", "forest"])
def test_missing_values_go_where_they_went_at_training(method, kind):
    """What is missing tells the target: in some columns it goes left, in others right."""
    random = np.random.default_rng(2)
    X = random.normal(size=(300, 3))
    X[random.random(X.shape) < 0.3] = np.nan
    y = (np.isnan(X[:, 0]) ^ (X[:, 1] > 0) ^ np.isnan(X[:, 2])).astype(int)
    known = [HistGradientBoostingClassifier, HistGradientBoostingRegressor, RandomForestClassifier,
             RandomForestRegressor]  # fmt: skip
    (peer,) = (c for c in known if c.__name__.endswith(kind) and method[:4] in c.__name__.lower())
    options = {"max_iter": 30} if method == "boosting" else {"n_estimators": 30}
    with threadpool_limits(1, user_api="openmp"):
        peer = peer(random_state=0, **options).fit(X, y)
    model = {"Classifier": TreesClassifier, "Regressor": TreesRegressor}[kind](method, 30).fit(X, y)
    np.testing.assert_allclose(model.predict(X), peer.predict(X), rtol=1e-12, atol=1e-12)
    assert np.mean((model.predict(X) > 0.5) == y) > 0.95


class Public:
    """A fitted model of which only public names are seen."""

    def __init__(self, model):
        self.__dict__["model"] = model

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self.model, name)


@pytest.mark.parametrize("classes", [0, 2, 3])
@pytest.mark.parametrize("changed", ["taken away", "other thresholds"])
def test_trees_that_cannot_be_read_are_asked(classes, changed, monkeypatch, tmp_path):
    random = np.random.default_rng(1)
    X, Z = random.normal(size=(90, 3)), random.normal(size=(40, 3))
    y = np.digitize(X[:, 0] * X[:, 1], [0.0, 0.4][: classes - 1]) if classes else X[:, 0] * X[:, 1]
    model = (TreesClassifier if classes else TreesRegressor)("boosting", 12)
    asked = ["predict_proba", "decision_function", "predict"] if classes else ["predict"]
    model.fit(X, y)
    expected = [getattr(model, name)(Z) for name in asked]
    if changed == "taken away":
        grown = type(model)._grown
        monkeypatch.setattr(type(model), "_grown", lambda *given: Public(grown(*given)))
    else:
        boosted = trees.boosted

        def misread(grown):
            found, start = boosted(grown)
            return replace(found, threshold=found.threshold + 0.5), start

        monkeypatch.setattr(trees, "boosted", misread)
    model.fit(X, y)
    assert model.trees_ is None
    for name, answer in zip(asked, expected, strict=True):
        np.testing.assert_allclose(getattr(model, name)(Z), answer, atol=1e-6)
    with pytest.raises(mercer.onnx.NotExportable, match="boosting"):
        mercer.onnx.export(model)
    with pytest.raises(mercer.store.StoreError, match="does not hold"):
        mercer.save(model, tmp_path / "model")


def test_a_rival_that_wins_is_chosen_and_said_and_stored(tmp_path):
    X, y = steps(300)
    board = compare(X, y, rivals=["boosting", "linear"], **FEW)
    assert board.best_row.rival
    assert board.best_row.learner == "boosting"
    assert board.proof is None
    told = next(note for note in board.notes if "a rival has won: gradient boosting" in note)
    assert f"{with_unit(board.best_row.mean, board.metric)} in the race" in told
    assert "(rival, no kernel)" in str(board)
    assert [row.rival for row in board.rows] == [not row.kernel and row is not board.baseline
                                                 for row in board.rows]  # fmt: skip
    mercer.save(board.best, tmp_path / "m.mercer")
    np.testing.assert_array_equal(mercer.load(tmp_path / "m.mercer").predict(X),
                                  board.best.predict(X))  # fmt: skip


@pytest.mark.parametrize("name", ["linear", "nearest", "forest"])
def test_every_rival_can_be_stored(name, tmp_path):
    X, y = steps()
    for target in (y, X[:, 0] + y, np.digitize(X[:, 0], [-0.5, 0.5])):
        task = "regression" if target.dtype.kind == "f" else "classification"
        (rival,) = rivals_of(name)
        value = rival.grid_for(task).values[0]
        model = rival.make(task, len(np.unique(target)), value).fit(X, target)
        mercer.save(model, tmp_path / "m.mercer")
        np.testing.assert_array_equal(mercer.load(tmp_path / "m.mercer").predict(X),
                                      model.predict(X))  # fmt: skip


def test_a_learned_metric_that_wins_is_chosen_and_said_and_stored(tmp_path):
    X = np.random.default_rng(0).normal(size=(200, 8))
    y = np.sin(3 * X[:, 0])
    board = compare(X, y, rivals=["rfm", "linear"], **FEW)
    assert board.best_row.learner == "rfm"
    assert any("a learned metric has won: a kernel with" in note for note in board.notes)
    assert "(learned metric)" in str(board)
    mercer.save(board.best, tmp_path / "m.mercer")
    np.testing.assert_array_equal(mercer.load(tmp_path / "m.mercer").predict(X),
                                  board.best.predict(X))  # fmt: skip


def test_an_estimator_of_the_user_is_shown_and_cannot_be_saved():
    X, y = steps()
    board = compare(X, y, rivals={"mine": DecisionTreeClassifier(max_depth=4)}, **FEW)
    assert board.rows[0].learner == "mine"
    assert board.best_row.kernel == "Linear()"
    assert board.best_row in board.rows
    assert any("mine, which is your own, did better" in note for note in board.notes)


def test_rivals_see_sparse_rows_and_strings_have_none():
    X, y = steps(60)
    board = compare(csr_matrix(np.abs(X)), y, rivals="all", **FEW)
    assert {r.learner for r in board.rows if r.rival} == {"linear", "nearest", "boosting", "forest"}
    words = [f"{'good' if i % 2 else 'bad'} day {i}" for i in range(40)]
    board = compare(words, [0, 1] * 20, rivals="all", learners=["ridge"], cv=2, holdout=None)
    assert not any(row.rival for row in board.rows)


def test_what_rivals_may_be():
    assert [r.name for r in rivals_of("forest,linear")] == ["forest", "linear"]
    assert [r.name for r in rivals_of(DecisionTreeClassifier())] == ["DecisionTreeClassifier"]
    assert rivals_of("none") == []
    with pytest.raises(ValueError, match=r"no rival 'boostin'.*boosting"):
        rivals_of(["boostin"])
    with pytest.raises(TypeError, match="an estimator with fit and predict"):
        rivals_of([DecisionTreeClassifier])


def test_named_learners_race_without_rivals_unless_asked():
    X, y = steps(40)
    assert not any(row.rival for row in compare(X, y, **FEW).rows)
