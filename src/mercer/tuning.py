"""Thresholds: when the library takes which road, each with its unit and what it trades.

A number here changes speed or memory, never what is computed beyond rounding. Each group names the
file under `bench/` that measures it.
"""

from __future__ import annotations

from typing import Final

# --- K on the host: bench/gaussian_gram.py, bench/toll.py, bench/shapes.py -----------------------

#: Rows of a panel under a matrix product, or of one of Φ, at most; rows that wait for one product,
#: or are copied in another form, together.
PRODUCT_ROWS = 1024
#: Rows of a panel whose temporaries stay in a core's cache; below that many a product runs at half
#: the rate.
PANEL_ROWS = 256
#: Rows of a block that is computed because some of its rows are needed, or is multiplied column by
#: column: a product makes them in about 0.2 ms, and packing what it reads pays from here on.
SMALL_BLOCK_ROWS = 64
#: Rows that show where all of them are: how far from 0, which columns are in use.
SAMPLE_ROWS = 128
#: Rows and columns of a tile of numbers of 8 bytes: a loop over pairs, products, epilogue and sums
#: find it in the second-level cache, or near it. Larger ones took twice as long in all with 30
#: columns on two cores: 24 ms for 8 million pairs, half of it for memory that is touched for the
#: first time; a loop with K V took 1.17 times as long.
CACHE_TILE = (256, 1024)
#: Bytes of scratch memory per thread at most, however large the limit: of tiles, of rows copied in
#: another order, of K between examples and new points, of panels of Φ.
SCRATCH_BYTES = 48_000_000
#: Elements handled at a time where temporaries should stay in the second-level cache.
CACHE_ELEMENTS = 1 << 16
#: Columns of V up to which a product K V runs inside the compiled loop, unless one triangle of K
#: serves both halves: 4000 × 4 numbers take 7.9 ms in the loop and 9.1 ms by tiles, K(X, X) 6.0 ms.
FUSED_COLUMNS = 16
#: Pair operations from which a loop is compiled, which NumPy takes about 1.5 ms for, and pairs from
#: which those out of reach are looked for: with a Gaussian that reaches 5 % of a square, 1,000
#: points cost more to order than it saves, and with 4,000 it begins to pay.
COMPILED_PAIRS = 1_000_000
#: Bytes at most of a K, and of what it is made of, that is made as one tile, without a plan.
ONE_TILE_BYTES = 1 << 20
#: Columns up to which ‖x − z‖² from the difference is as fast as from a product, and
#: multiplications below which the difference costs nothing worth saving.
DIRECT_COLUMNS, SMALL_WORK = 16, 200_000
#: The largest share of the memory limit that a copy of an operand in another form may take, or
#: what is made of it at a time, or a preconditioner; products take most of the rest.
COPY_SHARE = 0.125
#: The share of the memory limit, or of a device's memory, for the one large array of a computation
#: beside its data: tiles beside weights, a basis, rows at rest on a device, the text of a file.
WORK_SHARE = 0.25

# --- sparse rows: bench/shapes.py --------------------------------------------------------------

#: Shares of numbers other than 0 below which both operands stay sparse: with a compiled loop,
#: without; and below which one of them does.
SPARSE_IN_LOOPS, SPARSE_BOTH, SPARSE_ONE = 0.2, 0.05, 0.15
#: Columns from which on both stay sparse: dense tiles are far larger than the tiles of K over them.
SPARSE_COLUMNS = 4096
#: Rows and columns of a tile where sparse rows are scattered: the longer a row of sums, the longer
#: the inner loops; 4096 sums stay in the first-level cache, 32 kB in double precision.
SCATTERED_TILE = (64, 4096)
#: What the two loops over sparse rows take, in multiplications of dense rows (0.04 ns each): per
#: column that two rows have in common, or per number of the row x; and per pair. 3000 × 784 numbers
#: of which 19 % are not 0 take 0.55 of the time in panels.
SCATTERED_COST, PANELED_COST = (16.0, 3.0), (2.5, 10.0)
#: Columns whose panels stay in a near cache.
SPARSE_PANEL_COLUMNS = 2048
#: Bytes of a panel per column: with 256, sums and a line of it fit the registers of any processor.
SPARSE_PANEL_BYTES = 256

# --- rows of K one by one: bench/_svc.py -------------------------------------------------------

#: Words of four bytes in a row from which sums of bytes pay: with fewer, columns are few in
#: float32, too.
BYTE_WORDS = 16
#: Squared norms beyond this are too near to the end of float32's range.
LARGEST_SINGLE: Final = 1e30
#: Rows on a grid are about as far from 0 as from one another where it begins this near, in steps.
NEAR_STEPS = 256

