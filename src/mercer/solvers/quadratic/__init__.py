"""Support vector machines: min ½ aᵀKa + cᵀa with bounds on a and fixed sums.

- `problem`: the one quadratic problem, which every formulation (C, ν, ε, one class, hard margin)
  is a case of; the `Task` that a learner asks for and the `Solution` that it gets.
- `parallel`: all problems of a machine, over threads and within the memory limit; begin here.
- `row_by_row`: all problems at once by one compiled loop, over rows of K that the kernel's own
  machine code makes as they are asked for; for few columns, and wherever K is small.
- `decomposition`: for many columns, where matrix products make rows of K: one problem, over a
  working set W of rows that grows and shrinks.
- `working_block`: K[W, W]; `smo`: two variables at a time on it, compiled; `free_newton`: all free
  variables at once, where SMO would zigzag.
- `hard_margin`: C = ∞ by the nearest points of two convex hulls, or a proof that there is none.

A GPU has solvers of its own, for all problems at once (`mercer.engines.cuda.solvers.svm`).
"""
