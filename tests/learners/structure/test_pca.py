"""KernelPCA: equal to scikit-learn's on many kernels, by the matrix and by products alike."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix
from sklearn.decomposition import PCA
from sklearn.decomposition import KernelPCA as Peer
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import check_estimator

import mercer
from mercer import Gaussian, KernelPCA, KernelRidge, Linear

rng = np.random.default_rng(0)
X, Z = rng.normal(size=(90, 4)), rng.normal(size=(15, 4))
NAMES = {
    "rbf": {"gamma": 0.2},
    "poly": {"gamma": 0.3, "degree": 3, "coef0": 1.0},
    "linear": {},
}
KERNELS = [
    "laplacian(0.5, norm=1)",
    "matern(1.5, length=2)",
    "rational_quadratic(0.7, length=2)",
    "polynomial(2, offset=1).normalized()",
    "0.5*gaussian(2) + linear()",
    "gaussian(1).on([0, 2]) * (linear() + 1)",
    "cosine()",
    "arc_cosine(1)",
    "periodic(3, length=1)",
    "wendland(2)",
]


def agree(ours, theirs, tolerance=1e-8):
    """Equal up to the sign of each column."""
    assert ours.shape == theirs.shape
    signs = np.sign((ours * theirs).sum(axis=0))
    np.testing.assert_allclose(ours * signs, theirs, atol=tolerance)


@pytest.mark.parametrize("n_components", [3, None])
@pytest.mark.parametrize("name", NAMES)
def test_equal_to_scikit_learns_by_name(name, n_components):
    ours = KernelPCA(name, n_components, fit_inverse_transform=True, alpha=0.1, **NAMES[name])
    theirs = Peer(n_components, kernel=name, fit_inverse_transform=True, alpha=0.1, **NAMES[name])
    agree(ours.fit_transform(X), theirs.fit_transform(X))
    agree(ours.transform(Z), theirs.transform(Z))
    np.testing.assert_allclose(ours.eigenvalues_, theirs.eigenvalues_, atol=1e-8)
    if name == "rbf":
        back = ours.inverse_transform(ours.transform(Z))
        np.testing.assert_allclose(back, theirs.inverse_transform(theirs.transform(Z)), atol=1e-8)


@pytest.mark.parametrize("expression", KERNELS)
def test_equal_to_scikit_learns_on_the_matrix(expression):
    kernel = mercer.parse(expression)
    theirs = Peer(4, kernel="precomputed").fit(kernel(X))
    for ours in (KernelPCA(kernel, 4).fit(X), KernelPCA(expression, 4, solver="blocks").fit(X)):
        agree(ours.transform(Z), theirs.transform(kernel(Z, X)))
    given = KernelPCA("precomputed", 4).fit(kernel(X))
    agree(given.transform(kernel(Z, X)), theirs.transform(kernel(Z, X)))


def test_products_give_what_the_matrix_gives():
    rows = rng.normal(size=(700, 5)) * [3.0, 2.0, 1.5, 1.0, 0.5]
    whole = KernelPCA("rbf", 5, solver="dense").fit(rows)
    with mercer.config(memory="3MB"):  # the matrix would take 4 MB: it is computed again and again
        parts = KernelPCA("rbf", 5).fit(rows)
    assert parts.n_iter_ > 0 == whole.n_iter_
    agree(parts.transform(rows), whole.transform(rows))
    for name in ("eigenvalues_", "explained_variance_ratio_"):
        np.testing.assert_allclose(getattr(parts, name), getattr(whole, name), rtol=1e-10)
    single = KernelPCA("rbf", 5).fit(rows.astype(np.float32))
    np.testing.assert_allclose(single.eigenvalues_, whole.eigenvalues_, rtol=1e-5)
    assert single.transform(rows.astype(np.float32)).dtype == np.float32


def test_restarts_end_at_the_same_pairs():
    rows = rng.normal(size=(600, 6))
    with mercer.config(memory="1.4MB"):  # four blocks of vectors, and no more
        parts = KernelPCA("gaussian(3)", 3).fit(rows)
    whole = KernelPCA("gaussian(3)", 3, solver="dense").fit(rows)
    agree(parts.eigenvectors_, whole.eigenvectors_)


def test_linear_components_are_those_of_pca():
    ours, theirs = KernelPCA("linear", 3).fit(X), PCA(3).fit(X)
    agree(ours.transform(Z), theirs.transform(Z))
    ratio = theirs.explained_variance_ratio_
    np.testing.assert_allclose(ours.explained_variance_ratio_, ratio, rtol=1e-10)
    assert KernelPCA("rbf").fit(X).explained_variance_ratio_.sum() == pytest.approx(1.0)


def test_without_centering_products_of_coordinates_are_k():
    kernel = Gaussian(2.0)
    pca = KernelPCA(kernel, center=False).fit(X)
    T = pca.transform(X)
    np.testing.assert_allclose(T @ T.T, kernel(X), atol=1e-8)


def test_pre_images_take_noise_off_a_circle():
    angle = np.linspace(0, 2 * np.pi, 120, endpoint=False)
    circle = np.column_stack([np.cos(angle), np.sin(angle)])
    noisy = circle + 0.15 * rng.normal(size=circle.shape)
    pca = KernelPCA("gaussian(0.7)", 3, fit_inverse_transform=True, alpha=0.01).fit(noisy)
    clean = pca.inverse_transform(pca.transform(noisy))
    off = [np.abs(np.linalg.norm(rows, axis=1) - 1).mean() for rows in (noisy, clean)]
    assert off[1] < 0.7 * off[0]


def test_strings_tables_and_sparse_rows():
    words = ["gattaca", "gattag", "cattag", "tagtag", "acacac", "acaca"]
    pca = KernelPCA("spectrum(2).normalized()", 2).fit(words)
    assert np.linalg.norm(np.diff(pca.transform(["acacac", "acaca"]), axis=0)) < 0.3
    frame = pd.DataFrame({"a": X[:, 0], "town": np.where(X[:, 1] > 0, "Ulm", "Bonn")})
    mixed = KernelPCA("gaussian(1).on('a') + hamming().on(['town'])", 2).fit(frame)
    assert mixed.transform(frame[:3]).shape == (3, 2)
    sparse = np.where(X > 0.5, X, 0.0)
    agree(KernelPCA("rbf", 2).fit_transform(csr_matrix(sparse)),
          KernelPCA("rbf", 2).fit_transform(sparse))  # fmt: skip


def test_searches_pipelines_frames_and_files(tmp_path):
    target = np.sin(X[:, 0])
    search = GridSearchCV(
        make_pipeline(KernelPCA("gaussian(1)", 5), KernelRidge("linear", alpha=0.1)),
        {"kernelpca__n_components": [1, 5], "kernelpca__kernel__sigma": [0.5, 3.0]},
        cv=3,
    )
    assert search.fit(X, target).best_params_["kernelpca__n_components"] == 5
    frame = KernelPCA(n_components=2).set_output(transform="pandas").fit_transform(X)
    assert list(frame.columns) == ["kernelpca0", "kernelpca1"]
    model = KernelPCA(n_components=3, fit_inverse_transform=True).fit(X)
    model.save(tmp_path / "pca")
    again = mercer.load(tmp_path / "pca")
    np.testing.assert_array_equal(again.transform(Z), model.transform(Z))
    coordinates = model.transform(Z)
    found, kept = again.inverse_transform(coordinates), model.inverse_transform(coordinates)
    np.testing.assert_array_equal(found, kept)
    np.testing.assert_array_equal(again.eigenvectors_, model.eigenvectors_)


def test_what_cannot_be_answered_is_said():
    with pytest.raises(ValueError, match="at least 2 examples"):
        KernelPCA().fit(X[:1])
    with pytest.raises(ValueError, match="tells none of the 5 examples apart"):
        KernelPCA("rbf").fit(np.ones((5, 2)))
    with pytest.raises(ValueError, match=r"NaN.*SimpleImputer"):
        KernelPCA().fit([[np.nan, 1.0], [0.0, 1.0]])
    with pytest.raises(ValueError, match="fit_inverse_transform=True"):
        KernelPCA(n_components=1).fit(X).inverse_transform([[1.0]])
    for kernel, rows in (("spectrum(2)", ["ab", "bc"]), ("linear", csr_matrix(np.eye(3)))):
        with pytest.raises(ValueError, match="pre-images are learned from dense rows"):
            KernelPCA(kernel, fit_inverse_transform=True).fit(rows)
    with pytest.raises(ValueError, match="expecting 90"):
        KernelPCA("precomputed", 2).fit(X @ X.T).transform(np.ones((2, 91)))
    with mercer.config(memory="1MB"), pytest.raises(MemoryError, match="fewer components"):
        KernelPCA().fit(np.zeros((1000, 2)))
    with mercer.config(memory="1MB"), pytest.raises(MemoryError, match="fewer components"):
        KernelPCA(n_components=200).fit(np.zeros((4000, 2)))


def test_more_components_than_rows_and_constant_columns():
    rows = np.column_stack([X[:5], np.full(5, 7.0)])
    T = KernelPCA("rbf", 20).fit_transform(rows)
    assert T.shape == (5, 5)
    np.testing.assert_allclose(T[:, 4], 0.0, atol=1e-12)  # centering takes one direction


def test_a_kernel_that_is_none_is_told_and_its_negative_part_left_out():
    with pytest.warns(UserWarning, match="not a positive semi-definite kernel"):
        pca = KernelPCA("negative_squared_distance()").fit(X)
    assert (pca.eigenvalues_ > 0).all()
    with pytest.warns(UserWarning, match="not symmetric"):
        KernelPCA(lambda a, b: float(a[0] + 2 * b[0] + a @ b), 2).fit(X[:20])


@pytest.mark.filterwarnings("ignore")
def test_scikit_learns_checks():
    found = check_estimator(KernelPCA("linear", 2), on_skip=None, on_fail=None)
    assert not [one["check_name"] for one in found if one["status"] == "failed"]


def test_many_copies_of_an_eigenvalue_are_all_found():
    groups = np.repeat(np.arange(30), 20)  # 29 directions of equal variance
    rows = np.eye(30)[groups]
    pca = KernelPCA("linear", 20).fit(np.vstack([rows, rows[:1]]))
    assert pca.n_iter_ > 0
    whole = KernelPCA("linear", 20, solver="dense").fit(np.vstack([rows, rows[:1]]))
    assert np.ptp(whole.eigenvalues_[1:]) < 1e-10
    np.testing.assert_allclose(pca.eigenvalues_, whole.eigenvalues_, rtol=1e-10)


def test_negative_eigenvalues_are_said():
    K = np.array([[1.0, 2.0, 0.0], [2.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    with pytest.warns(UserWarning, match="not positive semi-definite"):
        model = KernelPCA("precomputed", 3).fit(K)
    assert model.eigenvalues_.min() == 0.0


def test_inverse_transform_without_its_fit_is_said():
    with pytest.raises(NotFittedError, match="fit_inverse_transform"):
        KernelPCA("linear", 1).fit(np.eye(3)).inverse_transform(np.zeros((1, 1)))


@pytest.mark.parametrize("offset", [0.0, 1e4, 1e8])
@pytest.mark.parametrize("n", [100, 700])
def test_components_that_rounding_hides_are_said_to_be(n, offset):
    X = np.random.default_rng(0).normal(size=(n, 5)) + offset
    model = KernelPCA("polynomial(1, offset=1)", n_components=2)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        own = model.fit_transform(X)
    far = np.abs(model.transform(X) - own).max() / np.abs(own).max()
    said = any("take the mean off the rows" in str(w.message) for w in told)
    assert said == (far > 1e-3) == (offset == 1e8)


@pytest.mark.parametrize("offset", [0.0, 1e4, 1e6, 1e8])
@pytest.mark.parametrize("n", [100, 700])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_linear_components_are_the_same_wherever_the_rows_are(n, offset, dtype, recwarn):
    spread = np.array([5.0, 3.0, 1.0, 1.0])
    far = min(offset, 1e6 if dtype == "float32" else 1e8)
    X = (spread * np.random.default_rng(0).normal(size=(n, 4)) + far).astype(dtype)
    model, tol = KernelPCA(Linear(), n_components=2), 1e-11 if dtype == "float64" else 1e-4
    exact = X.astype(float) - X.astype(float).mean(axis=0)
    own, peer = model.fit_transform(X), PCA(2, svd_solver="full").fit_transform(exact)
    agree(own, peer, tol)
    agree(model.transform(X), peer, tol)
    agree(model.transform(X[:7]), peer[:7], tol)
    assert not recwarn.list
