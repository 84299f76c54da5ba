"""The random-walk kernel: how many walks two graphs have in common."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np

from mercer._parameters import Among, Count, Declared, Either, Positive, declare
from mercer._tiles import over_pairs
from mercer.kernels.catalog import kernel
from mercer.kernels.claims import Rule
from mercer.kernels.core import Examples
from mercer.kernels.graphs.reading import Graphs, read_pair
from mercer.kernels.opaque import OpaqueKernel

#: Terms of the infinite series below this share of the sum are left out.
LAST_TERM = 1e-16


@kernel
class RandomWalk(OpaqueKernel):
    """k(x, z) = Σ_{n≤length} λⁿ · #{(walk in x, walk in z) of n steps with the same labels}.

    λ = `decay`. With ``length="inf"`` the series has no end (Gärtner et al. 2003); it converges
    where λ · (largest degree in x) · (largest degree in z) < 1, and other graphs are refused.

    Parameters
    ----------
    decay : float, default 0.1
        Factor λ of each further step; smaller counts short walks only.
    length : int or "inf", default 4
        Steps of the longest walk.

    Examples
    --------
    >>> from mercer.kernels import RandomWalk
    >>> water = ([(0, 1), (0, 2)], ["O", "H", "H"])
    >>> hydroxide = ([(0, 1)], ["O", "H"])
    >>> RandomWalk(decay=0.1, length=1)([water], [hydroxide])  # 3 pairs of atoms, 4 of steps
    array([[3.4]])
    """

    decay: float = 0.1
    length: Any = 4
    takes = "graphs"
    examples: ClassVar[Examples] = "random_walk()", "random_walk(0.05, length=inf)"
    proof: ClassVar[Rule] = Rule(
        True,
        "inner product of features",
        "φ_s(x) = √λⁿ · number of walks of x with the n + 1 labels s",
    )

    parameters: ClassVar[Declared] = declare(
        decay=Positive(),
        length=Either(Count(0, floats=True), Among("inf", spelled={math.inf: "inf"})),
    )

    def prepare_pair(self, X: Any, Z: Any) -> tuple[Graphs, Graphs]:
        x, z = read_pair(X, Z)
        if self.length == "inf":
            steps = self.decay * _largest_degree(x) * _largest_degree(z)
            if steps >= 1.0:
                raise ValueError(
                    f"the infinite series diverges: decay times the largest degrees of both sides "
                    f"is {steps:g} and must be below 1; take a smaller decay or a finite length"
                )
        return x, z

    def prepare(self, X: Any) -> Graphs:
        return self.prepare_pair(X, None)[0]

    def _fill(self, x: Graphs, z: Graphs, out: np.ndarray) -> None:
        from mercer.kernels.graphs.loops import fill_walks

        length, tolerance = (-1, LAST_TERM) if self.length == "inf" else (self.length, 0.0)
        arguments: list[Any] = [*x.arrays, *z.arrays, self.decay, length, tolerance, out]
        fill_walks(*arguments)

    def block(self, state_x: Graphs, state_z: Graphs) -> np.ndarray:
        def body(rows: slice, columns: slice, out: np.ndarray) -> None:
            self._fill(state_x[rows], state_z[columns], out)

        shape = (state_x.shape[0], state_z.shape[0])
        steps = 20 if self.length == "inf" else self.length
        work = 6.0 * (1 + steps) * float(state_x.sizes.mean() * state_z.sizes.mean())
        return over_pairs(shape, body, work, state_x.same_as(state_z))

    def diag_of(self, state: Graphs) -> np.ndarray:
        values = np.empty((state.shape[0], 1))
        for i in range(len(values)):
            one = state[i : i + 1]
            self._fill(one, one, values[i : i + 1])
        return values[:, 0]

    def latex(self, x: str = "x", z: str = "z") -> str:
        end = r"\infty" if self.length == "inf" else f"{self.length}"
        walks = rf"\#\{{\text{{common walks of }} n \text{{ steps in }} {x}, {z}\}}"
        return rf"\sum_{{n=0}}^{{{end}}} {self.decay:g}^n \, {walks}"


def _largest_degree(graphs: Graphs) -> int:
    if not graphs.sizes.sum():
        return 0
    degrees = graphs.degrees
    return max(
        int(degrees[s : s + n].max(initial=0))
        for s, n in zip(graphs.starts, graphs.sizes, strict=True)
    )
