"""Centers: who chooses them, what each choice promises, and centers of one's own."""

import numpy as np
import pytest
from sklearn.base import clone

import mercer
from mercer import Gaussian, KernelLogisticRegression, KernelRidge, KernelRidgeClassifier
from mercer.maps import NystromMap
from mercer.maps.centers import CenterChoice, choose_centers, leverage_scores

rng = np.random.default_rng(0)
X = rng.normal(size=(150, 2))
K = Gaussian(1.0).gram(X)
HOW = [name for name in CenterChoice.choices if name != "uniform"]
T = np.sin(X[:, 0])


def drawn(how, m=20, seed=0, gram=K):
    return choose_centers(gram, how, m, np.random.RandomState(seed))


@pytest.mark.parametrize("how", CenterChoice.choices)
def test_a_seed_gives_the_same_centers_and_none_twice(how):
    first, again = drawn(how), drawn(how)
    np.testing.assert_array_equal(first.index, again.index)
    assert len(np.unique(first.index)) == 20
    if how != "greedy":
        assert (drawn(how, seed=1).index != first.index).any()
    everyone = drawn(how, 500).index
    assert len(everyone) == 150 or how == "greedy"


def test_greedy_takes_what_is_represented_worst_and_knows_its_error():
    found = drawn("greedy")
    dense, chosen = K.dense(), []
    for _ in range(20):
        rest = (
            dense
            - dense[:, chosen] @ np.linalg.pinv(dense[np.ix_(chosen, chosen)]) @ (dense[chosen])
        )
        chosen.append(int(np.diag(rest).argmax()))
    np.testing.assert_array_equal(found.index, chosen)
    phi = NystromMap("gaussian(1)", 20, centers="greedy").fit(X)
    F = phi.transform(X)
    gap = dense - F @ F.T
    assert phi.error_ == pytest.approx(np.trace(gap), rel=1e-8)
    assert np.linalg.norm(gap, 2) <= phi.error_
    # As many as K has dimensions, and no more: then nothing is missing.
    low = NystromMap("polynomial(2, offset=1)", centers="greedy").fit(X)
    assert len(low.component_indices_) == 6
    assert low.error_ < 1e-8


def test_leverage_scores_are_those_of_the_whole_matrix(monkeypatch):
    dense = K.dense()
    scores = leverage_scores(K, 12.0, np.random.RandomState(0))
    assert scores.sum() == pytest.approx(12.0, rel=1e-6)
    low, high = 1e-6, 1e6
    for _ in range(80):
        ridge = np.sqrt(low * high)
        exact = np.diag(dense @ np.linalg.inv(dense + ridge * np.eye(150)))
        low, high = (ridge, high) if exact.sum() > 12 else (low, ridge)
    np.testing.assert_allclose(scores, exact, rtol=1e-6)
    monkeypatch.setattr("mercer.maps.centers.CHOOSING_ROWS", 120)
    about = leverage_scores(K, 12.0, np.random.RandomState(0))
    assert np.corrcoef(about, scores)[0, 1] > 0.9
    with pytest.raises(ValueError, match="no leverage scores"):
        leverage_scores(
            mercer.kernels.NegativeSquaredDistance().gram(X), 5.0, np.random.RandomState(0)
        )


@pytest.mark.parametrize("how", ["kmeans++", "leverage", "greedy"])
def test_rare_examples_are_found(how):
    rows = np.vstack([0.05 * rng.normal(size=(500, 2)), [[9.0, 0.0]], [[0.0, 9.0]]])
    found = drawn(how, 6, gram=Gaussian(1.0).gram(rows)).index
    assert len({500, 501} & set(found.tolist())) >= (1 if how == "leverage" else 2)


def test_copies_need_one_center_each():
    rows = np.repeat(np.eye(3), 10, axis=0)
    assert len(drawn("kmeans++", 10, gram=Gaussian().gram(rows)).index) == 3


def test_more_centers_than_draws_are_drawn_in_groups(monkeypatch):
    monkeypatch.setattr("mercer.maps.centers.CENTER_DRAWS", 8)
    assert len(np.unique(drawn("kmeans++", 50).index)) == 50


