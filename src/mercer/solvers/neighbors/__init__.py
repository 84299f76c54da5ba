"""Neighbors in feature space, by the ranking that `mercer.formula.ranking` reads off a kernel.

search     the k nearest: by tiles, or by a tree where columns are few; measured from differences
products   candidates by the matrix product in single precision, and what it cannot tell apart
radius     all within a distance
distances  k and ‖φ(x) − φ(z)‖ of the pairs that were found
loops      compiled: the largest of each row, exact distances of listed pairs
"""
