"""Solvers: plain functions of a Gram, targets and options, by the problem that they solve.

    requirements.py   the tables: what each solver needs, gives and takes; the choice; the refusals
    linear/           ridge regression: factorizations, conjugate gradients, features, centers
    smooth/           logistic regression and any other smooth loss: Newton's method
    quadratic/        support vectors: quadratic programs
    online/           perceptrons
    local/            kernel smoothing and local regression
    neighbors/        nearest neighbors in the distance of a kernel
    spectral/         eigenvectors of K, and of its graph
    groups/           k-means, and directions that separate classes
    density/          densities, and their bandwidths
    evidence/         the likelihood of a Gaussian process
    warping.py        images bent onto each other

A solver sees K through a `Gram` only; where its rows are is the business of an engine.
"""

from mercer.solvers.requirements import SOLVERS, Solver, register_solver, unregister_solver

__all__ = ["SOLVERS", "Solver", "register_solver", "unregister_solver"]
