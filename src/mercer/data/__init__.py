"""Data: small sets that are made, files that are read, and one set that is always there."""

from __future__ import annotations

from mercer.data.catalog import catalog, digits, named
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
    "catalog",
    "checkerboard",
    "circles",
    "digits",
    "from_frame",
    "guess_task",
    "linear_noise",
    "load",
    "moons",
    "named",
    "pure_noise",
    "sine_linear_noise",
    "spirals",
    "xor",
]