# --- products of bytes: bench/pixels_gram.py ---------------------------------------------------

#: Multiply-adds from which products of bytes pay: BLAS takes some 2 ms for them.
BYTE_FLOPS = 1e8
#: Multiply-adds per number of the data from which on a copy in bytes pays, by the size of a number:
#: the copy takes 1.2 ns each, and bytes save 0.032 (float64) or 0.014 ns (float32) a multiply-add.
BYTE_FLOPS_PER_NUMBER = {8: 75, 4: 170}
#: Rows and columns of a tile below which packing the bytes costs more than it saves.
BYTE_TILE_ROWS = 16

# --- K V without pairs: bench/gaussian_matvec.py, bench/predict_million.py ---------------------

#: Pairs below which the calls of NumPy take longer than the pairs themselves.
WAVE_PAIRS = 1e7
#: Rows at least, so that a product with them runs at a good rate.
MONOMIAL_ROWS = 32
#: Costs in multiplications of a matrix product (0.04 ns): of a monomial (one multiplication of
#: its own, through the cache), and of a pair in an epilogue.
MONOMIAL_COST, PAIR_COST = 12, 20
#: Outputs up to which monomials of the highest degree are left out: with the zeros between them
#: there are up to as many times as many weights as the degree says.
FEW_OUTPUTS = 4

# --- gradients of K: bench/reasons.py ----------------------------------------------------------

#: Threads that memory is left for.
GRADIENT_THREADS = 8
#: Arrays of the size of a tile per column, arrays of the size of the slopes that one gradient
#: takes, and bytes of an entry of K, of its product with W, and of what they are made of: counted
#: from the code.
COLUMN_ARRAYS: Final = 4
SLOPE_ARRAYS: Final = 4
GRADIENT_ENTRY_BYTES: Final = 48

# --- support vector machines: bench/_svc.py, bench/shapes.py --------------------------------------

#: Rows of K and number of problems up to which LIBSVM is called, without importing Numba: it takes
#: 0.3 ms for 50 rows and 0.5 ms for 200; compiled loops half of that, after half a second.
SVM_SMALL_ROWS, SVM_SMALL_PROBLEMS = 200, 6
#: Rows of the largest problem × columns (counted as at least the second number) from which rows of
#: K are computed in float32 first: below, computing rows is the smaller part of the time.
SVM_SINGLE, SVM_FEW_COLUMNS = 32_000, 32
#: Rows up to which all of K is computed where the kernel has no compiled row function: for a
#: function of the user's, each of whose calls is slow, and for a formula.
SVM_OPAQUE_ROWS = 500
#: Rows of the largest problem up to which, and columns from which all problems read one K: 4950
#: pairs of 100 classes take 0.8 of the time.
SVM_SHARED_ROWS, SVM_NARROW = 64, 24
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
#: Steps of SMO between Newton steps on the free variables, and how many operations these may take
#: per step and row: SMO takes 8, but a factorization a tenth of the time for each. With 5,000 and
#: 8, a cubic kernel of a standardized table with C = 30 takes 15 million steps instead of one.
SVM_BURST, SVM_NEWTON_OPERATIONS = 50_000, 64

# --- equal rows as one variable: bench/shapes.py --------------------------------------------------

#: Rows from which equal rows are looked for, and the largest share of distinct rows: 5000 rows of
#: eight columns of 0 and 1 take a sixth of the time.
SVM_DUPLICATE_ROWS, SVM_DISTINCT_SHARE = 1000, 0.6
#: Rows in which repeats are looked for first.
SVM_DUPLICATE_SAMPLE = 512

# --- all solvers -----------------------------------------------------------------------------

#: Rows up to which a solver with an N×N matrix is chosen: with more it takes minutes, and centers
#: take seconds; on a cluster, rows of a problem that one task solves. An engine with its own
#: factorization may have an "exact rows" of its own.
EXACT_ROWS = 20_000
#: Rows, drawn with a fixed seed, on which numbers are chosen for all: their eigenvectors take 0.3 s
#: on one core.
CHOOSING_ROWS = 1024
#: Steps of a loop in NumPy or Python, 4 to 20 µs each, from which compiled loops take over: the
#: import of Numba takes as long as a hundred thousand of them.
PLAIN_STEPS = 2000
#: How often a solution is corrected by its own residual at most.
CORRECTIONS = 4
#: Numbers of a matrix from which on threads share its product: below, starting them costs more.
THREADED_ELEMENTS = 500_000

# --- ridge regression: bench/shapes.py, bench/ridge_mnist8k.py -------------------------------

