"""Ridge paths of many penalties by reducing K to a band, instead of to eigenvectors.

The gain, for a path of 50 penalties with its leave-one-out errors (float64, 10 columns), in CPU
seconds of all threads on two cores of an AMD EPYC that others used at the same time:

    N = 3000    band  3.4 s    eigenvectors 20 s
    N = 6000    band 22 s      eigenvectors 81 s

    reduction.py   K = Q B Qᵀ with a band B, by blocks of reflections
    path.py        all λ from B: coefficients and leave-one-out errors
    loops.py       ‖L⁻¹v‖² for a banded L and many v, compiled

To switch it off, set the environment variable MERCER_BAND=0, or `mercer.solvers.band.ENABLED` to
False at run time; then the same paths come from eigenvectors.
"""

from __future__ import annotations

import os

from mercer._machine.jit import may_compile
from mercer.gram.base import Gram
from mercer.solvers.linear.problem import RidgePath, RidgeProblem

#: Whether paths go by bands at all: the environment variable MERCER_BAND=0 turns them off, and
#: without Numba they would take longer than eigenvectors.
ENABLED = os.environ.get("MERCER_BAND", "1") != "0" and may_compile()
#: Rows from which the band is faster than eigenvectors.
ENOUGH_ROWS = 2000
#: λ for which the band is faster: at most one for so many rows.
ROWS_FOR_EACH = 32


def band_path(gram: Gram, problem: RidgeProblem) -> RidgePath | None:
    """All λ from one reduction to a band; None where eigenvectors are faster, safer or wanted."""
    n = len(problem.targets)
    if not ENABLED or n < ENOUGH_ROWS or len(problem.alphas) > n // ROWS_FOR_EACH or gram.refuted:
        return None
    from mercer.solvers.band.path import path_by_band

    return path_by_band(gram, problem)
