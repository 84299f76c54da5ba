"""The kernel perceptron on MNIST: the mistakes, support vectors and errors it is known to make."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from mercer import KernelPerceptron
from mercer.kernels import Polynomial

pytestmark = [
    pytest.mark.slow,
    pytest.mark.data,
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
]


@pytest.fixture(scope="module")
def mnist():
    beside = Path(__file__).resolve().parents[3] / "shared" / "data"
    path = Path(os.environ.get("MERCER_DATA", beside)) / "mnist.npz"
    if not path.is_file():
        pytest.skip("mnist.npz not found: set MERCER_DATA to the folder that holds it")
    with np.load(path, allow_pickle=False) as data:
        images = [data[f"X_{part}"].reshape(-1, 784) for part in ("train", "test")]
        labels = [data[f"y_{part}"].astype(int) for part in ("train", "test")]
    X, T = (part.astype(np.float32) / np.float32(255) for part in images)
    return X, labels[0], T, labels[1]


def test_ten_classes_at_once(mnist):
    X, y, T, t = mnist
    model = KernelPerceptron(Polynomial(4, offset=1.0), 10, averaging="average", shuffle=False)
    model.fit(X, y)
    # Sums in float32 leave a visit or two to rounding.
    assert abs(model.n_mistakes_ - 6039) <= 10
    assert abs(len(model.support_) - 4839) <= 10
    assert 0.0170 < 1 - model.score(T, t) < 0.0182


def test_one_against_all_in_one_pass(mnist):
    X, y, T, t = mnist
    model = KernelPerceptron(
        Polynomial(2, offset=1.0), 1, multi_class="ovr", averaging="average", shuffle=False
    ).fit(X, y)
    assert abs(model.n_mistakes_ - 9659) <= 20
    assert abs(len(model.support_) - 7805) <= 20
    assert 0.029 < 1 - model.score(T, t) < 0.031
