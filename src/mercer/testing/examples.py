"""Kernels to try and examples to try them on, from the catalog: no list of kernels elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from mercer.kernels import Kernel
from mercer.kernels.catalog import KERNELS, examples


def kernels_on(*kinds: str) -> list[Kernel]:
    """The examples of all kernels of the package that take these kinds of examples.

    Parameters
    ----------
    *kinds : str
        "vectors", "strings", "graphs", "images", "matrix" or "anything".

    Returns
    -------
    list of Kernel
        With typical parameters.

    Examples
    --------
    >>> kernels_on("matrix")
    [Precomputed()]
    """
    return [k for cls in KERNELS.values() if cls.takes in kinds for k in examples(cls)]


def vector_kernels(width: int) -> list[Kernel]:
    """List kernels on vectors that can be written down, for data of so many columns.

    One that is made for fewer columns takes the first of them.

    Parameters
    ----------
    width : int
        Columns of the data.

    Returns
    -------
    list of Kernel
        With typical parameters.

    Examples
    --------
    >>> [k for k in vector_kernels(3) if "Bilinear" in repr(k)][0]
    Bilinear(A=[[2.0, 1.0], [1.0, 2.0]]).on([0, 1])
    """
    found = []
    for cls in KERNELS.values():
        if cls.takes == "vectors" and all(isinstance(one, str) for one in cls.examples):
            found += [_for_columns(k, width) for k in examples(cls)]
    return found


def _for_columns(kernel: Kernel, width: int) -> Kernel:
    """The kernel itself, or on as many of the first columns as it is made for."""
    if accepts(kernel, width):
        return kernel
    fewer = next(n for n in range(width - 1, 0, -1) if accepts(kernel, n))
    return kernel.on(list(range(fewer)))


def accepts(kernel: Kernel, columns: int) -> bool:
    """Whether k takes vectors of that many columns; a negative number asks for negative entries."""
    try:
        kernel(np.full((2, abs(columns)), 1.0 if columns > 0 else -1.0))
    except ValueError:
        return False
    return True


def _strings(rng: np.random.Generator, n: int) -> list[str]:
    return ["".join(rng.choice(list("abc "), rng.integers(4, 9))) for _ in range(n)]


def _graphs(rng: np.random.Generator, n: int) -> list[Any]:
    sizes = [int(s) for s in rng.integers(2, 6, n)]
    return [(rng.integers(0, s, (s, 2)), rng.integers(0, 3, s)) for s in sizes]


def _images(rng: np.random.Generator, n: int) -> np.ndarray:
    return rng.random((n, 36))


def _matrix(rng: np.random.Generator, n: int) -> np.ndarray:
    return np.cov(rng.normal(size=(n, 2 * n + 2)))


def _vectors(rng: np.random.Generator, n: int) -> np.ndarray:
    return rng.normal(size=(n, 3))


#: Random examples of each kind that `Kernel.takes` may name; "anything" goes with words.
DATA: dict[str, Callable[[np.random.Generator, int], Sequence[Any] | np.ndarray]] = {
    "vectors": _vectors,
    "strings": _strings,
    "graphs": _graphs,
    "images": _images,
    "matrix": _matrix,
    "anything": _strings,
}
