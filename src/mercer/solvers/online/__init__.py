"""Perceptrons: learners that see one example after the other, and learn from their mistakes.

- `rule`: when a perceptron updates, and what it adds.
- `run`: passes over the examples, the journal of updates, reasons to stop.
- `dual`: the kernel perceptron over a Gram; `budget`: the same with at most B points; `primal`: the
  perceptron over features.
- `memory`: what is carried from call to call; the last, the average and the vote.
- `validation`: the score on held-out examples after each epoch.
- `fit`: one call of learning with all of these; begin here.

A GPU has a dual perceptron of its own (`mercer.engines.cuda.solvers.perceptron`).
"""
