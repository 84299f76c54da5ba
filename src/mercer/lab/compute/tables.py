"""A data set from a file as points of the plane, for the first picture."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer import KernelPCA
from mercer.lab.compute.presets import DECIMALS, VIEW
from mercer.lab.compute.states import MOST_CLASSES, MOST_POINTS

#: Share of the picture that the points fill.
FILLED = 0.85


def plane(found: Any) -> dict[str, Any]:
    """Points and classes of a data set of numbers: its two columns, or two of kernel PCA.

    >>> from mercer import data
    >>> points = plane(data.named("moons", n=20))
    >>> len(points["X"]), len(points["y"]), points["title"]
    (40, 20, 'moons')
    """
    if found.task != "classification":
        raise ValueError("the page shows classes: give a file with a column of classes, --target")
    X = found.X.select_dtypes("number") if hasattr(found.X, "iloc") else found.X
    X = np.asarray(X.toarray() if hasattr(X, "toarray") else X, dtype=np.float64)
    if X.ndim != 2 or X.shape[1] < 1:
        raise ValueError("the page needs columns of numbers, and this file has none")
    classes, y = np.unique(found.y, return_inverse=True)
    if len(classes) > MOST_CLASSES:
        raise ValueError(f"the page shows {MOST_CLASSES} classes at most; here are {len(classes)}")
    keep = np.isfinite(X).all(axis=1)
    X, y = X[keep], y[keep]
    if len(X) > MOST_POINTS:
        some = np.sort(np.random.default_rng(0).choice(len(X), MOST_POINTS, replace=False))
        X, y = X[some], y[some]
    spread = X.std(axis=0)
    X = (X - X.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    if X.shape[1] == 1:
        X = np.hstack([X, np.zeros_like(X)])
    if X.shape[1] > 2:
        X = KernelPCA(n_components=2).fit_transform(X)
    X = np.round(X * FILLED * VIEW / max(float(np.abs(X).max()), 1e-12), DECIMALS)
    return {"X": X.ravel().tolist(), "y": y.tolist(), "title": str(found.source or "the file")}
