"""Where a file could answer other than the library: ties, overflow, logarithms; an attack."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import mercer
from mercer.onnx import NotExportable, export


def grid(step):
    return step * np.array([(i, j, k) for i in range(4) for j in range(4) for k in range(4)])


@pytest.mark.parametrize("offset", [0.0, 1e8])
@pytest.mark.parametrize("step", [1.0, 0.25])
def test_of_many_equally_near_examples_the_first_are_taken(step, offset, in_onnx):
    X = grid(step) + offset
    y = np.arange(len(X), dtype=float)
    model = mercer.KernelNeighborsRegressor("gaussian(1)", n_neighbors=5).fit(X, y)
    got = in_onnx(model, X + step / 2, "float64")["prediction"]
    np.testing.assert_allclose(got, model.predict(X + step / 2))


def test_ties_that_rounding_decides_are_refused():
    X = grid(1.0)
    model = mercer.KernelNeighborsRegressor("gaussian(1) + linear()").fit(X, X[:, 0])
    with pytest.raises(NotExportable, match="equally near"):
        export(model)
    with pytest.raises(NotExportable, match="equally near"):  # where none is within, one votes
        export(model.set_params(radius=1.0).fit(X, X[:, 0]))
    continuous = np.random.default_rng(0).normal(size=(60, 3))
    export(mercer.KernelNeighborsRegressor("gaussian(1) + linear()").fit(continuous, X[:60, 0]))
    export(mercer.KernelNeighborsRegressor("polynomial(2)").fit(X, X[:, 0]))  # whole numbers


@pytest.mark.parametrize("kernel", ["polynomial(5)", "gaussian(1)", "linear().exp()"])
def test_rows_far_away_have_the_library_s_answer(kernel, in_onnx):
    X = np.random.default_rng(0).normal(size=(40, 2))
    y = np.array(["a", "b"])[(X[:, 0] > 0).astype(int)]
    model = mercer.KernelCentroidClassifier(kernel).fit(X, y)
    far = (
        np.array([[1e9, 1.0], [-1e9, 2.0], [1e25, -1e25]]) if kernel != "linear().exp()" else 9 * X
    )
    got = in_onnx(model, far, "float32")
    assert (got["label"] == model.predict(far.astype(np.float32).astype(float))).all()
    assert not np.isnan(got["decision"]).any()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_small_difference_of_two_means_keeps_its_digits(dtype, in_onnx):
    X = np.random.default_rng(0).uniform(0.0, 0.3, (40, 1)).astype(np.float32).astype(float)
    model = mercer.KernelCentroidClassifier("tricube(2)").fit(X, np.arange(40) % 2)
    want = model.decision_function(X)
    assert np.abs(want).max() < 0.01
    got = in_onnx(model, X, dtype)["decision"]
    np.testing.assert_allclose(got, want, atol=1e-6 * np.abs(want).max())


@pytest.mark.parametrize("points", [1, 2, 5])
@pytest.mark.parametrize(
    "kernel",
    [
        "polynomial(3, 1, 0.1)",
        "sigmoid(0.1, 0.3)",
        "0.18*gaussian(1)",
        "0.3*(gaussian(1)+linear())",
    ],
)
def test_factors_keep_double_precision(kernel, points, in_onnx):
    rng = np.random.default_rng(0)
    X, new = rng.normal(size=(points, 7)), rng.normal(size=(40, 7))
    f = mercer.KernelExpansion(mercer.kernels.parse(kernel), X, rng.normal(size=points))
    (got,) = in_onnx(f, new, "float64").values()
    np.testing.assert_allclose(got.ravel(), f(new), rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("away", [1.0, 40.0])
def test_weights_whose_factors_are_negative_are_smoothed(away, in_onnx):
    """exp(−‖x − z‖²/2) (x·z)²: its logarithm is asked for, and that of x·z is none."""
    X = np.random.default_rng(0).normal(size=(40, 2))
    model = mercer.NadarayaWatsonRegressor("gaussian(1) * polynomial(2)", bandwidth=1.0)
    model.fit(X, X[:, 0])
    new = away * X[:10] + 0.1
    want = model.predict(new)
    assert np.isfinite(want).all()
    np.testing.assert_allclose(in_onnx(model, new, "float64")["prediction"], want, rtol=1e-6)


@pytest.mark.linux
def test_a_short_attack_finds_no_other_answer():
    script = Path(__file__).with_name("fuzz_onnx.py")
    path = os.pathsep.join(
        [str(Path(mercer.__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
    )
    run = subprocess.run(
        [sys.executable, str(script), "90", "3"],
        capture_output=True, text=True, check=False,
        env={**os.environ, "PYTHONPATH": path, "OPENBLAS_NUM_THREADS": "1"},
    )  # fmt: skip
    report = json.loads(run.stdout.splitlines()[-1])
    assert not report["problems"]
    assert report["outcomes"]["accepted"] > 60
