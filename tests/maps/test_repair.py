"""SpectrumRepair: the same repair for the training matrix and for new rows."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pytest
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

import mercer
from mercer.maps import SpectrumRepair

BOX = np.array([[1.0, 1.0, 0.0], [1.0, 1.0, 1.0], [0.0, 1.0, 1.0]])
HOW = ("clip", "flip", "shift")


@pytest.fixture
def indefinite(rng) -> np.ndarray:
    A = rng.normal(size=(12, 12))
    return A + A.T


def after(values: np.ndarray, how: str) -> np.ndarray:
    return {"clip": np.maximum(values, 0), "flip": np.abs(values), "shift": values - values.min()}[
        how
    ]


@pytest.mark.parametrize("how", HOW)
def test_the_spectrum(indefinite, how):
    fix = SpectrumRepair(how)
    K = fix.fit_transform(indefinite)
    values = np.linalg.eigvalsh(indefinite)
    np.testing.assert_allclose(fix.eigenvalues_, values)
    assert fix.shift_ == pytest.approx(-values[0])
    np.testing.assert_allclose(K, K.T, atol=1e-12)
    np.testing.assert_allclose(np.linalg.eigvalsh(K), np.sort(after(values, how)), atol=1e-12)


@pytest.mark.parametrize("how", HOW)
def test_agrees_with_repair(indefinite, how):
    np.testing.assert_allclose(
        SpectrumRepair(how).fit_transform(indefinite), mercer.repair(indefinite, how), atol=1e-12
    )


@pytest.mark.parametrize("how", HOW)
def test_training_rows_are_repaired_alike_alone_or_together(indefinite, how):
    fix = SpectrumRepair(how).fit(indefinite)
    whole = fix.transform(indefinite)
    np.testing.assert_allclose(fix.transform(indefinite[[7, 2]]), whole[[7, 2]], atol=1e-13)


@pytest.mark.parametrize("how", ["clip", "flip"])
def test_new_rows_get_the_same_linear_map(rng, indefinite, how):
    fix = SpectrumRepair(how).fit(indefinite)
    weights = rng.normal(size=(3, 12))
    # A new row that is a combination of training rows is repaired to that combination.
    np.testing.assert_allclose(
        fix.transform(weights @ indefinite), weights @ fix.transform(indefinite), atol=1e-11
    )


def test_shift_leaves_new_rows_alone(rng, indefinite):
    new = rng.normal(size=(3, 12))
    fix = SpectrumRepair("shift").fit(indefinite)
    np.testing.assert_array_equal(fix.transform(new), new)
    close = indefinite[4].copy()
    close[-1] = np.nextafter(close[-1], np.inf)
    mixed = fix.transform(np.vstack([new, close, indefinite[4]]))
    np.testing.assert_array_equal(mixed[:3], new)
    np.testing.assert_array_equal(mixed[3], close)
    assert mixed[4, 4] == pytest.approx(indefinite[4, 4] + fix.shift_)


def test_shift_with_equal_training_points():
    K = BOX[np.ix_([0, 0, 1, 2], [0, 0, 1, 2])]
    fix = SpectrumRepair("shift").fit(K)
    np.testing.assert_allclose(fix.transform(K), K + fix.shift_ * np.eye(4))
    assert np.linalg.eigvalsh(fix.transform(K))[0] > -1e-12


def test_lecture_002(rng):
    fix = SpectrumRepair("flip").fit(BOX)
    np.testing.assert_allclose(fix.eigenvalues_, [1 - np.sqrt(2), 1, 1 + np.sqrt(2)])


@pytest.mark.parametrize("how", HOW)
def test_a_kernel_matrix_passes_unchanged(rng, how):
    A = rng.normal(size=(10, 4))
    K = A @ A.T  # of rank 4: its zero eigenvalues come out on both sides of 0
    fix = SpectrumRepair(how).fit(K)
    assert fix.shift_ == 0.0
    new = rng.normal(size=(2, 4)) @ A.T
    np.testing.assert_array_equal(fix.transform(K), K)
    np.testing.assert_array_equal(fix.transform(new), new)


@pytest.mark.parametrize("how", HOW)
def test_float32_pickle_and_input_untouched(indefinite, how):
    K = indefinite.astype(np.float32)
    before = K.copy()
    fix = SpectrumRepair(how).fit(K)
    out = fix.transform(K)
    assert out.dtype == np.float32
    np.testing.assert_array_equal(K, before)
    assert np.linalg.eigvalsh(out.astype(float))[0] > -1e-5
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(fix)).transform(K), out)


@pytest.mark.parametrize("how", HOW)
def test_cross_validation_splits_rows_and_columns(rng, how):
    X = np.concatenate([rng.normal(size=(30, 2)) - 2, rng.normal(size=(30, 2)) + 2])
    y = np.repeat([0, 1], 30)
    K = (np.linalg.norm(X[:, None] - X[None], axis=2) <= 2.0).astype(float)
    assert np.linalg.eigvalsh(K)[0] < -0.5
    model = make_pipeline(SpectrumRepair(how), SVC(kernel="precomputed"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert cross_val_score(model, K, y, cv=3).mean() > 0.9


def test_bad_input(indefinite):
    with pytest.raises(ValueError, match="square"):
        SpectrumRepair().fit(indefinite[:5])
    with pytest.raises(ValueError, match="symmetric"):
        SpectrumRepair().fit(np.triu(indefinite))
    with pytest.raises(ValueError, match="11 features"):
        SpectrumRepair().fit(indefinite).transform(indefinite[:, :11])
    with pytest.raises(ValueError, match="NaN"):
        SpectrumRepair().fit(np.full((2, 2), np.nan))
