"""KernelDensity: equal to scikit-learn's, normalized, of the likeliest bandwidth; its draws."""

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KernelDensity as Peer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

import mercer
from mercer import KernelDensity

rng = np.random.default_rng(0)
X = rng.normal(size=(80, 2))
SAME = {
    "gaussian": "gaussian()",
    "tophat": "uniform()",
    "epanechnikov": "epanechnikov()",
    "exponential": "laplacian()",
}
OTHERS = [
    "matern(1.5)",
    "laplacian(1, norm=inf)",
    "wendland(1, width=2)",
    "bspline(3)",
    "tricube(2)",
    "rational_quadratic(5)",
    "gaussian([1.0, 2.0])",
    "gaussian(1) + 2 * gaussian(2)",
]


@pytest.mark.parametrize("columns", [1, 2, 5])
@pytest.mark.parametrize("name", SAME)
def test_equal_to_scikit_learns(name, columns):
    rows, new = rng.normal(size=(120, columns)), 2 * rng.normal(size=(40, columns))
    weight = rng.uniform(0.1, 2.0, 120)
    for h, w in ((0.8, None), ("scott", weight), ("silverman", None)):
        h = h if w is None else 0.6  # scikit-learn's rules count rows, ours their weight
        ours = KernelDensity(SAME[name], h).fit(rows, sample_weight=w)
        theirs = Peer(kernel=name, bandwidth=h).fit(rows, sample_weight=w)
        found, want = ours.score_samples(new), theirs.score_samples(new)
        seen = want > -30  # beyond the end of a kernel, scikit-learn has what rounding left
        np.testing.assert_allclose(found[seen], want[seen], atol=1e-8)
        assert (found[~seen] < -30).all()
        if seen.all():
            assert ours.score(new) == pytest.approx(theirs.score(new), abs=1e-6)


def test_far_from_everything_the_logarithm_is_right():
    far = np.array([[60.0, 0.0], [0.0, 1e4]])
    ours, theirs = KernelDensity(bandwidth=0.5).fit(X), Peer(bandwidth=0.5).fit(X)
    np.testing.assert_allclose(ours.score_samples(far), theirs.score_samples(far), rtol=1e-10)
    assert KernelDensity("tricube()", bandwidth=0.5).fit(X).score_samples(far)[0] == -np.inf


@pytest.mark.parametrize("kernel", OTHERS)
def test_densities_integrate_to_one_and_draws_follow_them(kernel):
    model = KernelDensity(kernel, bandwidth=0.5).fit(X[:10])
    axis = np.linspace(-12, 12, 241)
    grid = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)
    p = np.exp(model.score_samples(grid)) * (axis[1] - axis[0]) ** 2
    assert p.sum() == pytest.approx(1.0, abs=2e-3)
    drawn = model.sample(4000, random_state=0)
    mean = p @ grid
    spread = np.sqrt(p @ (grid - mean) ** 2)
    np.testing.assert_allclose(drawn.mean(axis=0), mean, atol=5 * spread.max() / 60)
    np.testing.assert_allclose(drawn.std(axis=0), spread, rtol=0.1)
    np.testing.assert_array_equal(drawn, model.sample(4000, random_state=0))


def left_out(rows, h, kernel="gaussian"):
    own = [Peer(kernel=kernel, bandwidth=h).fit(np.delete(rows, i, axis=0)).score(rows[i : i + 1])
           for i in range(len(rows))]  # fmt: skip
    return float(np.mean(own))


def test_the_bandwidth_is_the_likeliest_of_all():
    rows = rng.normal(size=(60, 2))
    widths = np.logspace(-1, 0.5, 7)
    chosen = KernelDensity(bandwidths=widths).fit(rows)
    values = [left_out(rows, h) for h in widths]
    assert chosen.bandwidth_ == pytest.approx(widths[int(np.argmax(values))])
    assert chosen.loo_score_ == pytest.approx(max(values), abs=1e-9)
    searched = KernelDensity().fit(rows)
    assert searched.loo_score_ >= chosen.loo_score_ - 1e-9
    assert left_out(rows, searched.bandwidth_) == pytest.approx(searched.loo_score_, abs=1e-9)
    compact = KernelDensity("epanechnikov").fit(rows)
    assert np.isfinite(compact.loo_score_)


