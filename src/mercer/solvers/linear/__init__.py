"""(K + λI) a = t and what is like it: ridge regression, exactly or on a subspace.

    problem.py         what every solver is given and gives: targets, penalties, weights, intercept
    ridge.py           the table of solvers, what each needs and gives, and `solve`
    matrix.py          SKS as one array; the norm of an operator
    factor.py          its Cholesky, LU and eigenvectors, in place; what to do where it is singular
    exact.py           ridge and its leave-one-out path through that factor
    tridiagonal.py     the path of many penalties through a tridiagonal matrix
    refined.py         a Cholesky factor in single precision, refined to double
    iterations.py      conjugate gradients
    cg.py              ridge by products with K, and its preconditioners
    pivoted.py         ridge by some columns of K and as few products as that leaves
    panels.py          Φ = K(X, centers) or φ(X) in panels of rows: products and sums
    primal.py          ridge and its path through ΦᵀΦ
    nystrom.py         Φ at m centers, by the normal equations or by conjugate gradients
    posterior.py       the variance of f(x) from each of them
    blas.py            products by threads of ours

`panels`, `primal` and `nystrom` are written once for NumPy and PyTorch.
"""
