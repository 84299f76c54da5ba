"""Widths the data chooses: what the words mean, at any depth, and where numbers are needed."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.spatial.distance import pdist

import mercer
from mercer import Gaussian, Laplacian, Linear, Matern, Polynomial
from mercer.kernels import DEFAULT, parse
from mercer.kernels.catalog import KERNELS, examples
from mercer.kernels.parameters.widths import MEDIAN_ROWS, Spread, as_width

RNG = np.random.default_rng(0)
X = RNG.gamma(2.0, 3.0, size=(40, 5))
WITH_WIDTHS = [
    (cls, name)
    for cls in KERNELS.values()
    for name, check in cls.parameters.items()
    if as_width(check) and cls.takes == "vectors"
]


def scale_sigma(rows) -> float:
    return float(np.sqrt(rows.shape[1] * rows.var() / 2))


def test_the_words_of_a_gaussian() -> None:
    assert Gaussian("scale").fitted(X).sigma == pytest.approx(scale_sigma(X), rel=1e-13)
    gamma = 0.5 / Gaussian("scale").fitted(X).sigma ** 2
    assert gamma == pytest.approx(1 / (5 * X.var()), rel=1e-13)
    assert Gaussian("median").fitted(X).sigma == pytest.approx(np.median(pdist(X)), rel=1e-9)


@pytest.mark.parametrize(
    ("norm", "metric"), [(1, "cityblock"), (2, "euclidean"), ("inf", "chebyshev")]
)
def test_a_rate_is_of_its_own_norm(norm, metric) -> None:
    found = Laplacian("median", norm=norm).fitted(X).rate
    assert found == pytest.approx(1 / np.median(pdist(X, metric)), rel=1e-9)
    scale = {1: 5 * X.std(), 2: scale_sigma(X), "inf": X.std()}[norm]
    assert Laplacian("scale", norm=norm).fitted(X).rate == pytest.approx(1 / scale)


def test_gamma_before_a_dot_product_is_scikit_learns() -> None:
    for k, name in [(Polynomial(3, gamma="scale"), "gamma"), (mercer.Sigmoid("scale"), "eta")]:
        assert getattr(k.fitted(X), name) == pytest.approx(1 / (5 * X.var()))


def test_a_periodic_kernel_is_a_gaussian_on_circles() -> None:
    angles = 2 * np.pi * X / 7.0
    circles = np.hstack([np.cos(angles), np.sin(angles)])
    k = mercer.Periodic(7.0, "scale").fitted(X)
    assert k.length == pytest.approx(scale_sigma(circles))
    np.testing.assert_allclose(k(X), Gaussian(k.length)(circles), rtol=1e-9)
    with pytest.raises(TypeError, match="data choose only its length"):
        mercer.Periodic("scale")


@pytest.mark.parametrize(("cls", "name"), WITH_WIDTHS, ids=lambda v: getattr(v, "__name__", v))
@pytest.mark.parametrize("word", ["scale", "median"])
def test_every_width_takes_both_words(cls, name, word) -> None:
    k = examples(cls)[0].set_params(**{name: word})
    assert k.words == {name: word}
    assert parse(repr(k)) == k
    assert parse(f"{repr(k)[:-1].replace(repr(word), word)})") == k
    assert pickle.loads(pickle.dumps(k)) == k
    assert hash(k) == hash(eval(repr(k), vars(mercer.kernels)))
    assert k.latex()
    fitted = k.fitted(X)
    assert fitted.words == {}
    assert getattr(fitted, name) > 0
    assert fitted.set_params(**{name: word}) == k
    K = fitted(X)
    assert np.isfinite(K).all()
    assert np.ptp(K[np.triu_indices(len(K), 1)]) > 1e-3, "all pairs look alike"
    # What is chosen follows the unit of the data, so that K does not (a shape on circles aside).
    if cls is not mercer.Periodic:
        scaled = k.fitted(1000.0 * X)(1000.0 * X)
        if k.stationary() or cls in (mercer.ChiSquared, mercer.Sigmoid):
            np.testing.assert_allclose(scaled, K, rtol=1e-9)


def test_without_numbers_a_kernel_says_where_they_come_from() -> None:
    k = 2 * Gaussian("scale") + Linear()
    for ask in (
        k,
        k.gram,
        k.diag,
        k.distance,
        k.gradient,
        k.explain,
        Polynomial(2, gamma="scale").features,
    ):
        with pytest.raises(ValueError, match=r"kernel\.fitted\(X\)"):
            ask(X)


def test_questions_about_structure_need_no_numbers() -> None:
    k = Gaussian("scale") * Polynomial(2, offset=1.0, gamma="median")
    assert bool(k.prove())
    assert k.prove(X)
    assert Polynomial(2, offset=1.0, gamma="scale").n_dims(4) == Polynomial(2, 1.0).n_dims(4)
    assert Gaussian("scale").stationary()
    assert Matern(length="median").radial()
    refuted = mercer.kernels.Epanechnikov("scale").prove(n_features=1)
    assert isinstance(refuted, mercer.proof.Counterexample)


def test_parts_see_the_rows_that_they_get() -> None:
    k = Gaussian("scale").on([1]) + 0.5 * Gaussian("scale").warp("square").normalized() ** 2
    fitted = k.fitted(X)
    assert fitted.left.kernel.sigma == pytest.approx(scale_sigma(X[:, [1]]))
    assert fitted.right.kernel.kernel.kernel.kernel.sigma == pytest.approx(scale_sigma(X**2))
    again = k.set_params(gaussian__sigma=3.0).fitted(X)
    assert again.left.kernel.sigma == 3.0


def test_frames_sparse_rows_float32_and_tensors() -> None:
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(X, columns=list("abcde")).assign(word="x")
    k = Gaussian("scale").on(["b", "d"]) * mercer.kernels.Hamming().on(["word"])
    assert k.fitted(frame).left.kernel.sigma == pytest.approx(scale_sigma(X[:, [1, 3]]))
    thin = np.where(RNG.random(X.shape) < 0.7, 0.0, X)
    for word in ("scale", "median"):
        dense = Gaussian(word).fitted(thin).sigma
        assert Gaussian(word).fitted(sp.csr_array(thin)).sigma == pytest.approx(dense, rel=1e-9)
        assert Gaussian(word).fitted(thin.astype(np.float32)).sigma == pytest.approx(
            dense, rel=1e-5
        )
    torch = pytest.importorskip("torch")
    for word in ("scale", "median"):
        tensor = Gaussian(word).fitted(torch.as_tensor(X)).sigma
        assert tensor == pytest.approx(Gaussian(word).fitted(X).sigma, rel=1e-12)


def test_duplicates_in_a_sparse_matrix_are_added_first() -> None:
    twice = sp.csr_array(
        (np.array([1.0, 2.0, 5.0]), np.array([0, 0, 1]), np.array([0, 2, 3])), (2, 2)
    )
    assert Spread(twice).variance == pytest.approx(np.var([3.0, 0.0, 0.0, 5.0]))


def test_far_from_the_origin_nothing_is_lost() -> None:
    near = RNG.normal(size=(500, 3))
    for word in ("scale", "median"):
        there = Gaussian(word).fitted(near + 1e7).sigma
        assert there == pytest.approx(Gaussian(word).fitted(near).sigma, rel=1e-5)


@pytest.mark.parametrize("word", ["scale", "median"])
def test_rows_without_spread_give_one(word) -> None:
    for cls, name in WITH_WIDTHS:
        if cls is mercer.Periodic:
            continue
        k = examples(cls)[0].set_params(**{name: word})
        assert getattr(k.fitted(np.full((4, 3), 2.0)), name) == 1.0, k
    assert Gaussian("median").fitted([[1.0, 5.0]]).sigma == 1.0


def test_bad_rows_are_refused() -> None:
    with pytest.raises(ValueError, match="no rows"):
        Gaussian("scale").fitted(np.empty((0, 2)))
    with pytest.raises(ValueError, match="NaN or infinity"):
        Gaussian("scale").fitted([[np.nan, 1.0]])


def test_the_median_is_of_a_sample_that_never_changes() -> None:
    many = RNG.normal(size=(5 * MEDIAN_ROWS, 2))
    first = Gaussian("median").fitted(many).sigma
    assert first == Gaussian("median").fitted(many).sigma
    assert first == pytest.approx(np.median(pdist(many[:2000])), rel=0.05)


@pytest.mark.parametrize(
    "make",
    [
        lambda: mercer.kernels.Subsequence(2, "scale"),
        lambda: mercer.kernels.RandomWalk("median"),
        lambda: mercer.kernels.Constant("scale"),
        lambda: mercer.kernels.Wendland("scale"),
    ],
)
def test_other_parameters_have_no_such_word(make) -> None:
    with pytest.raises((TypeError, ValueError), match=r"data choose (no parameter|only its)"):
        make()


def test_images_have_widths_too() -> None:
    images = RNG.random((6, 4, 4))
    k = mercer.kernels.TangentDistance(4, 4, sigma="scale").fitted(images)
    assert k.sigma == pytest.approx(scale_sigma(images.reshape(6, 16)))
    inner = mercer.kernels.RotationInvariant(Gaussian("scale"), [0, 90]).fitted(images)
    assert inner.base.sigma == pytest.approx(scale_sigma(images.reshape(6, 16)))


def test_what_is_spelt_once() -> None:
    assert Gaussian("scale") == DEFAULT
    assert Gaussian() == Gaussian(1.0)


def test_weights_count_as_copies() -> None:
    weight = np.arange(len(X)) % 3
    for k in (Gaussian("scale"), mercer.ChiSquared("scale"), mercer.Periodic(2.0, "scale")):
        copies = k.fitted(np.repeat(X, weight, axis=0))
        for rows in (X, sp.csr_array(X)):
            found = k.fitted(rows, sample_weight=weight)
            name = next(iter(k.words))
            assert getattr(found, name) == pytest.approx(getattr(copies, name), rel=1e-12)
