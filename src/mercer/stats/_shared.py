"""What the tests share: examples and kernels as given, random permutations, the joint p-value."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._arrays import host, is_chunked, on_gpu
from mercer._config import get_config, show_bytes
from mercer._examples import count, take
from mercer._parameters import Check, Count, checked
from mercer.engines.cluster.chunks import Chunks
from mercer.gram import as_rows, formula_of, matrix, solver_gram
from mercer.gram.rows import numeric_inputs
from mercer.kernels import Kernel, as_kernel
from mercer.kernels.parameters.widths import MEDIAN_ROWS

#: Statistics closer than this share of the largest are equal: what rounding does to ties.
TIED_SHARE = 1e-9
#: Examples that a result names, of each sample.
NAMED_EXAMPLES = 5
PERMUTATIONS: Check = Count(why="the least p-value is 1/(permutations + 1)")


@dataclass
class TestResult:
    """`statistic`, `pvalue` (also `p_value`), and the kernel that told most."""

    statistic: float
    pvalue: float
    kernel: Any
    #: How many kernels were tried at once.
    tried: int

    __test__ = False  # pytest would take it for one

    @property
    def p_value(self) -> float:
        """The same number, as it is mostly spelled outside of SciPy."""
        return self.pvalue

    def __iter__(self) -> Iterator[float]:
        """As in SciPy: ``statistic, pvalue = mmd_test(X, Y)``."""
        return iter((self.statistic, self.pvalue))

    def __repr__(self) -> str:
        values = f"statistic={self.statistic:.6g}, pvalue={self.pvalue:.6g}"
        return f"{type(self).__name__}({values})"

    def _which_kernel(self) -> str:
        among = f", the most telling of {self.tried}" if self.tried > 1 else ""
        return f"  kernel: {self.kernel}{among}"


def examples(X: Any, name: str, least: int, kernel: Any = None) -> Any:
    """A set of at least so many examples; numbers in one row are examples of one column.

    Numbers that the kernel, or one of several, reads are finite.
    """
    X = _rows(X)
    if count(X) < least:
        raise ValueError(
            f"{name} holds {count(X)} example{'s' * (count(X) != 1)}: a test needs {least} or more"
        )
    for one in () if is_chunked(X) or on_gpu(X) else _listed(kernel):
        plain = one.set_params(**dict.fromkeys(one.words, 1.0))
        for read in numeric_inputs(formula_of(plain)):
            matrix(X, read, name)
    return X


def _rows(X: Any) -> Any:
    """Whatever was given as a set of examples; one row of numbers as one column."""
    if is_chunked(X):
        X = Chunks.of(X)
    elif on_gpu(X):
        X = X[:, None] if X.ndim == 1 else X
    else:
        X = host(X)
    if hasattr(X, "to_frame") or (hasattr(X, "to_numpy") and not hasattr(X, "iloc")):
        X = X.to_numpy()  # a Series, or a DataFrame of Polars
    if isinstance(X, (list, tuple)) and X and np.isscalar(X[0]) and not isinstance(X[0], str):
        X = np.asarray(X)
    if isinstance(X, np.ndarray) and X.ndim == 1 and X.dtype.kind in "biuf":
        X = X[:, None]
    return X if is_chunked(X) else as_rows(X)


def _listed(kernel: Any) -> list[Kernel]:
    """One kernel or several as they were given; a Gaussian for None."""
    given = list(kernel) if isinstance(kernel, (list, tuple)) else [kernel]
    return [as_kernel("gaussian(median)" if one is None else one) for one in given]


def generator(random_state: Any) -> np.random.Generator:
    """Random numbers from a seed, a Generator or a RandomState; None is the seed 0."""
    if isinstance(random_state, np.random.RandomState):
        random_state = int(random_state.randint(2**31))
    return np.random.default_rng(0 if random_state is None else random_state)


def kernels_to_try(
    kernel: Any, rows: Any, factors: Sequence[float], random: np.random.Generator
) -> list[Kernel]:
    """The kernels of a joint test: those given, and multiples of the widths that data chooses.

    Rows are drawn without regard to the sample or the time they come from, so that the choice tells
    nothing about them and the p-value stays exact.
    """
    given = _listed(kernel)
    if not given:
        raise ValueError("kernel is an empty list: give one kernel or several, or None")
    sample = take(rows, random.permutation(count(rows))[:MEDIAN_ROWS])
    found: list[Kernel] = []
    for wanted in given:
        if wanted.takes_matrix:
            raise ValueError("a test evaluates k on joined examples: give a kernel, not a matrix")
        chosen, words = wanted.fitted(sample), wanted.words
        widths = chosen.get_params()
        for factor in factors if words else (1.0,):
            found.append(chosen.set_params(**{path: widths[path] * factor for path in words}))
    return found


def permutations_of(value: Any) -> int:
    """How many permutations there are, checked."""
    return int(checked("a test", "permutations", value, PERMUTATIONS))


def orders(random: np.random.Generator, permutations: int, n: int) -> np.ndarray:
    """(permutations + 1, n): the order that is given, and random ones."""
    given = np.tile(np.arange(n), (permutations + 1, 1))
    given[1:] = random.permuted(given[1:], axis=1)
    return given


def joint_p_value(statistics: np.ndarray, rounding: float = TIED_SHARE) -> tuple[float, int]:
    """The p-value of (n_kernels, 1 + permutations) statistics, the given order first; the kernel.

    For one kernel it is the share of orders whose statistic is no less than the given one. Of
    several, the smallest such share is the statistic, and every order has its own: the share of
    orders whose smallest is no larger. All orders are treated alike, so both are exact.
    """
    total = statistics.shape[1]
    shares = np.empty(statistics.shape)
    for share, row in zip(shares, statistics, strict=True):
        ascending = np.sort(row)
        tolerance = rounding * np.abs(row).max()
        share[:] = total - np.searchsorted(ascending, row - tolerance, side="left")
    least = shares.min(axis=0)
    # Of kernels with the same share, the one whose statistic stands out most.
    spread = statistics.std(axis=1)
    far = (statistics[:, 0] - statistics.mean(axis=1)) / np.where(spread > 0, spread, 1.0)
    best = np.lexsort((-far, shares[:, 0]))[0]
    return float((least <= least[0]).mean()), int(best)


def check_block(block: Any, least: int) -> int | None:
    """The size of blocks, checked; None for no blocks."""
    if block is None:
        return None
    why = f"a block of fewer than {least} examples has no statistic"
    return int(checked("a test", "block", block, Count(least, why=why)))


def check_matrices(n: int, matrices: int, instead: str) -> None:
    """Refuse N × N matrices beyond the memory limit, and say what works instead."""
    need, limit = 8 * matrices * n * n, get_config().memory_bytes
    if need > limit:
        raise MemoryError(
            f"this test of {n} examples keeps {matrices} {n} × {n} matrices, {show_bytes(need)}, "
            f"but the memory limit is {show_bytes(limit)}. {instead}"
        )


def symmetric_matrix(kernel: Kernel, rows: Any) -> np.ndarray:
    """(k(x, z) + k(z, x))/2 in double precision, which is k for all kernels proper."""
    gram = solver_gram(kernel, rows)
    K = np.asarray(gram.dense(), dtype=np.float64)
    return K if gram.symmetric else (K + K.T) / 2.0


def listed(name: str, indices: Any) -> str:
    """``X[3], X[17]``: examples by their indices."""
    return ", ".join(f"{name}[{i}]" for i in indices) or "none"
