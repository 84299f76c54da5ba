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

# --- neighbors: bench/knn.py -----------------------------------------------------------------

#: Pairs of query and example up to which NumPy sorts: below, compiled loops gain nothing, and the
#: import of Numba takes half a second.
NUMPY_PAIRS = 1 << 15
#: Numbers up to which NumPy subtracts listed examples from their queries, likewise.
NUMPY_DIFFERENCES = 1 << 16
#: Neighbors from which on tiles are sorted and not inserted entry by entry, which takes k² steps:
#: 3000 × 20 numbers with 300 neighbors take 220 ms by insertion, with 1000 neighbors 1400 ms.
LONG_LIST = 512
#: Multiply-adds from which on products of bytes are faster than a search in panels of float32:
#: 5000 × 784 bytes take 90 ms, panels 190 ms.
BYTE_PRODUCT_FLOPS = 5e9
#: Sparse rows are copied to dense ones up to so many columns, or from this share of non-zeros on: a
#: number that is scattered costs fifty times as much as one of a panel.
DENSE_COPY_COLUMNS, DENSE_COPY_SHARE = 20, 0.15
#: Candidates listed beyond k where products rank them, in double precision: hardly any distances
#: are nearer to each other than its rounding. More candidates mean fewer second searches.
PRODUCT_SPARE = 2

# --- perceptrons: bench/freund_schapire.py ---------------------------------------------------

#: Rows that wait for one product together: more rows, a better shape of the product.
WALK_ROWS = 4096
#: Rows walked in sequence: fewer cost more small products, more cost longer columns of K.
LEAF_ROWS = 256
#: Rows that a thread takes at a time, at least: thinner products run at half the rate.
THREAD_ROWS = 256
#: Bytes of rows copied at a time where the order of visits is not that of the data.
COPIED_ROWS_BYTES = 64_000_000
#: What the calls for one column of K cost, in operations of a product: some 50 microseconds; and by
#: how much an entry of K is cheaper in a square than in a column alone, which waits for memory.
COLUMN_CALL_FLOPS, SQUARE_GAIN = 1_000_000, 4
#: Scores of one pass from which its loops are compiled: in Python a score takes 4 µs, and the
#: import of Numba takes as long as a hundred thousand of them.
COMPILED_SCORES = 2000
#: Rows whose scores are computed together with a budget, before they are visited in sequence.
BUDGET_ROWS = 256
#: A point whose squared distance to the span of the others is below this share of k(x, x) is not
#: independent of them.
INDEPENDENT_SHARE = 1e-8
#: Bytes of K at a time between many examples and new points, and where a vote reads K on a device;
#: and of a thread that votes, whose part of K stays in its cache.
PANEL_BYTES, VOTE_TILE_BYTES = 32_000_000, 1_000_000
#: Rows whose votes are counted together; loops over 64 are too short for their overhead.
VOTE_ROWS = 128
#: Operations per row and update, for the decision whether threads are worth their start.
VOTE_OPERATIONS = 8