#: Reduction of K to a tridiagonal matrix, for paths of penalties. Condition × N × ε (no unit) up to
#: which its factors have digits to spare; above, eigenvectors show which directions to leave out.
TRIDIAGONAL_CONDITION = 0.1
#: Penalties up to which each has a Cholesky factor of its own; beyond, all share one decomposition
#: of K. On a path every factor is also inverted for its leave-one-out errors, which takes three
#: times as long: with 1000 rows a factor and its inverse take 17 ms, the decomposition 76 ms.
FEW_PENALTIES, FEW_ON_PATH = 12, 5
#: Condition × ε from which on fewer than three digits of the coefficients are certain: warned of.
FEW_DIGITS = 1e-3
#: Condition × ε from which on single precision leaves less than one digit, and double goes on.
SINGLE_NOISE = 0.1
#: Rows up to which an ill-conditioned matrix is given eigenvectors, and how many times as long as a
#: Cholesky factor these take.
SPECTRUM_ROWS, SPECTRUM_TIMES = 4000, 20
#: Rounding units of the largest eigenvalue below which an eigenvalue in single precision is 0. The
#: bound that proofs give, N units, would take a good part of the spectrum for noise.
NULL_UNITS = 10
#: Rows of a square block of a symmetric matrix at most, so that it stays in the cache.
SQUARE_ROWS = 320
#: Columns up to which BLAS multiplies a symmetric matrix by one after the other. With one thread
#: 2500 rows take it 0.95 ms, and two threads 2.2 ms in squares; 6000 rows 6.6 and 14 ms.
SYMV_COLUMNS = 2
#: A factor in single precision, refined: rows from which on a second matrix pays (1000 rows are
#: factorized in 5 ms; 1800 × 50 numbers fit in 0.4 instead of 1.0 CPU seconds), condition × ε of
#: float32 up to which it converges, and steps at most.
REFINED_ROWS, REFINED_CONDITION, REFINED_STEPS = 1500, 0.05, 20
#: Some columns of K and products with it: rows from which on that is tried. Of fourteen problems of
#: 1000 to 2000 rows seven took 1.2 to 1.8 times as long as by a factor, and none less than 0.77 of
#: that; of eight of 2000 to 4000 rows none took more than 1.3 times as long, half less than 0.8.
PIVOTED_ROWS = 2000
#: The residual ‖B − AC‖/‖B‖ to reach, by the bytes of a number of K.
PIVOTED_RESIDUAL = {8: 1e-11, 4: 1e-6}
#: The largest trace(K)/λ × ε, likewise; beyond it digits are lost that a factor may keep.
PIVOTED_CONDITION = {8: 1e-6, 4: SINGLE_NOISE}
#: Columns that are added at a time, and the share of N that they may come to. 3000 × 2 numbers take
#: 29 ms with 64 columns and 48 ms with 128; 4000 × 20 numbers the same time with both.
PIVOTED_COLUMNS, PIVOTED_SHARE = 64, 0.2
#: What decides between steps and a factor, of which only ratios count: operations per second of a
#: factorization in single precision, and of adding columns; bytes per second of a matrix from
#: memory; bytes that a refined factorization reads and writes per entry; bytes of one
#: triangle per second times one or two vectors; seconds of a step besides. Measured for 1000 to
#: 6000 rows.
FACTOR_FLOPS, COLUMN_FLOPS, MEMORY_BYTES, FACTOR_BYTES = 160e9, 30e9, 10e9, {8: 80, 4: 8}
VECTOR_BYTES, STEP_SECONDS = 22e9, 2e-4
#: Conjugate gradients: steps without a smaller residual after which they are judged by the share of
#: ½ xᵀAx − bᵀx that they gained. Residuals alone do not decide: where A is badly conditioned they
#: grow for hundreds of steps, and the solution gets better with each.
STALLED_STEPS, STALLED_GAIN = 100, 1e-10
#: The same steps for the normal equations of centers, which rounding ends earlier.
CENTER_STALLED_STEPS = 10
#: A relative residual, or a distance from the least objective, above which a solution is warned of
#: where a smaller one was asked for.
ROUGH_GAP = 1e-4
#: Operations of the normal matrix of centers from which on conjugate gradients take less time.
NORMAL_MATRIX_FLOPS = 4e14
#: Bytes per pair of centers: four arrays in double precision, counted from the code.
CENTER_PAIR_BYTES: Final = 4 * 8
#: What is added to the diagonal, relative to its mean, where a matrix is not definite; and up to
#: which of them no prediction changes in a digit that is shown.
JITTERS, UNSEEN_JITTER = (0.0, 1e-14, 1e-12, 1e-10, 1e-8, 1e-6), 1e-10

