"""Where the numbers of problems are in the flat arrays that the loops of SMO read and write."""

#: Columns of the table of variables: linear terms on both sides of 0, bounds, value and F = K a.
PLUS, MINUS, LOWER, UPPER, A, IMAGE = range(6)
#: Entries of `found` per problem, and of each of its groups: the largest −f that may grow, the
#: least that may shrink, the sum and the number of those in between.
STEPS, COMPUTED, OBJECTIVE, GROUPS = range(4)
TOP, BOTTOM, SUM, FREE = range(4)
#: What stands for a curvature that is not positive (LIBSVM's value).
TAU = 1e-12
#: What a call of the compiled loop finds in its memory: nothing, the rows of the same problem, or
#: kept rows of K alone, because rows have left.
FRESH, SAME, FEWER = range(3)
