"""Neighbors in feature space, by the ranking that `mercer.formula.ranking` reads off a kernel.

search       the k nearest: by packed panels, or from tiles of a Gram, for every kernel
panels       the search in packed panels of float32, made certain in float64
panel_loops  compiled: packing and ordering of rows, tiles of scores, lists of the best
radius       all examples within a distance
distances    k and ‖φ(x) − φ(z)‖ of the pairs that were found
loops        compiled: the largest of each row, exact distances of listed pairs
"""
