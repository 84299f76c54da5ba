"""Solvers that only a GPU has."""
