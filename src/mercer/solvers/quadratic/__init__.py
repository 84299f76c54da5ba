"""Support vector machines: min ½ aᵀKa + cᵀa with bounds on a and fixed sums.

- `problem`: the one quadratic problem, which every formulation (C, ν, ε, one class, hard margin)
  is a case of; the `Task` that a learner asks for, the `Solution` that it gets, and the `Problems`
  of a machine as the arrays that loops read.
- `parallel`: all problems of a machine, over threads and within the memory limit; begin here.
- `small`: up to some hundred rows, and without Numba: LIBSVM, and SMO in NumPy.
- `smo_on_demand`: all problems by one compiled loop (`smo_loop`), over rows of K from `row_sources`
  that are computed when a step first needs them; large problems shrink, and where steps are
  very many, `free_newton` moves all free variables at once.
- `duplicate_rows`: equal examples as one variable.
- `hard_margin`: C = ∞ by the nearest points of two convex hulls, or a proof that there is none.

A GPU has solvers of its own, for all problems at once (`mercer.engines.cuda.solvers.svm`).
"""
