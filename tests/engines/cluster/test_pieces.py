"""Rows in pieces: the same sums and models as from one array, whoever computes them."""

from __future__ import annotations

import multiprocessing
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import numpy as np
import pandas as pd
import pytest

import mercer
from mercer import KernelRidge, KernelRidgeClassifier
from mercer.engines.cluster.chunks import Chunks
from mercer.engines.cluster.gram import ChunkGram
from mercer.engines.cluster.pieces import Held
from mercer.engines.cluster.pool import Call, gather, reduce
from mercer.engines.cluster.sums import center_panels
from mercer.engines.cluster.tree import tree_sum
from mercer.solvers.linear.panels import GramPanels

RNG = np.random.default_rng(0)
X = RNG.normal(size=(400, 3))
Y = np.sin(X[:, 0]) + X[:, 1]
MODEL = {"alpha": 0.1, "solver": "nystrom", "n_centers": 30, "random_state": 0}


def _chunks(step=70):
    return mercer.chunks(X, rows=step)


def test_rows_are_given_by_index_in_any_order():
    rows = _chunks()
    index = np.array([399, 0, 70, 69, 0])
    np.testing.assert_array_equal(rows[index], X[index])
    np.testing.assert_array_equal(rows[10:100:7], X[10:100:7])
    assert rows[[]].shape == (0, 3)
    assert rows.shape == (400, 3)
    assert sum(rows.sizes) == len(rows) == 400


def test_the_tree_depends_on_the_number_of_terms_only():
    for n in range(1, 40):
        tree = tree_sum(map(str, range(n)), lambda a, b: f"({a}+{b})")
        again = reduce([Call(str, (i,)) for i in range(n)], "test", lambda a, b: f"({a}+{b})")
        assert tree == again
        assert eval(tree) == n * (n - 1) // 2


@pytest.mark.parametrize("weights", [None, RNG.uniform(0.5, 2, 400)], ids=["plain", "weighted"])
@pytest.mark.parametrize("matrix", [True, False])
def test_sums_are_those_of_one_array(weights, matrix):
    kernel, centers = mercer.Gaussian(2.0), X[:20]
    ours = center_panels(ChunkGram(kernel, _chunks(), centers)).normal(Y[:, None], weights, matrix)
    whole = GramPanels(kernel.gram(X, centers)).normal(Y[:, None], weights, matrix)
    for name in ("H", "R", "sums", "target_sums", "weight") if matrix else ("R", "sums"):
        np.testing.assert_allclose(getattr(ours, name), getattr(whole, name), rtol=1e-13)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"fit_intercept": True},
        {"alpha": "auto"},
        {"alpha": "auto", "alphas": [0.01, 0.1, 1]},
        {"kernel": "rbf"},
    ],
    ids=str,
)
def test_a_model_of_pieces_is_that_of_one_array(options):
    options = {"kernel": "gaussian(2)"} | MODEL | options
    whole = KernelRidge(**options).fit(X, Y)
    ours = KernelRidge(**options).fit(_chunks(), Y)
    np.testing.assert_allclose(ours.predict(X), whole.predict(X), atol=1e-7)
    assert ours.alpha_ == whole.alpha_
    np.testing.assert_array_equal(ours.centers_, whole.centers_)
    assert ours.X_fit_.shape == (30, 3), "a model keeps its centers, not the rows"
    if "alphas" in options:
        np.testing.assert_allclose(ours.loo_predictions_, whole.loo_predictions_, atol=1e-6)


def test_conjugate_gradients_over_pieces(monkeypatch):
    monkeypatch.setattr("mercer.solvers.linear.nystrom.NORMAL_MATRIX_FLOPS", 0)
    whole, ours = (KernelRidge("gaussian(2)", tol=1e-10, **MODEL).fit(x, Y) for x in (X, _chunks()))
    assert ours.n_iter_ > 1
    np.testing.assert_allclose(ours.predict(X), whole.predict(X), atol=1e-6)


