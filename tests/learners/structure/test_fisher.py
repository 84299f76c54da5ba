"""KernelFisherDiscriminant: linear discriminant analysis, and the generalized eigenproblem."""

import numpy as np
import pytest
from scipy.linalg import eigh
from sklearn.datasets import load_iris, make_moons
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import check_estimator

import mercer
from mercer import KernelFisherDiscriminant, KernelSVC

X, y = load_iris(return_X_y=True)


def test_linear_is_linear_discriminant_analysis():
    ours = KernelFisherDiscriminant("linear", alpha=1e-5).fit(X, y)
    theirs = LinearDiscriminantAnalysis().fit(X, y)
    T, U = ours.transform(X), theirs.transform(X)
    signs = np.sign((T * U).sum(axis=0))
    unit = np.std(T) / np.std(U)
    np.testing.assert_allclose(T * signs, unit * (U - U.mean(axis=0)), atol=1e-4)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))
    if np.isclose(unit, np.sqrt(len(X) / (len(X) - 3)), rtol=1e-5):
        pytest.skip("scikit-learn 1.7 divides the scatter within classes by N, now by N - 3")
    assert abs(unit - 1.0) < 1e-5
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-5)
    ratio = theirs.explained_variance_ratio_
    np.testing.assert_allclose(ours.explained_variance_ratio_, ratio, atol=1e-5)
    given = [0.2, 0.3, 0.5]
    other = KernelFisherDiscriminant("linear", 1e-5, priors=given).fit(X, y)
    theirs = LinearDiscriminantAnalysis(priors=given).fit(X, y)
    np.testing.assert_allclose(other.predict_proba(X), theirs.predict_proba(X), atol=0.05)


@pytest.mark.parametrize("expression", ["gaussian(1)", "polynomial(2, offset=1)", "laplacian(1)"])
def test_strengths_are_those_of_the_generalized_problem(expression):
    rows, labels, alpha = X[::3], y[::3], 0.3
    K = mercer.parse(expression)(rows)
    n = len(K)
    W, P = np.eye(n), np.full((n, n), 1 / n)
    for c in range(3):
        member = (labels == c).astype(float)
        W -= np.outer(member, member) / member.sum()
    between = K @ (np.eye(n) - W - P) @ K
    within = K @ W @ K + alpha * K
    values = eigh(between, within + 1e-10 * np.trace(K) * np.eye(n), eigvals_only=True)[::-1][:2]
    model = KernelFisherDiscriminant(expression, alpha).fit(rows, labels)
    np.testing.assert_allclose(model.strengths_, values, rtol=1e-4)
    coef = model.directions_.coef / np.sqrt(n)
    np.testing.assert_allclose(coef.T @ within @ coef, np.eye(2), atol=1e-6)
    np.testing.assert_allclose(
        coef.T @ between @ coef, np.diag(model.strengths_), rtol=1e-5, atol=1e-4
    )
    given = KernelFisherDiscriminant("precomputed", alpha).fit(K, labels)
    np.testing.assert_allclose(given.predict_proba(K), model.predict_proba(rows), atol=1e-8)


def test_products_find_what_the_factor_finds(monkeypatch):
    whole = KernelFisherDiscriminant("gaussian(2)", 0.1).fit(X, y)
    monkeypatch.setattr("mercer.solvers.groups.fisher.EXACT_ROWS", 10)
    parts = KernelFisherDiscriminant("gaussian(2)", 0.1, tol=1e-12).fit(X, y)
    assert parts.n_iter_ > 1 == whole.n_iter_
    np.testing.assert_allclose(parts.transform(X), whole.transform(X), atol=1e-6)


@pytest.mark.parametrize("factored", [10**6, 0])
def test_weights_stand_for_repeated_examples(factored, monkeypatch):
    monkeypatch.setattr("mercer.solvers.groups.fisher.EXACT_ROWS", factored)
    random = np.random.default_rng(0)
    X, times = random.normal(size=(40, 3)), random.integers(0, 4, 40)
    y = (X[:, 0] > 0).astype(int) + (X[:, 1] > 0.5)
    once = KernelFisherDiscriminant("rbf").fit(X, y, sample_weight=times)
    often = KernelFisherDiscriminant("rbf").fit(np.repeat(X, times, axis=0), np.repeat(y, times))
    np.testing.assert_allclose(once.strengths_, often.strengths_, rtol=1e-7)
    for method in ("transform", "predict_proba"):
        a, b = (getattr(model, method)(X) for model in (once, often))
        np.testing.assert_allclose(a, b, atol=1e-5)


def test_moons_pipelines_searches_and_files(tmp_path):
    rows, labels = make_moons(200, noise=0.15, random_state=0)
    names = np.array(["low", "high"])[labels]
    model = KernelFisherDiscriminant("gaussian(0.5)").fit(rows[:150], names[:150])
    assert model.score(rows[150:], names[150:]) > 0.93
    assert model.transform(rows).shape == (200, 1)
    np.testing.assert_array_equal(model.decision_function(rows) > 0, model.predict(rows) == "low")
    search = GridSearchCV(
        KernelFisherDiscriminant("gaussian(1)"), {"kernel__sigma": [0.01, 0.5], "alpha": [0.1]}
    )
    assert search.fit(rows, names).best_params_["kernel__sigma"] == 0.5
    chain = make_pipeline(KernelFisherDiscriminant("gaussian(0.5)"), KernelSVC("linear"))
    assert chain.fit(rows, names).score(rows, names) > 0.95
    model.save(tmp_path / "fisher")
    again = mercer.load(tmp_path / "fisher")
    np.testing.assert_array_equal(again.predict_proba(rows), model.predict_proba(rows))
    np.testing.assert_array_equal(again.transform(rows), model.transform(rows))
    frame = model.set_output(transform="pandas").transform(rows)
    assert list(frame.columns) == ["kernelfisherdiscriminant0"]


def test_strings():
    words = ["gattaca", "gattag", "gatta", "ccgcgc", "cgcgcg", "gcgcgc"]
    model = KernelFisherDiscriminant("spectrum(2)").fit(words, [0, 0, 0, 1, 1, 1])
    np.testing.assert_array_equal(model.predict(["gattat", "cgcg"]), [0, 1])


def test_what_cannot_be_answered_is_said():
    with pytest.raises(ValueError, match="at least 2 classes"):
        KernelFisherDiscriminant().fit(X[:5], np.zeros(5))
    with pytest.raises(ValueError, match="one positive number per class"):
        KernelFisherDiscriminant(priors=[1.0, 2.0]).fit(X, y)
    with pytest.raises(ValueError, match=r"NaN.*SimpleImputer"):
        KernelFisherDiscriminant().fit([[np.nan, 1.0], [0.0, 1.0]], [0, 1])
    same = KernelFisherDiscriminant().fit(np.ones((6, 2)), [0, 1] * 3)
    np.testing.assert_allclose(same.predict_proba(np.ones((1, 2))), 0.5)
    constant = np.column_stack([X[:, 2], np.full(150, 7.0)])
    assert KernelFisherDiscriminant("rbf").fit(constant, y).score(constant, y) > 0.9


@pytest.mark.filterwarnings("ignore")
def test_scikit_learns_checks():
    found = check_estimator(KernelFisherDiscriminant("linear"), on_skip=None, on_fail=None)
    assert not {r["check_name"]: r["exception"] for r in found if r["status"] == "failed"}
