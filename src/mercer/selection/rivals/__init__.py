"""Learners without a kernel in the race: linear models, trees, nearest neighbors, a user's own."""
