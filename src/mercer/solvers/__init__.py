"""Solvers: one algorithm a file, plain functions of a Gram, targets and options."""
