"""X Zᵀ of sparse rows by compiled loops, straight into a dense array.

- scattered: only the columns that both rows have are multiplied;
- panels: every number of X, with a few rows of Z at once, by vector instructions.

`mercer.gram.plan.products` tells which of them costs less.
"""
