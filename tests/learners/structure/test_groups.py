"""KernelKMeans, SpectralClustering and pre-images, beside scikit-learn's and brute force."""

import itertools

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.cluster import SpectralClustering as Peer
from sklearn.datasets import make_circles, make_moons
from sklearn.manifold import spectral_embedding
from sklearn.metrics import adjusted_rand_score
from sklearn.model_selection import GridSearchCV
from sklearn.utils.estimator_checks import check_estimator

import mercer
from mercer import Gaussian, KernelKMeans, SpectralClustering

rng = np.random.default_rng(0)
X = np.vstack([rng.normal(size=(30, 2)) + shift for shift in ([0, 0], [4, 0], [0, 5])])
TRUE = np.repeat([0, 1, 2], 30)


def inertia(K, labels, weight=None):
    """Σ w ‖φ(x) − μ‖², by the definition."""
    w = np.ones(len(K)) if weight is None else weight
    total = 0.0
    for c in np.unique(labels):
        a = np.where(labels == c, w, 0.0)
        a = a / a.sum()
        total += (w * (np.diag(K) - 2 * K @ a + a @ K @ a))[labels == c].sum()
    return total


# --- k-means -----------------------------------------------------------------------------------


def test_linear_is_k_means():
    ours = KernelKMeans("linear", 3, random_state=0).fit(X)
    theirs = KMeans(3, n_init=10, random_state=0).fit(X)
    assert ours.inertia_ == pytest.approx(theirs.inertia_, rel=1e-9)
    assert adjusted_rand_score(ours.labels_, theirs.labels_) == 1.0
    found = np.sort(ours.transform(X), axis=1)
    np.testing.assert_allclose(found, np.sort(theirs.transform(X), axis=1), atol=1e-9)
    assert ours.score(X) == pytest.approx(theirs.score(X), rel=1e-9)


@pytest.mark.parametrize("kernel", ["gaussian(1.5)", "polynomial(2, offset=1)", "laplacian(0.5)"])
def test_means_are_those_of_the_groups_and_nothing_moves(kernel):
    model = KernelKMeans(kernel, 3, random_state=1).fit(X)
    K = mercer.parse(kernel)(X)
    assert model.inertia_ == pytest.approx(inertia(K, model.labels_), rel=1e-8)
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    given = KernelKMeans("precomputed", 3, random_state=1).fit(K)
    np.testing.assert_array_equal(given.labels_, model.labels_)
    with pytest.raises(ValueError, match=r"k\(x, x\)"):
        given.transform(K)


def test_the_best_of_all_groupings_of_a_few():
    rows = rng.normal(size=(8, 2))
    K = Gaussian(1.0)(rows)
    groupings = (np.array([0, *rest]) for rest in itertools.product([0, 1], repeat=7))
    best = min(inertia(K, labels) for labels in groupings)
    assert KernelKMeans(Gaussian(1.0), 2, n_init=20, random_state=0).fit(
        rows
    ).inertia_ == pytest.approx(best)


def test_weights_are_copies():
    weight = rng.integers(0, 3, len(X)).astype(float)
    weight[[0, 40, 80]] = 1.0
    ours = KernelKMeans("rbf(gamma=0.2)", 3, random_state=0).fit(X, sample_weight=weight)
    copied = KernelKMeans("rbf(gamma=0.2)", 3, random_state=0).fit(
        np.repeat(X, weight.astype(int), axis=0)
    )
    assert ours.inertia_ == pytest.approx(copied.inertia_, rel=1e-8)
    assert adjusted_rand_score(ours.predict(X), copied.predict(X)) == 1.0
    np.testing.assert_array_equal(ours.labels_, ours.predict(X))


def test_strings_searches_frames_and_files(tmp_path):
    words = ["gattaca", "gattag", "gatta", "ccgcgc", "cgcgcg", "gcgcgc"]
    model = KernelKMeans("spectrum(2).normalized()", 2, random_state=0).fit(words)
    assert len(set(model.labels_[:3])) == len(set(model.labels_[3:])) == 1
    search = GridSearchCV(KernelKMeans("linear", random_state=0), {"n_clusters": [1, 3]}, cv=3)
    assert search.fit(rng.permutation(X)).best_params_ == {"n_clusters": 3}
    frame = KernelKMeans("rbf", 2).set_output(transform="pandas").fit_transform(X)
    assert list(frame.columns) == ["kernelkmeans0", "kernelkmeans1"]
    model = KernelKMeans("rbf", 3, random_state=0).fit(X)
    model.save(tmp_path / "k")
    np.testing.assert_array_equal(mercer.load(tmp_path / "k").transform(X), model.transform(X))


def test_what_k_means_cannot_answer_is_said():
    with pytest.raises(ValueError, match="5 groups need as many examples"):
        KernelKMeans("rbf", 5).fit(X[:3])
    with pytest.raises(ValueError, match="only 1 different examples apart"):
        KernelKMeans("rbf", 2).fit(np.ones((6, 2)))
    with pytest.raises(ValueError, match=r"NaN.*SimpleImputer"):
        KernelKMeans(n_clusters=1).fit([[np.nan, 1.0], [0.0, 1.0]])


# --- spectral ----------------------------------------------------------------------------------


