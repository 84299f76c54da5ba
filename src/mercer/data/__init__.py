"""Data: the one way in for files, tables, arrays and lists, and sets that are made.

In the order in which data flow: `formats` picks a reader (`tables`, `arrays`, `texts`), `making`
looks at examples and takes targets out (`Dataset.of`), `columns` finds types, `targets` the task;
`dataset` and `schema` hold the result. `rows` and `row_files` read new rows for a model by its
schema. `toys` and `catalog` are data sets by name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mercer._lazy import suggesting
from mercer.data.catalog import catalog, digits, named
from mercer.data.dataset import Dataset, Note
from mercer.data.formats import load, register_format
from mercer.data.object_toys import glyphs, mail, stroke_paths, strokes
from mercer.data.schema import DataError, Schema
from mercer.data.targets import guess_task
from mercer.data.toys import (
    blobs,
    checkerboard,
    circles,
    clicks,
    easy_line,
    hard_line,
    linear_noise,
    moons,
    pure_noise,
    sine_linear_noise,
    spirals,
    xor,
)

__all__ = [
    "DataError",
    "Dataset",
    "Note",
    "Schema",
    "blobs",
    "catalog",
    "checkerboard",
    "circles",
    "clicks",
    "digits",
    "easy_line",
    "glyphs",
    "guess_task",
    "hard_line",
    "linear_noise",
    "load",
    "mail",
    "moons",
    "named",
    "pure_noise",
    "register_format",
    "sine_linear_noise",
    "spirals",
    "stroke_paths",
    "strokes",
    "xor",
]

if not TYPE_CHECKING:  # a type checker then knows that other names do not exist
    __getattr__ = suggesting(__name__, __all__)
