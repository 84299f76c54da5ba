"""The squared distance and its negative: a dissimilarity and a similarity, neither a kernel."""

from __future__ import annotations

from typing import ClassVar

from mercer.formula.nodes import Formula, Input, sqdist
from mercer.kernels.catalog import kernel
from mercer.kernels.claims import Rule
from mercer.kernels.core import Kernel


@kernel
class SquaredDistance(Kernel):
    """k(x, z) = ‖x − z‖²: a dissimilarity, not a kernel (its diagonal is zero).

    Examples
    --------
    >>> from mercer.kernels import SquaredDistance
    >>> SquaredDistance()([[0.0]], [[3.0]])
    array([[9.]])
    """

    tex = r"\|x - z\|^2"
    proof: ClassVar[Rule] = Rule(False, "zero diagonal", "k(x, x) = 0 while k(x, z) ≠ 0")

    def lower(self, rows: Input, path: str = "") -> Formula:
        return sqdist(rows)


@kernel
class NegativeSquaredDistance(SquaredDistance):
    """k(x, z) = −‖x − z‖²: a similarity, positive only on vectors that sum to zero.

    Examples
    --------
    >>> from mercer.kernels import NegativeSquaredDistance
    >>> NegativeSquaredDistance()([[0.0]], [[3.0]])
    array([[-9.]])
    """

    tex = r"-\|x - z\|^2"

    def lower(self, rows: Input, path: str = "") -> Formula:
        return -sqdist(rows)
