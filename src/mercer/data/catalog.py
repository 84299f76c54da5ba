"""Data sets by name: the toys, and the digits that come with scikit-learn."""

from __future__ import annotations

import difflib
import inspect
from typing import Any

from mercer.data.dataset import Dataset, guess_task
from mercer.data.schema import DataError, Schema
from mercer.data.toys import TOYS


def digits() -> Dataset:
    """scikit-learn's 1797 images of digits, 8 × 8, pixels in [0, 1]."""
    from sklearn.datasets import load_digits

    X, y = load_digits(return_X_y=True)
    schema = Schema("images", target="digit", shape=(8, 8))
    return Dataset(
        X / 16.0, y, "images", "classification", "digit", "digits", (), (8, 8), (), schema
    )


def catalog() -> dict[str, str]:
    """Every name and what it is, in a sentence."""
    made = {name: (inspect.getdoc(make) or "").splitlines()[0] for name, make in TOYS.items()}
    return {"digits": "1797 images of handwritten digits, 8 × 8 (scikit-learn's).", **made}


def named(name: str, **options: Any) -> Dataset:
    """A data set by its name; `n`, `noise` and `random_state` are for the toys.

    >>> from mercer import data
    >>> print(data.named("moons", n=20))
    moons: 20 × 2 (vectors)
    target 'y': classification 2 classes
    """
    if name == "digits":
        if options:
            raise DataError(f"digits are as they are; {', '.join(options)} cannot be chosen")
        return digits()
    if name not in TOYS:
        near = difflib.get_close_matches(name, ["digits", *TOYS], 1)
        hint = f"did you mean {near[0]!r}?" if near else f"there are: digits, {', '.join(TOYS)}"
        raise DataError(f"there is no data set {name!r}; {hint}")
    X, y = TOYS[name](**options)
    schema = Schema("vectors", target="y")
    return Dataset(X, y, "vectors", guess_task(y)[0], "y", name, (), None, (), schema)
