"""A width that is far off the data makes every pair of examples look alike: say so, once."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from mercer._arrays import host
from mercer._examples import count, take
from mercer._notices import KernelWarning, warn
from mercer.gram import host_gram
from mercer.kernels import Kernel
from mercer.kernels.parameters.widths import as_width

#: Examples that are looked at, drawn with a fixed seed: 2016 pairs, at the cost of next to nothing.
WIDTH_ROWS = 64
#: Examples that are looked at first, and are enough for almost every kernel in use.
FIRST_EXAMPLES = 8
#: Entries of K between different examples that say nothing: all below the first, or all above 1
#: less the second.
NOTHING_NEAR, NOTHING_FAR = 1e-3, 1e-6


def warn_if_far_off(kernel: Kernel, X: Any) -> None:
    """Warn where k(x, x) = 1 and, on a sample, k is almost 0 or almost 1 for all other pairs.

    The width that "scale" would choose is named, if k says more with that.
    """
    if count(X) < 2:
        return
    index = _sample(count(X))
    # Where k tells a few of them apart, it is not far off for all of them.
    few = index[:FIRST_EXAMPLES]
    if kernel.is_opaque or not (paths := _paths(kernel)):
        return
    if not _far_off(kernel, host(take(X, few))):
        return
    rows = host(take(X, index))
    found = _far_off(kernel, rows)
    if not found:
        return
    better = kernel.set_params(**dict.fromkeys(paths, "scale")).fitted(rows)
    better = better.set_params(**{path: float(f"{v:.3g}") for path, v in _widths(better).items()})
    if not _far_off(better, rows):
        warn(
            f"{kernel!r} does not fit the data: its values for different examples are all {found}. "
            f'{better!r} would ("scale" instead of a number chooses it); or standardize the '
            "columns",
            KernelWarning,
        )


@lru_cache(maxsize=64)
def _sample(n: int) -> np.ndarray:
    """Which of n examples are looked at."""
    if n <= WIDTH_ROWS:
        return np.arange(n)
    return np.sort(np.random.default_rng(0).choice(n, WIDTH_ROWS, replace=False))


def own_widths(kernel: Kernel) -> list[str]:
    """The widths of a kernel that are not 1, as "sigma=2"."""
    found = _widths(kernel).items()
    return [f"{path.rpartition('__')[2]}={value:g}" for path, value in found if value != 1.0]


def _paths(kernel: Kernel) -> tuple[str, ...]:
    try:
        return _known_paths(kernel)
    except TypeError:  # a parameter that cannot be hashed
        return tuple(_widths(kernel))


@lru_cache(maxsize=256)
def _known_paths(kernel: Kernel) -> tuple[str, ...]:
    """Found again for every kernel that equals an earlier one, as in a search."""
    return tuple(_widths(kernel))


def _widths(kernel: Kernel) -> dict[str, float]:
    """The widths with one number, by their full paths."""
    found = {}
    for prefix, part in kernel.parts():
        for name, value in part.get_params(deep=False).items():
            if isinstance(value, float) and as_width(part.parameters.get(name)) is not None:
                found[f"{prefix}{name}"] = value
    return found


def _far_off(kernel: Kernel, rows: Any) -> str:
    """What is wrong with K on these rows; empty where nothing is, or where k(x, x) is not 1."""
    try:
        # On the host also where there is a device: so few rows are not worth a compilation there.
        rows = rows.astype(np.float64) if getattr(rows, "dtype", None) == np.float32 else rows
        K = np.asarray(host_gram(kernel, rows).dense(), dtype=np.float64)
    except MemoryError:  # the limit is for the fit, which may do with less than this question
        return ""
    if not (np.abs(K.diagonal() - 1.0) <= 1e-5).all():
        return ""
    own = K.reshape(-1)[:: len(K) + 1]
    own[:] = 1.0
    lowest = K.min()
    own[:] = 0.0
    if K.max() < NOTHING_NEAR:
        return f"below {NOTHING_NEAR:g}"
    return f"above 1 - {NOTHING_FAR:g}" if lowest > 1.0 - NOTHING_FAR else ""
