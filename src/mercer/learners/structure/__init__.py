"""Learners without targets: the directions, the groups and the density of examples."""
