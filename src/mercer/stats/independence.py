"""HSIC: do two columns, or two sets of columns, depend on each other?

HSIC = (1/n²) Σᵢⱼ k̃(xᵢ, xⱼ) l(yᵢ, yⱼ),   k̃ = k with the means of its rows and columns removed
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from mercer._escape.terminal import printable
from mercer._examples import count, take
from mercer.kernels import Kernel
from mercer.stats._loops import over_permutations, products
from mercer.stats._shared import (
    NAMED_EXAMPLES,
    TestResult,
    check_block,
    check_matrices,
    examples,
    generator,
    joint_p_value,
    kernels_to_try,
    listed,
    orders,
    permutations_of,
    symmetric_matrix,
)

#: Multiples of a width that the data chooses; on either side, so that there are nine pairs.
DEPENDENCE_FACTORS = (0.25, 0.5, 1.0)


@dataclass(repr=False)
class HSICResult(TestResult):
    """What `hsic_test` found; unpacks into statistic and p-value as SciPy's results do.

    Parameters
    ----------
    statistic : float
        HSIC.
    pvalue : float
        Small values speak against independence.
    kernel, kernel_y : Kernel
        The most telling ones.
    tried : int
        Number of kernels tried.
    X, Y : array or list
        The two samples.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import stats
    >>> x = np.random.default_rng(0).normal(size=50)
    >>> statistic, pvalue = stats.hsic_test(x, x**2, permutations=200, random_state=0)
    >>> pvalue < 0.05
    True
    """

    X: Any = field(repr=False)
    Y: Any = field(repr=False)
    #: The most telling kernel on Y; `kernel` is that on X.
    kernel_y: Any

    @cached_property
    def contributions(self) -> np.ndarray:
        """(1/n²) Σⱼ k̃(xᵢ, xⱼ) l̃(yᵢ, yⱼ) for every example; they add up to HSIC."""
        K = centered(symmetric_matrix(self.kernel, self.X))
        L = centered(symmetric_matrix(self.kernel_y, self.Y))
        return np.einsum("ij,ij->i", K, L) / len(K) ** 2

    @cached_property
    def points(self) -> np.ndarray:
        """The examples that speak most for dependence: indices, first the most."""
        return np.argsort(-self.contributions, kind="stable")[:NAMED_EXAMPLES]

    @printable
    def __str__(self) -> str:
        both = f"{self._which_kernel()}; on Y: {self.kernel_y}"
        return f"{self!r}\n{both}\n  dependent most: {listed('(X, Y)', self.points)}"


def hsic_test(
    X: Any,
    Y: Any,
    kernel: Any = None,
    permutations: int = 1000,
    random_state: Any = None,
    *,
    kernel_y: Any = None,
    block: int | None = None,
) -> HSICResult:
    """HSIC = (1/n²) Σᵢⱼ k̃(xᵢ, xⱼ) l̃(yᵢ, yⱼ): are X and Y independent?

    Use it where a correlation would miss the dependence: it sees any, also between texts and
    numbers. The p-value is exact, by permutations of Y against X.

    Parameters
    ----------
    X, Y : two samples of the same length
        Row i of X belongs to row i of Y. Arrays, DataFrames, or lists of what the kernels take.
    kernel, kernel_y : Kernel, expression, a list of them, or None
        k on X and l on Y. Several are tried in one test with one exact p-value. A width that is
        left to the data ("median" or "scale") counts as three kernels, of a quarter, half and once
        that width. None is a Gaussian of such a width.
    permutations : int
        More make the p-value finer; the least one is 1/(permutations + 1).
    random_state : int, Generator, RandomState or None
        Draws the permutations. None draws as 0 does, the same in every call.
    block : int or None
        Compare examples within blocks of so many only, and permute within them: time and memory
        grow as N · block. Larger blocks see more. None compares all.

    Returns
    -------
    HSICResult
        `statistic` (the mean over the blocks), `pvalue`, `kernel`, `kernel_y`, `contributions` and
        `points`: the examples that speak most for dependence.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import stats
    >>> x = np.random.default_rng(0).normal(size=100)
    >>> print(f"{np.corrcoef(x, x**2)[0, 1]:.1f}")
    0.2
    >>> stats.hsic_test(x, x**2, random_state=0).pvalue < 0.01
    True
    """
    permutations, block = permutations_of(permutations), check_block(block, 4)
    random = generator(random_state)
    X, Y = examples(X, "X", 4, kernel), examples(Y, "Y", 4, kernel_y)
    n = count(X)
    if count(Y) != n:
        raise ValueError(f"X has {n} rows and Y has {count(Y)}: row i of X belongs to row i of Y")
    of_x = kernels_to_try(kernel, X, DEPENDENCE_FACTORS, random)
    of_y = kernels_to_try(kernel_y, Y, DEPENDENCE_FACTORS, random)
    size = n if block is None else min(block, n)
    instead = "block=1000 compares the examples of blocks only and takes less."
    check_matrices(size, len(of_x) + 2, instead)
    statistics = np.zeros((len(of_x), len(of_y), permutations + 1))
    blocks = n // size
    for start in range(0, blocks * size, size):
        part = slice(start, start + size)
        order = orders(random, permutations, size)
        statistics += _permuted(of_x, of_y, take(X, part), take(Y, part), order)
    statistics /= blocks * size**2
    p, best = joint_p_value(statistics.reshape(-1, permutations + 1))
    i, j = divmod(best, len(of_y))
    tried = len(of_x) * len(of_y)
    return HSICResult(float(statistics[i, j, 0]), p, of_x[i], tried, X, Y, of_y[j])


def _permuted(
    of_x: list[Kernel], of_y: list[Kernel], X: Any, Y: Any, order: np.ndarray
) -> np.ndarray:
    """n² HSIC for all pairs of kernels and all orders of Y."""
    K = np.stack([centered(symmetric_matrix(one, X)) for one in of_x])
    result = np.empty((len(of_x), len(of_y), len(order)))
    for j, one in enumerate(of_y):
        sums = np.empty((len(order), len(of_x)))
        over_permutations(products, order, K, symmetric_matrix(one, Y), sums)
        result[:, j] = sums.T
    return result


def centered(K: np.ndarray) -> np.ndarray:
    """K less the means of its rows and columns: the kernel of φ(x) − mean φ."""
    means = K.mean(axis=0)
    return K - means[:, None] - means[None, :] + means.mean()
