"""How neighbors vote: by distance, by weight, where nobody is near, for several outputs."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.neighbors import (
    KNeighborsClassifier,
    KNeighborsRegressor,
    RadiusNeighborsClassifier,
    RadiusNeighborsRegressor,
)

import mercer
from mercer import KernelNeighborsClassifier, KernelNeighborsRegressor

RNG = np.random.default_rng(7)
X, Q = RNG.normal(size=(80, 3)), RNG.normal(size=(15, 3))
LABELS = RNG.integers(0, 3, 80)
SEVERAL = np.column_stack([LABELS, RNG.integers(5, 7, 80)])
VALUES = RNG.normal(size=(80, 2))


def falling(apart):
    """A weight for one array of distances, or for an array of such arrays."""
    return 1.0 / (1.0 + apart) ** 2


@pytest.mark.parametrize("weights", ["uniform", "distance", None, falling])
def test_votes_are_scikit_learns_where_distances_are_euclidean(weights):
    near = {"n_neighbors": 7, "weights": weights}
    ours = KernelNeighborsRegressor("linear()", **near).fit(X, VALUES)
    peer = KNeighborsRegressor(**near).fit(X, VALUES)
    np.testing.assert_allclose(ours.predict(Q), peer.predict(Q))
    np.testing.assert_allclose(ours.predict(None), peer.predict(None))
    ours = KernelNeighborsClassifier("linear()", **near).fit(X, LABELS)
    peer = KNeighborsClassifier(**near).fit(X, LABELS)
    np.testing.assert_allclose(ours.predict_proba(Q), peer.predict_proba(Q))
    np.testing.assert_allclose(ours.predict_proba(None), peer.predict_proba(None))
    assert ours.score(None, LABELS) == peer.score(None, LABELS)
    wide = {"radius": 2.5, "weights": weights}
    ours = KernelNeighborsRegressor("linear()", **wide).fit(X, VALUES)
    np.testing.assert_allclose(
        ours.predict(Q), RadiusNeighborsRegressor(**wide).fit(X, VALUES).predict(Q)
    )


@pytest.mark.parametrize("options", [{}, {"radius": 0.5}])
def test_a_neighbor_at_distance_zero_answers_alone(options):
    twice = np.vstack([X, X[:1]])
    y = np.append(VALUES[:, 0], 100.0)
    model = KernelNeighborsRegressor("linear()", weights="distance", **options).fit(twice, y)
    np.testing.assert_allclose(model.predict(X[:2]), [(y[0] + 100.0) / 2, y[1]])


def test_functions_of_distances_are_checked():
    model = KernelNeighborsRegressor(weights=lambda d: d[:, :2]).fit(X, VALUES)
    with pytest.raises(ValueError, match="one number per distance"):
        model.predict(Q)
    for options in ({}, {"radius": 5.0}):
        none = KernelNeighborsClassifier(weights=lambda d: 0 * d, **options).fit(X, LABELS)
        with pytest.raises(ValueError, match="at least one neighbor"):
            none.predict(Q)


@pytest.mark.parametrize("options", [{"n_neighbors": 4}, {"radius": 1.5}])
def test_an_example_of_weight_two_counts_as_two(options):
    weight = RNG.integers(0, 4, 80)
    again = np.repeat(np.arange(80), weight)
    ours = KernelNeighborsClassifier("gaussian(2)", **options)
    weighted = ours.fit(X, LABELS, sample_weight=weight).predict_proba(Q)
    repeated = ours.fit(X[again], LABELS[again]).predict_proba(Q)
    np.testing.assert_allclose(weighted, repeated)
    given = KernelNeighborsClassifier("precomputed", **options)
    K = mercer.Gaussian(2)
    given.fit(K(X), LABELS, sample_weight=weight)
    np.testing.assert_allclose(given.predict_proba(K(Q, X)), weighted)
    mean = KernelNeighborsRegressor("gaussian(2)", **options)
    weighted = mean.fit(X, VALUES, sample_weight=weight).predict(Q)
    np.testing.assert_allclose(weighted, mean.fit(X[again], VALUES[again]).predict(Q))


def test_class_weight_multiplies_votes():
    plain = KernelNeighborsClassifier("linear()", 9).fit(X, LABELS).predict_proba(Q)
    heavy = KernelNeighborsClassifier("linear()", 9, class_weight={0: 1, 1: 3, 2: 1}).fit(X, LABELS)
    expected = plain * [1, 3, 1]
    expected /= expected.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(heavy.predict_proba(Q), expected)
    balanced = KernelNeighborsClassifier("linear()", 80, class_weight="balanced").fit(X, LABELS)
    np.testing.assert_allclose(balanced.predict_proba(Q), 1 / 3)
    with pytest.raises(ValueError, match="class_weight must be positive"):
        KernelNeighborsClassifier(class_weight={0: 0}).fit(X, LABELS)


def test_several_outputs(tmp_path):
    ours = KernelNeighborsClassifier("linear()", weights="distance").fit(X, SEVERAL)
    peer = KNeighborsClassifier(weights="distance").fit(X, SEVERAL)
    np.testing.assert_array_equal(ours.predict(Q), peer.predict(Q))
    for mine, theirs in zip(ours.predict_proba(Q), peer.predict_proba(Q), strict=True):
        np.testing.assert_allclose(mine, theirs)
    assert [c.tolist() for c in ours.classes_] == [[0, 1, 2], [5, 6]]
    mercer.save(ours, tmp_path / "model")
    np.testing.assert_array_equal(mercer.load(tmp_path / "model").predict(Q), ours.predict(Q))
    both = KernelNeighborsClassifier(class_weight=["balanced", {5: 2, 6: 1}]).fit(X, SEVERAL)
    assert both.predict(Q).shape == (15, 2)
    with pytest.raises(ValueError, match="3 values are given for 2 outputs"):
        KernelNeighborsClassifier(class_weight=[None] * 3).fit(X, SEVERAL)


@pytest.mark.parametrize("label", [2, "most_frequent", 9])
@pytest.mark.filterwarnings("ignore:Outlier label")
def test_the_label_of_outliers(label):
    far = np.vstack([Q, [[50.0, 0.0, 0.0]]])
    ours = KernelNeighborsClassifier("linear()", radius=2.0, outlier_label=label).fit(X, LABELS)
    peer = RadiusNeighborsClassifier(2.0, outlier_label=label).fit(X, LABELS)
    np.testing.assert_array_equal(ours.predict(far), peer.predict(far))
    np.testing.assert_allclose(ours.predict_proba(far), peer.predict_proba(far))


def test_the_label_of_outliers_is_checked():
    model = KernelNeighborsClassifier(radius=0.01, outlier_label=9).fit(X, LABELS)
    with pytest.warns(UserWarning, match="Outlier label 9 is not in training classes"):
        assert set(model.predict(Q)) == {9}
    with pytest.raises(TypeError, match="no label like those of y"):
        KernelNeighborsClassifier(radius=1.0, outlier_label="none").fit(X, LABELS)
    with pytest.raises(TypeError, match="one label per output"):
        KernelNeighborsClassifier(radius=1.0, outlier_label=[[1]]).fit(X, LABELS)


def test_a_radius_per_row():
    model = KernelNeighborsClassifier("gaussian(2)", radius=0.3).fit(X, LABELS)
    for kernel in ("gaussian(2)", "polynomial(2)"):
        model = KernelNeighborsClassifier(kernel, radius=0.3).fit(X, LABELS)
        radii = np.linspace(0.1, 0.9, 15)
        apart, index = model.radius_neighbors(Q, radii)
        for i, radius in enumerate(radii):
            alone = model.radius_neighbors(Q[i : i + 1], radius)
            np.testing.assert_array_equal(index[i], alone[1][0])
            np.testing.assert_allclose(apart[i], alone[0][0])
        everyone = model.radius_neighbors(Q, np.inf, return_distance=False)
        assert [len(row) for row in everyone] == [80] * 15
    with pytest.raises(ValueError, match="14 numbers for 15 rows"):
        model.radius_neighbors(Q, radii[1:])


def test_graphs():
    ours = KernelNeighborsClassifier("linear()", radius=1.0).fit(X, LABELS)
    peer = KNeighborsClassifier().fit(X, LABELS)
    for mode in ("connectivity", "distance"):
        for rows in (Q, None):
            graph = ours.kneighbors_graph(rows, mode=mode)
            assert isinstance(graph, sp.csr_array)
            np.testing.assert_allclose(
                graph.toarray(), peer.kneighbors_graph(rows, mode=mode).toarray()
            )
    near = RadiusNeighborsClassifier(1.0).fit(X, LABELS)
    for mode in ("connectivity", "distance"):
        np.testing.assert_allclose(
            ours.radius_neighbors_graph(Q, mode=mode).toarray(),
            near.radius_neighbors_graph(Q, mode=mode).toarray(),
        )
    with pytest.raises(ValueError, match="mode must be one of"):
        ours.kneighbors_graph(Q, mode="affinity")


def test_new_options_are_refused_by_onnx_and_travel_in_files(tmp_path):
    pytest.importorskip("onnx")
    cases = [
        KernelNeighborsClassifier(weights="distance", class_weight="balanced").fit(X, LABELS),
        KernelNeighborsClassifier(radius=1.0, outlier_label=-1).fit(X, LABELS),
        KernelNeighborsRegressor().fit(X, VALUES, sample_weight=np.arange(80)),
        KernelNeighborsClassifier().fit(X, SEVERAL),
    ]
    for model in cases:
        with pytest.raises(mercer.onnx.NotExportable, match="is exported with equal or kernel"):
            mercer.onnx.export(model, tmp_path / "model.onnx")
        mercer.save(model, tmp_path / "model")
        np.testing.assert_array_equal(mercer.load(tmp_path / "model").predict(X), model.predict(X))
