"""Perceptrons: learners that see one example after the other."""
