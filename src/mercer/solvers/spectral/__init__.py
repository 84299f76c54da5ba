"""Eigenvectors of K and what is found in them.

krylov.py        the largest eigenpairs of an operator, by products with blocks of vectors
components.py    those of K, centered or not, whole or by products
"""
