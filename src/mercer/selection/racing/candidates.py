"""Which kernels to try on which kind of data, with scales read off the data.

The scale of a radial kernel comes from the median distance between rows, and a few factors of it
are candidates of their own. No target is looked at, so nothing here can flatter a score.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mercer._examples import count, take
from mercer.kernels import (
    BagOfWords,
    Gaussian,
    Kernel,
    Laplacian,
    Linear,
    Matern,
    Spectrum,
    WeightedDegree,
)

#: Rows, and numbers in them, looked at for the median distance.
DISTANCE_ROWS, VALUES = 400, 8_000_000
#: Beyond this many columns, sums over single columns are slow, and radial kernels serve as well.
SINGLE_COLUMNS = 200
#: Factors on a scale that are tried around the best kernel.
SCALE_FACTORS = (0.7, 1.4)
_SCALES = ("sigma", "length", "rate", "gamma")


def median_distance(X: Any, seed: int = 0, norm: int = 2) -> float:
    """The median of ‖x − z‖ over pairs of different rows, on a sample.

    >>> import numpy as np
    >>> median_distance(np.array([[0.0], [3.0]]))
    3.0
    """
    from scipy.spatial.distance import pdist

    n = count(X)
    width = X.shape[1] if hasattr(X, "shape") else 1
    most = max(20, min(DISTANCE_ROWS, VALUES // max(1, width)))
    rows = np.random.default_rng(seed).permutation(n)[:most]
    part = take(X, rows)
    dense = part.toarray() if hasattr(part, "toarray") else np.asarray(part)
    gaps = pdist(dense, "euclidean" if norm == 2 else "cityblock")
    gaps = gaps[gaps > 0]
    return float(np.median(gaps)) if len(gaps) else 1.0


def rounded(value: float) -> float:
    """Three digits: a scale is no more certain than that, and reads better."""
    return float(f"{value:.3g}")


def vector_kernels(X: Any, kind: str) -> list[Kernel]:
    """Dot products, and radial kernels at several scales around the median distance.

    The most promising first: a time budget may not reach the last.
    """
    m = median_distance(X)
    square = _mean_square(X)
    # (c x·z + 1)^d with c such that x·z is of order 1.
    inner: Kernel = Linear()
    if not 0.5 <= square <= 2.0 and square > 0:
        inner = rounded(1.0 / square) * Linear()

    def gaussian(factor: float) -> Kernel:
        return Gaussian(rounded(factor * m))

    if kind == "sparse":
        made = [Linear(), gaussian(1.0), gaussian(0.5), gaussian(2.0), (inner + 1.0) ** 2]
        return [*made, gaussian(0.25), Laplacian(rounded(1.0 / m))]
    made = [gaussian(0.5), Linear(), gaussian(1.0)]
    by_column = kind != "pixels" and X.shape[1] <= SINGLE_COLUMNS
    if by_column:
        l1 = median_distance(X, norm=1)
        made += [Laplacian(rounded(f / l1), norm=1) for f in (1.0, 0.3)]
    made += [
        gaussian(0.25),
        Matern(1.5, rounded(m)),
        (inner + 1.0) ** 2,
        gaussian(2.0),
        Laplacian(rounded(1.0 / m)),
        (inner + 1.0) ** 3,
        gaussian(0.125),
        Matern(2.5, rounded(0.5 * m)),
        Laplacian(rounded(0.25 / m)),
    ]
    if by_column and square > 0:
        # A trend that goes on where there are no data, and what it leaves.
        made.append(gaussian(0.5) + rounded(0.1 / square) * Linear())
    return made


def _mean_square(X: Any) -> float:
    if hasattr(X, "multiply"):
        return float(X.multiply(X).sum() / X.shape[0])
    return float(np.mean(np.einsum("ij,ij->i", X, X)))


def string_kernels(X: list[Any]) -> list[Kernel]:
    """Grams of letters, words where there are blanks, positions where all are of one length."""
    lengths = {len(x) for x in X}
    words = np.mean([any(c.isspace() for c in x.strip()) for x in X[:200]]) > 0.5
    made: list[Kernel] = [
        Spectrum(4, blended=True).normalized(),
        Spectrum(3, blended=True).normalized(),
        Spectrum(5, blended=True).normalized(),
        Spectrum(3).normalized(),
    ]
    if words:
        made += [
            BagOfWords().normalized(),
            BagOfWords().normalized() + Spectrum(4, blended=True).normalized(),
        ]
    if len(lengths) == 1 and 1 < next(iter(lengths)) <= 2000:
        made = [
            (4.0 * WeightedDegree(4).normalized()).exp(),
            (2.0 * WeightedDegree(3).normalized()).exp(),
            (8.0 * WeightedDegree(4).normalized()).exp(),
            WeightedDegree(4).normalized(),
            WeightedDegree(1).normalized().polynomial([1.0, 1.0, 1.0]),
            (4.0 * WeightedDegree(1).normalized()).exp(),
            *made[:3],
        ]
    return made


def kernels_for(X: Any, kind: str) -> list[Kernel]:
    """Candidates for rows as they come out of the preprocessing."""
    return string_kernels(X) if kind == "strings" else vector_kernels(X, kind)


def scaled_copies(kernel: Kernel) -> list[Kernel]:
    """The kernel with one of its scales, or of its inner weights, a little smaller or larger.

    >>> scaled_copies(2.0 * Gaussian(1.0))
    [2.0 * Gaussian(sigma=0.7), 2.0 * Gaussian(sigma=1.4)]
    """
    made = []
    for name, value in kernel.get_params(deep=True).items():
        scales = name.split("__")[-1] in _SCALES or name.endswith("__factor")
        if scales and isinstance(value, float) and math.isfinite(value):
            made += [kernel.set_params(**{name: float(f"{value * f:.3g}")}) for f in SCALE_FACTORS]
    return made
