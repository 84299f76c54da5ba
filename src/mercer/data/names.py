"""Data sets by name: the toys, and the digits that come with scikit-learn."""

from __future__ import annotations

import inspect
from dataclasses import replace
from typing import Any

import numpy as np

from mercer._suggest import suggest
from mercer.data.dataset import Dataset
from mercer.data.making import make
from mercer.data.schema import DataError
from mercer.data.toys import KINDS, TOYS


def digits(size: int = 8) -> Dataset:
    """Give scikit-learn's 1797 images of digits, 8 × 8, its pixels over 16: in [0, 1].

    Parameters
    ----------
    size : int, default 8
        Pixels along one side. Larger images are interpolated by cubic splines: 28 gives vectors of
        784 numbers, as in the lectures.

    Returns
    -------
    Dataset
        With X of shape (1797, size²) and y from 0 to 9.

    Examples
    --------
    >>> from mercer import data
    >>> X, y = data.digits()
    >>> X.shape
    (1797, 64)
    """
    from scipy.ndimage import zoom
    from sklearn.datasets import load_digits

    if int(size) != size or not 8 <= size <= 64:
        raise ValueError(f"size must be a whole number from 8 to 64, got {size!r}")
    X, y = load_digits(return_X_y=True)
    if size > 8:
        large = zoom(X.reshape(-1, 8, 8), (1, size / 8, size / 8), grid_mode=True, mode="nearest")
        X = np.clip(large, 0, 16).reshape(len(X), -1)
    return _quiet(X / 16.0, y, "digit", "digits", kind="images", shape=(size, size))


def _quiet(X: Any, y: Any, target: str, source: str, **options: Any) -> Dataset:
    """A data set without notes: what is known about it was not guessed."""
    return replace(make(X, y, target, source=source, **options), notes=())


def catalog() -> dict[str, str]:
    """Every name and what it is, in a sentence.

    Returns
    -------
    dict of str to str
        Name to sentence.

    Examples
    --------
    >>> "moons" in catalog()
    True
    """
    made = {name: (inspect.getdoc(make) or "").splitlines()[0] for name, make in TOYS.items()}
    return {"digits": "1797 images of handwritten digits, 8 × 8 (scikit-learn's).", **made}


def named(name: str, **options: Any) -> Dataset:
    """A data set by its name; `n`, `noise` and `random_state` are for the toys.

    Parameters
    ----------
    name : str
        One of `catalog`.
    **options : int or float
        The `n`, `noise` and `random_state` of a set that is drawn.

    Returns
    -------
    Dataset
        The examples and targets.

    Examples
    --------
    >>> from mercer import data
    >>> print(data.named("moons", n=20))
    moons: 20 × 2 (vectors)
    target 'y': classification 2 classes
    """
    if name == "digits":
        if options:
            raise DataError(f"the digits are a fixed set: {', '.join(options)} cannot be chosen")
        return digits()
    if name not in TOYS:
        raise DataError(f"there is no data set {name!r}.{suggest(name, ['digits', *TOYS])}")
    kind, shape = KINDS.get(name, ("vectors", None))
    X, y = TOYS[name](**options)
    rows = list(X) if kind in ("mail", "strings") else X
    return _quiet(rows, y, "y", name, kind=kind, shape=shape)
