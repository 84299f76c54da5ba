"""Data: small sets that are made, files that are read, and one set that is always there."""

from __future__ import annotations

from mercer.data.dataset import Dataset, guess_task
from mercer.data.loaders import load
from mercer.data.schema import DataError, Schema
from mercer.data.tables import from_frame
from mercer.data.toys import (
    TOYS,
    checkerboard,
    circles,
    linear_noise,
    moons,
    pure_noise,
    sine_linear_noise,
    spirals,
    xor,
)

__all__ = [
    "TOYS",
    "DataError",
    "Dataset",
    "Schema",
    "checkerboard",
    "circles",
    "digits",
    "from_frame",
    "guess_task",
    "linear_noise",
    "load",
    "moons",
    "pure_noise",
    "sine_linear_noise",
    "spirals",
    "xor",
]


def digits() -> Dataset:
    """scikit-learn's 1797 images of digits, 8 × 8, pixels in [0, 1]."""
    from sklearn.datasets import load_digits

    X, y = load_digits(return_X_y=True)
    schema = Schema("images", target="digit", shape=(8, 8))
    return Dataset(
        X / 16.0, y, "images", "classification", "digit", "digits", (), (8, 8), (), schema
    )