MODELS = [
    NystromMap("gaussian(1)", 30),
    KernelRidge("gaussian(1)", alpha=0.01, solver="nystrom", n_centers=30),
    KernelRidgeClassifier("gaussian(1)", alpha=0.01, n_centers=30),
    KernelLogisticRegression("gaussian(1)", alpha=0.01, solver="nystrom", n_centers=30, tol=1e-10),
]


def answers(model, y):
    model.fit(X, y)
    if hasattr(model, "transform"):
        F = model.transform(X)
        return F @ F.T  # the features themselves may be turned
    return model.decision_function(X) if hasattr(model, "decision_function") else model.predict(X)


@pytest.mark.parametrize("model", MODELS, ids=lambda m: type(m).__name__)
def test_centers_are_given_as_indices_or_as_examples(model, tmp_path):
    y = T > 0 if hasattr(model, "decision_function") else T
    index = np.arange(3, 150, 7)
    by_index = clone(model).set_params(centers=index)
    by_point = clone(model).set_params(centers=X[index])
    np.testing.assert_allclose(answers(by_index, y), answers(by_point, y), atol=1e-4)
    for how in HOW:
        chosen = clone(model).set_params(centers=how, random_state=0)
        np.testing.assert_array_equal(answers(chosen, y), answers(clone(chosen), y))
    elsewhere = clone(model).set_params(centers=rng.uniform(-2, 2, (25, 2)))
    first = answers(elsewhere, y)
    elsewhere.save(tmp_path / "m") if hasattr(elsewhere, "save") else mercer.save(
        elsewhere, tmp_path / "m"
    )
    again = mercer.load(tmp_path / "m")
    answer = "transform" if hasattr(again, "transform") else "predict"
    np.testing.assert_array_equal(getattr(again, answer)(X), getattr(elsewhere, answer)(X))
    assert np.isfinite(first).all()
    if not hasattr(model, "transform"):
        assert elsewhere.solver_ == "nystrom"
        assert elsewhere.score(X, y) > 0.9
        assert len(elsewhere.expansion_) == 25


def test_standard_deviations_and_paths_with_centers_of_ones_own():
    points = X[::5] + 0.0
    given = KernelRidge("gaussian(1)", alpha=0.1, centers=points).fit(X, T)
    index = KernelRidge("gaussian(1)", alpha=0.1, centers=np.arange(0, 150, 5)).fit(X, T)
    std = [model.predict(X[:9], return_std=True)[1] for model in (given, index)]
    np.testing.assert_allclose(*std, rtol=1e-6)
    path = KernelRidge("gaussian(1)", alphas=[0.01, 0.1], centers=points).fit(X, T)
    assert path.loo_errors_.shape == (2,)


def test_strings_too():
    words = ["gattaca", "tagacat", "catgata", "gagacta", "actgact", "ttagacg"]
    phi = NystromMap("spectrum(2)", centers=["gattaca", "actgact"]).fit(words)
    assert phi.transform(words).shape == (6, 2)
    assert phi.component_indices_ is None
    assert len(NystromMap("spectrum(2)", 3, centers="kmeans++").fit(words).components_) == 3
    model = KernelRidge("spectrum(2)", centers=["gattaca", "actgact"]).fit(words, np.arange(6.0))
    assert len(model.expansion_) == 2


def test_what_cannot_be_is_said():
    with pytest.raises(ValueError, match="names the example 200, but there are 150"):
        NystromMap(centers=[3, 200]).fit(X)
    with pytest.raises(ValueError, match="expecting 2 features"):
        NystromMap(centers=np.ones((4, 3))).fit(X)
    with pytest.raises(ValueError, match="expecting 2 features"):
        KernelRidge(centers=np.ones((4, 3))).fit(X, T)
    with pytest.raises(ValueError, match="solver='cg' has no centers"):
        KernelRidge(solver="cg", centers="greedy").fit(X, T)
    square = K.dense()
    for model in (NystromMap("precomputed", centers=square[:3]),
                  KernelRidge("precomputed", centers=square[:3])):  # fmt: skip
        with pytest.raises(ValueError, match="precomputed matrix, centers are indices"):
            model.fit(square, T)
    given = KernelRidge("precomputed", alpha=0.1, centers=[0, 50, 100]).fit(square, T)
    assert given.predict(square[:2]).shape == (2,)
    with mercer.config(memory="100KB"), pytest.raises(MemoryError, match="greedy centers need"):
        drawn("greedy", 140, gram=Gaussian().gram(X))
