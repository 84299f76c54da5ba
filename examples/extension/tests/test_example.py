"""The contract of the library, on the classes of this package."""

from pathlib import Path

import numpy as np
import pytest
from mercer_example import Cauchy, KernelMean

import mercer
from mercer.testing import check_kernel

X = np.random.default_rng(0).normal(size=(40, 2))
Y = (X[:, 0] > 0).astype(int)


def test_the_kernel_keeps_the_contract() -> None:
    check_kernel(Cauchy(0.7))
    assert mercer.parse("cauchy(0.7)") == Cauchy(0.7)
    assert mercer.prove(Cauchy())


@pytest.mark.parametrize("width", ["x", float("nan"), 0])
def test_a_width_that_is_none(width: object) -> None:
    with pytest.raises((TypeError, ValueError), match="width"):
        Cauchy(width)  # type: ignore[arg-type]


def test_the_learner_is_saved_and_loaded(tmp_path: Path) -> None:
    model = KernelMean("cauchy(2)").fit(X, Y)
    assert model.score(X, Y) > 0.8
    model.save(tmp_path / "model.mercer")
    again = mercer.load(tmp_path / "model.mercer")
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
