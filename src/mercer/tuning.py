"""Thresholds: when the library takes which road, each with its unit and what it trades.

A number here changes speed or memory, never what is computed beyond rounding. Each group names the
file under `bench/` that measures it.
"""

from __future__ import annotations

# --- support vector machines: bench/_svc.py, bench/shapes.py --------------------------------------

#: Rows of K and number of problems up to which LIBSVM is called, without importing Numba: it takes
#: 0.3 ms for 50 rows and 0.5 ms for 200; compiled loops half of that, after half a second.
SVM_SMALL_ROWS, SVM_SMALL_PROBLEMS = 200, 6
#: Steps of SMO in NumPy, 20 µs each, after which compiled loops take over.
SVM_PLAIN_STEPS = 2000
#: Rows of the largest problem × columns (counted as at least the second number) from which rows of
#: K are computed in float32 first: below, computing rows is the smaller part of the time.
SVM_SINGLE, SVM_FEW_COLUMNS = 32_000, 32
#: Rows up to which all of K is computed where the kernel has no compiled row function: for a
#: function of the user's, each of whose calls is slow, and for a formula.
SVM_OPAQUE_ROWS, SVM_WHOLE_ROWS = 500, 3000
#: Problems, rows of the largest of them, and columns from which all problems read one K: 4950 pairs
#: of 100 classes take 0.8 of the time.
SVM_MANY_PROBLEMS, SVM_SHARED_ROWS, SVM_NARROW = 6, 64, 24
#: Bytes of a problem's sparse rows, made dense, up to which a row function reads them.
SVM_SPARSE_BYTES = 8_000_000
#: Steps, or steps per row, after which a problem goes on in working sets with Newton steps.
SVM_STEPS, SVM_STEPS_PER_ROW = 100_000, 50
#: Σ n² over all problems up to which threads cost more than they save.
SVM_ONE_THREAD = 1_000_000
#: Rows of a single problem up to which the caller's thread takes part, Σ n² of several up to its
#: square: it ends within 0.1 s, and Ctrl-C waits for that. New threads would take 0.3 ms to start.
SVM_SHORT_ROWS = 10_000
#: Chunks of the queue of problems per thread, and rows of a chunk at most.
SVM_CHUNKS, SVM_CHUNK_ROWS = 8, 8192
#: Rows from which a problem shrinks, and steps between two looks at which rows could leave.
SVM_SHRINK_ROWS, SVM_SHRINK_PERIOD = 500, 1000
#: An entry of K with so many columns takes as long as the part of a step that belongs to one row.
SVM_STEP_COLUMNS = 16
#: How many times as long as rows of K the steps must take before a problem shrinks.
SVM_SHRINK_PAYS = 2.0
#: The share of the active rows that must leave: copying the others takes time.
SVM_SHRINK_SHARE = 0.1
#: Times the tolerance to which a problem is solved before all rows return for the first time.
SVM_SHRINK_LOOSE = 10.0
#: Bytes of rows of K that a kernel of few operations per entry keeps: a row is computed again
#: faster than the system provides fresh memory for it. Operations per entry above which all memory
#: is used.
SVM_CHEAP_BYTES, SVM_CHEAP_OPERATIONS = 256_000_000, 500
#: Rows up to which the memory of a problem is not counted where the limit is at least this (bytes).
SVM_FREE_ROWS, SVM_FREE_LIMIT = 500, 1_000_000_000
#: Rows from which several threads compute the rows of K of one problem by working sets.
SVM_THREADED_ROWS = 2000

# --- equal rows as one variable: bench/shapes.py --------------------------------------------------

#: Rows from which equal rows are looked for, and the largest share of distinct rows: 5000 rows of
#: eight columns of 0 and 1 take a sixth of the time.
SVM_DUPLICATE_ROWS, SVM_DISTINCT_SHARE = 1000, 0.6
#: Rows in which repeats are looked for first.
SVM_DUPLICATE_SAMPLE = 512
