"""`check_engine`: K from any engine against the float64 oracle, on many formulas and shapes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.kernels import Kernel, parse
from mercer.testing.examples import vector_kernels
from mercer.testing.oracle import TOLERANCE, close, oracle, run

#: Composites; with the examples of the catalog, every statistic and operation is in here somewhere.
COMPOSITES = (
    "-1 * squared_distance()",
    "0.5*gaussian(2) + polynomial(2, offset=1).normalized() * laplacian()",
    "(0.1*linear()).exp() - 0.5*gaussian().on([0])",
    "gaussian().on([0]) * gaussian(2).on([1, 2]) + linear().polynomial([1, 0.5, 0.25])",
    "(gaussian() + 1) ** 3",
)
#: Rows, other rows (None: the same ones), columns.
SHAPES: tuple[tuple[int, int | None, int], ...] = (
    (1, 1, 3),
    (7, None, 3),
    (33, 65, 5),
    (70, None, 40),
    (150, 260, 17),
)


@dataclass(frozen=True)
class EngineCase:
    make_gram: Callable[..., Any]
    kernel: Kernel
    shape: tuple[int, int | None, int]
    dtype: str
    tolerance: dict[str, float]
    to_host: Callable[[Any], np.ndarray]


def check_engine(
    make_gram: Callable[..., Any],
    *,
    kernels: Sequence[Kernel | str] | None = None,
    shapes: Sequence[tuple[int, int | None, int]] = SHAPES,
    dtypes: Sequence[str] = ("float32", "float64"),
    tolerance: dict[str, float] | None = None,
    to_host: Callable[[Any], np.ndarray] = np.asarray,
) -> None:
    """`make_gram(kernel, X, Z=None)` gives a Gram; `to_host` makes an array of what it computes.

    Its matrix, blocks, transpose, diagonal and products are compared with the oracle, for every
    example of the catalog and some composites, or for the `kernels` given.

    Parameters
    ----------
    make_gram : callable
        Gives a Gram: ``make_gram(kernel, X, Z=None)``.
    kernels : list of Kernel or str, or None
        To try; None takes every example of the catalog and some composites.
    shapes : list of (int, int or None, int)
        Rows of X, rows of Z (None: X alone), columns.
    dtypes : list of str
        Precisions to try.
    tolerance : dict of str to float, or None
        Largest relative error per precision.
    to_host : callable
        Makes an array of what the engine computes.

    Examples
    --------
    >>> from mercer import Kernel
    >>> check_engine(Kernel.gram, kernels=["gaussian(2)"], shapes=[(5, 4, 2)])
    """
    limits = TOLERANCE | (tolerance or {})
    for shape in shapes:
        for kernel in _kernels_to_try(kernels, shape[2]):
            for dtype in dtypes:
                run(_check_engine, EngineCase(make_gram, kernel, shape, dtype, limits, to_host))


def _kernels_to_try(given: Sequence[Kernel | str] | None, width: int) -> list[Kernel]:
    if given is None:
        given = [*vector_kernels(width), *COMPOSITES]
    return [parse(one) if isinstance(one, str) else one for one in given]


def _check_engine(case: EngineCase) -> None:
    """Every view of K, and products with it, beside the oracle in double precision."""
    n, m, width = case.shape
    rng = np.random.default_rng(n + width)
    # Not negative, for the kernels that need it, and with ties, zeros and equal rows.
    X = np.maximum(rng.normal(0.5, 1.0, size=(n, width)), 0.0).astype(case.dtype)
    X[-1] = X[0]
    Z = None if m is None else np.maximum(rng.normal(0.5, 1.0, size=(m, width)), 0.0)
    Z = None if Z is None else Z.astype(case.dtype)
    expected = oracle(case.kernel, X, Z)
    gram = case.make_gram(case.kernel, X) if Z is None else case.make_gram(case.kernel, X, Z)
    columns = expected.shape[1]
    weights = rng.normal(size=(columns, 3)).astype(case.dtype)
    rows, part = np.array([n - 1, 0, n // 2]), slice(columns // 3, columns)
    dense = case.to_host(gram.dense())
    assert dense.dtype == case.dtype, f"{case.dtype} gives {dense.dtype}"
    views = {
        "dense": (dense, expected),
        "T": (case.to_host(gram.T.dense()), expected.T),
        "block": (case.to_host(gram.block(rows, part)), expected[rows, part]),
    }
    if m is None:
        views["diagonal"] = (case.to_host(gram.diagonal()), np.diag(expected))
    for name, (value, wanted) in views.items():
        close(value, wanted, case.dtype, name, case.tolerance)
    # A sum of many terms is as good as its terms: relative to Σ |k| |v|.
    scale = max(float((np.abs(expected) @ np.abs(weights)).max()), float(np.finfo("f4").tiny))
    for V in (weights[:, 0], weights):
        product = case.to_host(gram @ V)
        wanted = expected @ V.astype(float)
        assert product.shape == wanted.shape, f"product: shape {product.shape}"
        error = float(np.abs(product - wanted).max()) / scale
        limit = case.tolerance[case.dtype]
        assert error <= limit, f"product with {V.shape}: off by {error:.1e}, more than {limit:g}"
