"""What the tests of the maps share."""

from __future__ import annotations

import numpy as np
import pytest


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(20240)


def relative_error(left: np.ndarray, right: np.ndarray) -> float:
    """The largest difference, as a part of the largest number of `right`."""
    return float(np.abs(left - right).max() / np.abs(right).max())


@pytest.fixture(name="relative_error")
def _relative_error():
    return relative_error