@pytest.mark.parametrize("solver", ["dense", "blocks"])
def test_the_embedding_is_scikit_learns(solver):
    rows = np.vstack([X, X + 0.1 * rng.normal(size=X.shape)])
    model = SpectralClustering("gaussian(1)", 3, solver=solver, random_state=0).fit(rows)
    K = Gaussian(1.0)(rows)
    theirs = spectral_embedding(K, n_components=3, drop_first=False, eigen_tol=1e-12)
    signs = np.sign((model.embedding_ * theirs).sum(axis=0))
    np.testing.assert_allclose(model.embedding_ * signs, theirs, atol=1e-8)
    peer = Peer(3, affinity="precomputed", random_state=0).fit(K)
    assert adjusted_rand_score(model.labels_, peer.labels_) == 1.0
    assert (model.predict(rows) == model.labels_).mean() > 0.98


@pytest.mark.parametrize("make", [make_moons, make_circles])
def test_groups_of_any_shape_by_the_matrix_and_by_centers(make):
    options = {"factor": 0.4} if make is make_circles else {}
    rows, true = make(300, noise=0.05, random_state=0, **options)
    whole = SpectralClustering("gaussian(0.15)", 2, random_state=0).fit(rows)
    assert adjusted_rand_score(whole.labels_, true) > 0.95
    some = SpectralClustering("gaussian(0.15)", 2, centers="kmeans++", random_state=0)
    some.set_params(n_centers=150)
    assert adjusted_rand_score(some.fit(rows).labels_, true) > 0.9
    assert adjusted_rand_score(some.predict(rows), some.labels_) > 0.98
    assert len(some.expansion_) <= 150
    np.testing.assert_allclose(some.eigenvalues_, 1.0, atol=0.05)


def test_all_centers_are_the_graph_with_its_loops():
    rows = X[:40]
    K = Gaussian(1.0)(rows)
    root = np.sqrt(K.sum(axis=1))
    values = np.linalg.eigvalsh(K / root / root[:, None])[::-1][:3]
    model = SpectralClustering("gaussian(1)", 3, centers=np.arange(40), random_state=0).fit(rows)
    np.testing.assert_allclose(model.eigenvalues_, values, atol=1e-6)


def test_a_precomputed_graph_and_files(tmp_path):
    K = Gaussian(1.0)(X)
    model = SpectralClustering("precomputed", 3, random_state=0).fit(K)
    assert adjusted_rand_score(model.labels_, TRUE) > 0.9
    model.save(tmp_path / "m")
    again = mercer.load(tmp_path / "m")
    np.testing.assert_array_equal(again.predict(K), model.predict(K))
    np.testing.assert_array_equal(again.labels_, model.labels_)


def test_what_a_graph_cannot_answer_is_said():
    with pytest.raises(ValueError, match="8 groups need as many examples"):
        SpectralClustering().fit(X[:3])
    with pytest.raises(ValueError, match="negative sum"):
        SpectralClustering("linear", 2).fit(X - X.mean(axis=0) - 1e-3)
    with pytest.raises(ValueError, match="give their indices"):
        SpectralClustering("rbf", 2, centers=X[:5]).fit(X)
    alone = np.vstack([X, [[1e3, 1e3]]])  # no edges at all
    assert SpectralClustering("gaussian(1)", 2, random_state=0).fit(alone).labels_.shape == (91,)
    same = SpectralClustering("rbf", 2, random_state=0).fit(np.ones((6, 2)))
    assert same.labels_.shape == (6,)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("model", [KernelKMeans("linear", 3, n_init=2), SpectralClustering()])
def test_scikit_learns_checks(model):
    found = check_estimator(model, on_skip=None, on_fail=None)
    failed = {r["check_name"]: r["exception"] for r in found if r["status"] == "failed"}
    # As KMeans: a start is drawn among rows, and copies are more rows.
    assert not {name for name in failed if "sample_weight_equivalence" not in name}


# --- pre-images --------------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", ["gaussian(2)", "rational_quadratic(1, 2)", "matern(2.5, 3)"])
def test_a_pre_image_is_the_nearest_point_there_is(kernel):
    k, rows = mercer.parse(kernel), X[:30]
    found = mercer.preimage(kernel, rows)
    near = found + 0.05 * rng.normal(size=(300, 2))
    distance = mercer.distance_to_mean(k, np.vstack([found, near, rows]), rows)
    assert distance.argmin() == 0
    coef = rng.uniform(size=30)
    other = mercer.preimage(kernel, rows, coef / coef.sum())
    assert np.linalg.norm(other - found) < 0.5


def test_pre_images_that_cannot_move():
    np.testing.assert_allclose(mercer.preimage("linear", X), X.mean(axis=0))
    best = mercer.preimage("polynomial(2)", X)
    distance = mercer.distance_to_mean(mercer.Polynomial(2), X, X)
    np.testing.assert_array_equal(best, X[distance.argmin()])
    with pytest.raises(ValueError, match="holds none"):
        mercer.preimage("precomputed", np.eye(3))
    with pytest.raises(ValueError, match="90 examples need as many"):
        mercer.preimage("rbf", X, [1.0])
    np.testing.assert_array_equal(mercer.preimage("rbf", np.ones((4, 2))), [1.0, 1.0])
