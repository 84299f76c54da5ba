"""Densities p(x) = Σᵢ wᵢ k((x − xᵢ)/h) / (h^D ∫k).

shape.py         ∫k, and points drawn from k as a density
likelihood.py    log p(x), and the bandwidth of the largest leave-one-out likelihood
"""