@pytest.mark.parametrize("kernel", ["epanechnikov(1)", "uniform(1)", "tricube(1)"])
@pytest.mark.parametrize("shape", [(60, 3), (300, 1)])
def test_the_bandwidth_of_a_compact_kernel_reaches_all(kernel, shape):
    rows = np.random.default_rng(0).normal(size=shape)
    model = KernelDensity(kernel).fit(rows)
    widths = np.geomspace(0.1, 10, 60)
    assert model.bandwidth_ not in (1.0, widths[-1])
    best = KernelDensity(kernel, bandwidths=widths).fit(rows)
    assert model.loo_score_ >= best.loo_score_ - 0.01


def test_a_sample_of_many_rows_drops_bandwidths_that_cannot_win(monkeypatch):
    rows, widths = rng.normal(size=(300, 2)), np.logspace(-2, 1, 9)
    whole = KernelDensity(bandwidths=widths).fit(rows)
    monkeypatch.setattr("mercer.solvers.density.COARSE", 100)
    raced = KernelDensity(bandwidths=widths).fit(rows)
    assert raced.bandwidth_ == whole.bandwidth_
    assert raced.loo_score_ == pytest.approx(whole.loo_score_)
    assert len(raced.bandwidths_tried_) < 9 + 9


def test_copies_are_left_out_together():
    twice = np.vstack([X, X])
    assert KernelDensity().fit(twice).bandwidth_ == pytest.approx(KernelDensity().fit(X).bandwidth_)
    weight = np.full(80, 2.0)
    np.testing.assert_allclose(
        KernelDensity(bandwidth=0.4).fit(X, sample_weight=weight).score_samples(X),
        KernelDensity(bandwidth=0.4).fit(twice).score_samples(X),
    )


def test_searches_pipelines_tables_and_files(tmp_path):
    search = GridSearchCV(KernelDensity(), {"bandwidth": [0.01, 0.4, 5.0]}, cv=3).fit(X)
    assert search.best_params_ == {"bandwidth": 0.4}
    pipeline = make_pipeline(StandardScaler(), KernelDensity(bandwidth="scott")).fit(X)
    frame = pd.DataFrame(X, columns=["a", "b"])
    assert pipeline.score_samples(X).shape == (80,)
    model = KernelDensity("epanechnikov", bandwidth=0.7).fit(frame)
    np.testing.assert_array_equal(
        model.score_samples(frame),
        KernelDensity("epanechnikov", bandwidth=0.7).fit(X).score_samples(X),
    )
    np.testing.assert_allclose(
        KernelDensity(bandwidth=0.7).fit(csr_matrix(X)).score_samples(csr_matrix(X)),
        KernelDensity(bandwidth=0.7).fit(X).score_samples(X),
    )
    model.save(tmp_path / "density")
    again = mercer.load(tmp_path / "density")
    np.testing.assert_array_equal(again.score_samples(frame), model.score_samples(frame))
    np.testing.assert_array_equal(again.sample(3, 1), model.sample(3, 1))


def test_what_cannot_be_answered_is_said():
    for kernel, why in {
        "linear()": "not a function of x − z",
        "spectrum(2)": "not a function of x − z",
        "gaussian(1).on([0])": "does not see the columns one by one",
        "rational_quadratic(1)": "no finite integral over 2 columns",
        "gaussian(1) * laplacian(1, norm=1)": "the integral of .* is not known",
        "periodic(1)": "the integral of .* is not known",
        "squared_distance()": "no finite integral",
    }.items():
        rows = ["ab", "bc"] if kernel.startswith("spectrum") else X
        with pytest.raises(ValueError, match=why):
            KernelDensity(kernel, bandwidth=1.0).fit(rows)
    for rows in (np.ones((5, 2)), X[:1]):
        with pytest.raises(ValueError, match="at least 2 different examples"):
            KernelDensity().fit(rows)
    with pytest.raises(ValueError, match="within reach"):
        KernelDensity("uniform", bandwidths=[1e-6]).fit(X)
    with pytest.raises(ValueError, match=r"NaN.*SimpleImputer"):
        KernelDensity().fit([[np.nan, 1.0], [0.0, 1.0]])
    constant = np.column_stack([X[:, 0], np.full(80, 3.0)])
    assert np.isfinite(KernelDensity().fit(constant).loo_score_)


@pytest.mark.filterwarnings("ignore")
def test_scikit_learns_checks():
    found = check_estimator(KernelDensity("epanechnikov", "scott"), on_skip=None, on_fail=None)
    assert not [one["check_name"] for one in found if one["status"] == "failed"]