@pytest.mark.parametrize("classes", [2, 3])
def test_a_class_may_be_missing_in_a_piece(classes):
    order = np.argsort(Y)
    rows, labels = X[order], np.repeat(list("abc")[:classes], 600 // classes)[:400]
    options = {"kernel": "gaussian(2)"} | MODEL
    whole = KernelRidgeClassifier(**options).fit(rows, labels)
    ours = KernelRidgeClassifier(**options).fit(mercer.chunks(rows, rows=50), labels)
    assert ours.classes_.tolist() == whole.classes_.tolist()
    np.testing.assert_array_equal(ours.predict(rows), whole.predict(rows))


def test_answers_for_pieces_are_those_for_rows():
    models = [
        KernelRidge("gaussian(2)").fit(X, Y),
        mercer.KernelSVC().fit(X, Y > 0),
        mercer.NadarayaWatsonRegressor(bandwidth=1.0).fit(X, Y),
        mercer.KernelNeighborsClassifier().fit(X, Y > 0),
    ]
    for model in models:
        np.testing.assert_allclose(model.predict(_chunks()), model.predict(X), atol=1e-9)
    f = models[1].decision_function
    np.testing.assert_allclose(f(_chunks()), f(X), atol=1e-9)


@pytest.mark.parametrize("pool", [ThreadPoolExecutor, ProcessPoolExecutor])
def test_an_executor_gives_the_same_bits(pool):
    labels = np.digitize(Y, [-0.5, 0.5])
    logistic = {"alpha": 0.1, "n_centers": 30, "random_state": 0}

    def answers():
        yield KernelRidge("gaussian(2)", **MODEL).fit(_chunks(), Y).dual_coef_
        yield KernelRidge("polynomial(2)", alphas=[0.1, 1]).fit(_chunks(), Y).loo_predictions_
        yield mercer.KernelLogisticRegression(**logistic).fit(_chunks(), labels).dual_coef_
        yield mercer.NadarayaWatsonRegressor(bandwidth=0.5).fit(_chunks(), Y).predict(X[:50])
        yield mercer.KernelNeighborsRegressor().fit(_chunks(), Y).predict(X[:50])
        yield mercer.KernelCentroidClassifier().fit(_chunks(), labels).decision_function(X[:50])

    extra = {"mp_context": multiprocessing.get_context("spawn")} if "Process" in str(pool) else {}
    with pool(2, **extra) as executor, mercer.config(cluster=executor):
        there = list(answers())
    for found, here in zip(there, answers(), strict=True):
        np.testing.assert_array_equal(found, here)


def test_files_are_read_piece_by_piece(tmp_path):
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    for part in (0, 1):
        rows = slice(200 * part, 200 * part + 200)
        names = ["a", "b", "c"] if part == 0 else ["c", "a", "b"]
        columns = {n: X[rows, "abc".index(n)] for n in names} | {"y": Y[rows]}
        pq.write_table(pa.table(columns), tmp_path / f"{part}.parquet", row_group_size=60)
    rows, targets = mercer.chunks(tmp_path, "y", rows=50)
    assert rows.names == ("a", "b", "c")
    np.testing.assert_array_equal(rows[:], X)
    np.testing.assert_array_equal(targets[:], Y)
    assert len(rows.pieces) == 8
    model = KernelRidge("gaussian(2)", **MODEL).fit(rows, targets)
    whole = KernelRidge("gaussian(2)", **MODEL).fit(X, Y)
    frame = pd.DataFrame(X, columns=list("abc"))
    np.testing.assert_allclose(model.predict(frame), whole.predict(X), atol=1e-7)
    assert model.feature_names_in_.tolist() == ["a", "b", "c"]
    np.save(tmp_path / "rows.npy", X)
    mapped = mercer.chunks(tmp_path / "rows.npy", rows=90)
    assert mapped.sizes == (90, 90, 90, 90, 40)
    np.testing.assert_array_equal(mapped[:], X)
    with pytest.raises(ValueError, match="has no column 'z'"):
        mercer.chunks(tmp_path, "z")
    with pytest.raises(FileNotFoundError, match="no file matches"):
        mercer.chunks(tmp_path / "missing*.parquet")


@pytest.mark.parametrize(
    ("act", "told"),
    [
        (lambda: mercer.KernelPCA().fit(_chunks()), "these are in pieces"),
        (lambda: KernelRidge(solver="cg").fit(_chunks(), Y), "'nystrom' work without"),
        (lambda: KernelRidge(solver="cholesky").fit(_chunks(), Y), "these are in pieces"),
        (lambda: KernelRidge().fit(_chunks(), Y[:9]), "X has 400 rows, and y has 9"),
        (lambda: KernelRidge("gaussian(1)").fit(mercer.chunks(X * np.nan), Y), "NaN"),
        (lambda: KernelRidge(**MODEL).fit(_chunks(), Y * np.nan), "NaN"),
        (lambda: KernelRidge().fit(mercer.chunks(X[:, 0]), Y), "expected 2-D rows"),
        (lambda: KernelRidge().fit(mercer.chunks(X[:0]), Y[:0]), "no rows"),
        (lambda: mercer.set_config(cluster=7), "cluster must be"),
        (lambda: mercer.KernelLogisticRegression(solver="newton").fit(_chunks(), Y > 0), "in pie"),
        (lambda: KernelRidgeClassifier().fit(_chunks(), np.ones(400)), "at least 2 classes"),
        (lambda: mercer.Gaussian().gram(_chunks()).dense(), "in pieces"),
    ],
)
def test_what_does_not_work_on_pieces_is_said(act, told):
    with pytest.raises((TypeError, ValueError, MemoryError), match=told):
        act()


def test_an_empty_piece_is_no_piece():
    rows = Chunks.of_pieces([*_chunks(200).pieces, *Chunks.of(X[:1]).pieces])
    assert rows.sizes == (200, 200, 1)
    none = Chunks.of_pieces([*_chunks(200).pieces, Held(X[:0])])
    assert none.sizes == (200, 200)
    assert gather([], "nothing") == []
