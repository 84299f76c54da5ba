"""Perceptrons: learners that see one example after the other, and learn from their mistakes.

- `fit`: one call of learning, with its score on held-out examples; begin here.
- `rule`: when a perceptron updates, and what it adds; `rounding_bounds`: what rounding may do to
  its scores.
- `run`: passes over the examples, the journal of updates, reasons to stop.
- `dual`: the kernel perceptron over a Gram; `budget`: the same with at most B points; `primal`: the
  perceptron over features.
- `memory`: what is carried from call to call; the last, the average and the vote.
- `votes`: compiled, the votes of all predictors.

A GPU has a dual perceptron of its own (`mercer.engines.cuda.solvers.perceptron`).
"""
