"""Learners on tensors: what they learn there is what they learn from the same rows on the CPU."""

import pytest

BEGIN = """
import warnings
import numpy as np, torch
from mercer.kernels import *
from mercer.learners import *
import mercer

warnings.simplefilter("ignore")
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
rng = np.random.default_rng(0)
X = rng.normal(size=(60, 3)).astype(np.float32)
wide, y = X.astype(float), np.sin(X[:, 0]).astype(float)
Y, c = np.c_[y, X[:, 1]], (X[:, 0] + X[:, 1] > 0).astype(int) + (X[:, 2] > 0.5)
Q = np.vstack([rng.normal(size=(9, 3)), [[40.0, 40.0, 40.0]]]).astype(np.float32)
there = lambda a: torch.tensor(a, device=DEVICE)
T, q, far = there(X), there(Q[:9]), there(Q)

def same(got, want, tolerance=3e-4):
    assert isinstance(got, torch.Tensor) and got.device.type == DEVICE, type(got)
    error = np.abs(got.cpu().numpy() - want).max() / max(1.0, np.abs(want).max())
    assert error <= tolerance, error

"""

CASES = {
    "structure": """
k, more = Gaussian(1.5), np.vstack([X, X + 0.3]).astype(np.float32)
for rows, solver in ((X, "dense"), (more, "blocks")):
    a = KernelPCA(k, 3, solver=solver).fit(there(rows))
    b = KernelPCA(k, 3, solver="dense").fit(rows.astype(float))
    assert (a.n_iter_ > 0) == (solver == "blocks")
    same(a.transform(q), b.transform(Q[:9].astype(float)), 1e-3)
    same(a.fit_transform(there(rows)), b.fit_transform(rows.astype(float)), 1e-3)
a = KernelKMeans(k, 3, random_state=0).fit(T)
b = KernelKMeans(k, 3, random_state=0).fit(wide)
assert (a.labels_ == b.labels_).all()
same(a.transform(q), b.transform(Q[:9].astype(float)), 1e-3)
for options in ({"solver": "dense"}, {"n_centers": 30}):
    a = SpectralClustering(k, 2, random_state=0, **options).fit(T)
    b = SpectralClustering(k, 2, random_state=0, **options).fit(wide)
    assert np.allclose(a.eigenvalues_, b.eigenvalues_, atol=1e-3)
    same(a.predict(q), b.predict(Q[:9].astype(float)))
a, b = KernelFisherDiscriminant(k).fit(T, c), KernelFisherDiscriminant(k).fit(wide, c)
same(a.transform(q), b.transform(Q[:9].astype(float)), 1e-3)
same(a.predict_proba(q), b.predict_proba(Q[:9].astype(float)), 1e-3)
a, b = KernelDensity(k, 0.5).fit(T), KernelDensity(k, 0.5).fit(wide)
assert np.allclose(a.score_samples(far), b.score_samples(Q.astype(float)), rtol=1e-3)
a = KernelRidge(k, alpha=0.1, centers=there(X[:20])).fit(T, there(y))
b = KernelRidge(k, alpha=0.1, centers=wide[:20]).fit(wide, y)
same(a.predict(q), b.predict(Q[:9].astype(float)))
for how in ("kmeans++", "leverage", "greedy"):
    KernelRidge(k, alpha=0.1, n_centers=20, centers=how, random_state=0).fit(T, there(y)).predict(q)
""",
    "processes": """
k, Y = 1.5 * Gaussian([1.0, 2.0, 3.0]) + Linear(), Y + 0.1 * rng.normal(size=Y.shape)
for options in ({}, {"n_centers": 20}):
    options, weights = {"random_state": 0, "max_iter": 2, **options}, np.arange(60) % 3
    a = GaussianProcessRegressor(k, **options).fit(T, there(Y), weights)
    b = GaussianProcessRegressor(k, **options).fit(wide, Y, weights)
    same(a.predict(q), b.predict(Q[:9].astype(float)), 1e-3)
    for what in ({"return_std": True}, {"return_cov": True}):
        same(a.predict(q, **what)[1], b.predict(Q[:9].astype(float), **what)[1], 1e-3)
    (value, slopes), (wanted, exact) = (m.log_marginal_likelihood(b.theta_, True) for m in (a, b))
    assert np.allclose(value, wanted, rtol=1e-9) and np.allclose(slopes, exact, atol=1e-6)
assert a.sample_y(q, 2).shape == (9, 2, 2)
a.save("model.mercer")
assert np.allclose(mercer.load("model.mercer").predict(Q[:9].astype(float)), a.predict(q).cpu())
a, b = (GaussianProcessClassifier(k, optimizer=None).fit(x, c) for x in (T, wide))
assert np.allclose(a.predict_proba(q), b.predict_proba(Q[:9].astype(float)), atol=1e-3)
""",
    "ridge": """
k, weights = Gaussian(1.5), rng.uniform(0.5, 2.0, 60)
for options in [
    {"solver": "cholesky"},
    {"solver": "cholesky", "fit_intercept": True, "alphas": [0.01, 0.1, 1.0]},
    {"solver": "nystrom", "n_centers": 20, "random_state": 0, "fit_intercept": True},
    {"solver": "nystrom", "n_centers": 20, "random_state": 0, "alphas": [0.1, 1.0]},
    {"solver": "cg", "fit_intercept": True},
    {"solver": "eigh"},
    {"solver": "primal", "kernel": Polynomial(2, 1.0)},
]:
    for w in (None, weights):
        options = {"kernel": k, "alpha": "auto" if "alphas" in options else 0.1, **options}
        a = KernelRidge(**options).fit(T, there(Y), w)
        b = KernelRidge(**options).fit(wide, Y, w)
        assert a.solver_ == b.solver_
        same(a.predict(far), b.predict(Q.astype(float)))
        if "alphas" in options:
            assert a.alpha_ == b.alpha_
            assert np.allclose(a.loo_predictions_, b.loo_predictions_, atol=1e-3)
mean, std = KernelRidge(k, alpha=0.1).fit(T, y).predict(q, return_std=True)
same(std, KernelRidge(k, alpha=0.1).fit(wide, y).predict(Q[:9], return_std=True)[1], 1e-3)
names = np.array(list("abc"))[c]
model = KernelRidgeClassifier(k, alpha=0.1).fit(T, names)
assert model.score(T, names) > 0.9 and model.predict(q)[0] in "abc"
model.save("model.mercer")
assert (mercer.load("model.mercer").predict(Q) == model.predict(Q)).all()
""",
    "centers by conjugate gradients, and rows that are streamed": """
import mercer.solvers.linear.nystrom as centers
from mercer.engines.cuda.streamed import StreamedGram
from mercer.solvers.linear.panels import panels_of
from mercer.solvers.linear.problem import RidgeProblem
direct = KernelRidge(Gaussian(1.5), alpha=0.1, solver="nystrom", n_centers=20, random_state=0,
                     fit_intercept=True).fit(wide, Y)
centers.NORMAL_MATRIX_FLOPS = 0
model = KernelRidge(Gaussian(1.5), alpha=0.1, solver="nystrom", n_centers=20, random_state=0,
                    fit_intercept=True).fit(T, Y)
assert model.n_iter_ > 1
same(model.predict(q), direct.predict(Q[:9].astype(float)))

streamed = StreamedGram(Gaussian(1.5), X, device=torch.device(DEVICE))
streamed.__class__.chunk = 16
K = Gaussian(1.5)(wide)
V = rng.normal(size=(60, 2))
assert np.allclose(streamed @ V, K @ V, atol=1e-4)
assert np.allclose(streamed.diagonal(), 1.0)
places = direct.centers_
columns = streamed.take(columns=places)
assert np.allclose(columns @ V[:20], K[:, places] @ V[:20], atol=1e-4)
assert np.allclose(columns.dense(), K[:, places], atol=1e-5)
for way in (0, 1e18):
    centers.NORMAL_MATRIX_FLOPS = way
    found = centers.ridge(centers.Centers(places, None, panels_of(columns), streamed, places),
                          RidgeProblem(Y, np.array([0.1, 0.1]), np.ones(60), True))
    assert (found.n_iter > 1) == (way == 0)
    assert np.allclose(K[:, places] @ found.coef + found.intercept, direct.predict(wide), atol=1e-3)
""",
    "logistic": """
for options in [{}, {"solver": "nystrom", "n_centers": 20, "random_state": 0}]:
    for t in (c, c > 0):
        a = KernelLogisticRegression(Gaussian(1.5), alpha=0.5, tol=1e-6, **options).fit(T, there(t))
        b = KernelLogisticRegression(Gaussian(1.5), alpha=0.5, tol=1e-6, **options).fit(wide, t)
        same(a.predict_proba(far), b.predict_proba(Q.astype(float)))
        same(a.predict_log_proba(q), b.predict_log_proba(Q[:9].astype(float)), 1e-3)
        assert (a.predict(q).cpu().numpy() == b.predict(Q[:9])).all()
""",
    "smoothers": """
for k, h in [(Gaussian(), 0.8), (Gaussian(), "auto"), (Epanechnikov(2.0), 0.8)]:
    a = NadarayaWatsonRegressor(k, bandwidth=h).fit(T, there(Y), np.ones(60))
    b = NadarayaWatsonRegressor(k, bandwidth=h).fit(wide, Y)
    same(a.predict(far), b.predict(Q.astype(float)))
    same(a.predict(q, return_std=True)[1], b.predict(Q[:9], return_std=True)[1])
    same(a.confidence_band(q)[1], b.confidence_band(Q[:9])[1], 1e-3)
a = NadarayaWatsonClassifier(bandwidth=0.8).fit(T, there(c))
b = NadarayaWatsonClassifier(bandwidth=0.8).fit(wide, c)
same(a.predict_proba(far), b.predict_proba(Q.astype(float)))
try:
    NadarayaWatsonRegressor(Linear(), bandwidth=1.0).fit(T, y).predict(q)
    raise AssertionError("weights below zero")
except ValueError as error:
    assert "negative" in str(error)
assert isinstance(LocalLinearRegressor(bandwidth=1.0).fit(T, y).predict(q), torch.Tensor)
""",
    "neighbors and means": """
for k in (Gaussian(), Gaussian(0.01), Polynomial(2, 1.0), Linear(), Laplacian(0.5, norm=1)):
    a, b = (KernelNeighborsClassifier(k, 3).fit(x, c) for x in (T, wide))
    for rows, host in [(q, Q[:9].astype(float)), (None, None)]:
        d, i = a.kneighbors(rows)
        e, j = b.kneighbors(host)
        assert (i.cpu().numpy() == j).all(), k
        same(d, e, 1e-3)
    same(a.predict_proba(q), b.predict_proba(Q[:9].astype(float)))
weights = np.arange(60) % 3
for options in [
    {"weights": "distance", "class_weight": "balanced"},
    {"weights": lambda d: 1 / (1 + d)},
    {"radius": 0.5, "outlier_label": -1},
]:
    a, b = (
        KernelNeighborsClassifier(Gaussian(2.0), **options).fit(x, c, weights) for x in (T, wide)
    )
    same(a.predict_proba(far), b.predict_proba(Q.astype(float)), 1e-3)
    assert (a.predict(far).cpu().numpy() == b.predict(Q.astype(float))).all()
    assert (a.predict(None).cpu().numpy() == b.predict(None)).all()
several = KernelNeighborsClassifier(Gaussian(2.0)).fit(T, np.c_[c, c > 0])
assert several.predict(q).shape == (9, 2) and len(several.predict_proba(q)) == 2
same(KernelNeighborsRegressor(n_neighbors=3).fit(T, Y).predict(q),
     KernelNeighborsRegressor(n_neighbors=3).fit(wide, Y).predict(Q[:9]))
# Two far clusters: a product of single precision cannot tell neighbors apart, differences can.
near = there((X + 3000.0 * (np.arange(60) % 2)[:, None]).astype(np.float32))
got = KernelNeighborsClassifier(n_neighbors=1).fit(near, c).kneighbors(return_distance=False)
exact = near.double().cpu().numpy()
apart = ((exact[:, None] - exact) ** 2).sum(2) + 1e9 * np.eye(60)
assert (got.cpu().numpy()[:, 0] == apart.argmin(1)).all()
a, b = (KernelCentroidClassifier(Gaussian()).fit(x, c) for x in (T, wide))
same(a.decision_function(q), b.decision_function(Q[:9].astype(float)))
same(a.distances(q), b.distances(Q[:9].astype(float)))
""",
    "perceptron": """
import mercer.engines.cuda.solvers.perceptron_walk as walk
walk.STRIP_ROWS = 32
X = rng.integers(-2, 3, size=(40, 3)).astype(np.float32)
T, c = there(X), (X[:, 0] + X[:, 1] > 0).astype(int) + (X[:, 2] > 0.5)
for t, options in [
    (c, {}),
    (c > 0, {"tie": "first", "shuffle": False}),
    (c, {"multi_class": "ovr", "fit_intercept": True, "averaging": "average"}),
    (c > 0, {"margin": 1.0, "learning_rate": 0.5, "averaging": "vote"}),
    (c, {"max_updates": 17, "multi_class": "ovr"}),
    (c > 0, {"validation_fraction": 0.2, "tie": "first"}),
]:
    options = {"epochs": 2, "random_state": 0, **options}
    a = KernelPerceptron(Polynomial(2, 1.0), **options).fit(T, there(t))
    b = KernelPerceptron(Polynomial(2, 1.0), **options).fit(X.astype(float), t)
    assert list(a.mistakes_) == list(b.mistakes_), options
    assert (a.alpha_ == b.alpha_).all() and a.n_visits_ == b.n_visits_
    assert np.allclose([e["loss"] for e in a.history_], [e["loss"] for e in b.history_])
    assert (a.predict(T).cpu().numpy() == b.predict(X)).all()
a = KernelPerceptron(Gaussian(2.0)).partial_fit(T[:30], c[:30], classes=[0, 1, 2])
b = KernelPerceptron(Gaussian(2.0)).partial_fit(X[:30], c[:30], classes=[0, 1, 2])
a, b = a.partial_fit(T[30:], c[30:]), b.partial_fit(X[30:], c[30:])
assert list(a.mistakes_) == list(b.mistakes_)
assert len(KernelPerceptron(Gaussian(2.0), budget=10).fit(T, c).predict(T)) == 40
""",
    "bad input": """
model = KernelRidge(Gaussian()).fit(T, y)
for bad, word in [
    (lambda: model.predict(torch.zeros(3, 5, device=DEVICE)), "5 features"),
    (lambda: KernelRidge(Gaussian()).fit(T * float("nan"), y), "NaN"),
    (lambda: KernelRidge(Gaussian()).fit(T[:0], y[:0]), "empty"),
    (lambda: KernelRidge(Gaussian()).fit(T[0], y), "2-D"),
    (lambda: KernelRidge(Gaussian()).fit(T, y[:5]), "inconsistent"),
]:
    try:
        bad()
        raise AssertionError(word)
    except ValueError as error:
        assert word in str(error), error
halves = KernelRidge(Gaussian(), alpha=0.1).fit(T.half(), y)
same(halves.predict(q.half()), KernelRidge(Gaussian(), alpha=0.1).fit(wide, y).predict(Q[:9]), 1e-2)
strided = there(np.repeat(X, 2, axis=1))[:, ::2]
same(KernelRidge(Gaussian(), alpha=0.1).fit(strided, y).predict(q),
     KernelRidge(Gaussian(), alpha=0.1).fit(wide, y).predict(Q[:9].astype(float)))
inside = KernelRidge(Similarity(lambda a, b: float(a @ b)), alpha=1.0).fit(T, y)
linear = KernelRidge(Linear(), alpha=1.0).fit(wide, y)
assert np.allclose(inside.predict(q), linear.predict(Q[:9]), atol=1e-4)
a, b = (KernelRidge(NegativeSquaredDistance(), alpha=0.1).fit(x, y) for x in (T, wide))
same(a.predict(q), b.predict(Q[:9].astype(float)), 1e-2)
""",
}


@pytest.mark.parametrize("name", list(CASES))
def test_the_same_models_on_a_device(name, run_on_device):
    run_on_device(BEGIN + CASES[name] + '\nprint("checked")\n')
