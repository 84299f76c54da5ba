"""Thresholds of the solvers, one name each: the unit, what the number trades, and what measured it.

Results depend on these numbers only in rounding, or in which of two solvers runs.
"""

from __future__ import annotations

#: Reduction of K to a tridiagonal matrix, for paths of penalties. Condition × N × ε (no unit) up to
#: which its factors have digits to spare; above, eigenvectors tell which directions to leave out.
TRIDIAGONAL_CONDITION = 0.1
#: Numbers of the work arrays for some penalties at a time: 0.5 MB each stay in the second-level
#: cache. More penalties at a time mean fewer calls of NumPy.
TRIDIAGONAL_BATCH_NUMBERS = 1 << 16

#: Penalties up to which each has a Cholesky factor of its own; beyond, all share one decomposition
#: of K. On a path every factor is also inverted for its leave-one-out errors, which takes three
#: times as long: with 1000 rows a factor and its inverse take 35 ms, the decomposition 90 ms.
FEW_PENALTIES, FEW_ON_PATH = 12, 3
