"""The race: kernels and learners on growing samples until the budget is spent."""