# --- smooth losses: bench/logistic_mnist10k.py -----------------------------------------------

#: Matrices of the rank of a preconditioner that are there at once.
PRECONDITIONER_MATRICES: Final = 8
#: What independent rows of a positive semi-definite K leave of any entry, at most, by k(x, x).
INDEFINITE_SHARE = 1e-4
#: The share of a Newton step's gain that conjugate gradients may leave, far from the optimum.
LOOSEST_STEP = 0.25

# --- eigenvectors, groups, warps: bench/scaling.py -------------------------------------------

#: Rows up to which a matrix is decomposed at once, in a tenth of a second, and the share of its
#: eigenvectors from which on that is faster than products.
SPECTRAL_DENSE_ROWS, SPECTRAL_DENSE_SHARE = 500, 0.125
#: ‖Ax − θx‖ relative to the largest θ where products end, and where an eigenvalue is 0.
SPECTRAL_RESIDUAL = {"float64": 1e-12, "float32": 1e-6}
#: Vectors of a block where products are cheap, enough to use K while it is in the cache; as many
#: are kept at a restart beyond those wanted, and separate the last ones from the rest. Vectors of
#: the basis at most, as a multiple of those kept.
SPECTRAL_BLOCK, BASIS_MULTIPLE = 8, 12
#: Eigenvalues closer than this to each other, relative to the largest, may be one.
EQUAL_EIGENVALUES = 1e-6
#: Steps toward a pre-image at most, and the step relative to the spread of the examples that ends
#: them.
PREIMAGE_STEPS, PREIMAGE_STEP = 1000, 1e-10
#: Arrays of examples × groups per start of k-means that are there at once, counted from the code.
LLOYD_ARRAYS: Final = 6
#: The relative gain below which a step of a warp is the last.
WARP_GAIN = 1e-3

# --- neighbors: bench/shapes.py, bench/neighbors_mnist.py --------------------------------------

#: Pairs of query and example up to which NumPy sorts, and numbers of listed examples up to which it
#: subtracts them or adds their moments: below, compiled loops gain nothing, and the import of Numba
#: takes half a second.
NUMPY_PAIRS = 1 << 15
#: Multiply-adds from which on products of bytes are faster than a search in panels of float32:
#: 5000 × 784 bytes take 90 ms, panels 190 ms.
BYTE_PRODUCT_FLOPS = 5e9
#: Columns up to which sparse rows are copied to dense: a number that is scattered costs fifty times
#: as much as one of a panel.
DENSE_COPY_COLUMNS = 20
#: Candidates listed beyond k, where scores are rounded: in float32, or of products, which cancel.
#: More of them mean fewer second searches.
SPARE = 2
#: Columns up to which panels that are too far off are left out.
NEAR_COLUMNS = 20
#: Queries × columns, per halving of the examples, from which on an order of them pays. Estimated:
#: a number takes 8 ns to be put into one half, and a query 0.05 ns per number of an example.
ORDERED_NUMBERS = 100
#: Multiply-adds of one call: what a core does in a fifth of a second, so that Ctrl-C is heard.
QUERY_FLOPS = 1e10
#: What a multiply-add costs, packing a number, and putting it into one half of the rows, in the
#: operations that `threads_for` counts.
PANEL_FLOP_COST, PACKING_COST, HALVING_COST = 0.4, 10.0, 100.0
#: Magnitudes within which squares are far from the ends of float32, and rows are not scaled.
UNSCALED_RANGE: Final = 2.0**-40, 2.0**40

# --- perceptrons: bench/freund_schapire.py ---------------------------------------------------

#: Rows walked in sequence, with scores that were computed together, and rows of a thread at least:
#: fewer cost more small products, which run at half the rate, more cost longer columns of K.
LEAF_ROWS = 256
#: Updates within the rows of a leaf after which K of all of them is computed, not one column per
#: update: calls for columns cost more than the kernel, and most leaves of a later pass have none.
LEAF_UPDATES = 2
#: A point whose squared distance to the span of the others is below this share of k(x, x) is not
#: independent of them.
INDEPENDENT_SHARE = 1e-8
#: Rows whose votes are counted together; loops over 64 are too short for their overhead.
VOTE_ROWS = 128
#: Operations per row and update, for the decision whether threads are worth their start.
VOTE_OPERATIONS = 8

# --- chunks of rows: bench/cluster.py -------------------------------------------------------------

#: Rows of a chunk, or of a task, if nothing else is asked for: of 100 columns they are 20 MB, and
#: an M×M matrix that a task sends back costs little beside computing it.
CHUNK_ROWS = 25_000
