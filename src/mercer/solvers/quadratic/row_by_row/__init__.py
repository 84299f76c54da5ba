"""Quadratic problems one row of K at a time, each made when a step first asks for it.

- `lazy`: all problems of a machine at once; begin here.
- `flat_problems`: the problems as the arrays that loops read; `sources`: where rows come from.
- `worker`: a thread and its memory; `lazy_smo`: the compiled loop, whose passes over all rows are
  `passes`; `shrinking`: rows at rest leave large problems, and `returns`: they come back.
- `plain_smo`: the same steps in NumPy, over a K in memory.
"""
