"""Shapley values of products: what each factor adds to Πⱼ uⱼ, from all bⱼ to all aⱼ.

In the game v(S) = Π_{j∈S} aⱼ Π_{j∉S} bⱼ the value of j is

    φⱼ = ∫₀¹ (aⱼ − bⱼ) Π_{i≠j} (t aᵢ + (1 − t) bᵢ) dt,

the mean over all orders in which the factors change. The integrand is a polynomial of degree d − 1,
so Gauss and Legendre's rule with d/2 nodes has no error but rounding. Fewer nodes do where aⱼ and
bⱼ are close: on an ellipse around [0, 1] with half axes summing to ρ the product is at most
Πⱼ max(|aⱼ|, |bⱼ|) e^(R(ρ + 1/ρ)/2), R = Σⱼ |aⱼ − bⱼ| / (2 max(|aⱼ|, |bⱼ|)), and the error of n
nodes at most (32/15) ρ⁻²ⁿ/(1 − ρ⁻²) of that (Trefethen 2008, theorem 4.5). As many nodes are taken
as make this less than `ROUNDING`.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

#: The error of a rule, beside the largest product that the columns can make.
ROUNDING = 1e-14
#: Numbers of nodes that rules are made for, until one is exact.
SIZES = (2, 4, 6, 8, 10, 12, 14, 16, 20, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512)


@lru_cache(maxsize=64)
def rules(factors: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Even numbers of nodes, the largest R that each serves, and their nodes and weights in rows.

    >>> rules(7)[0]
    array([2, 4])
    """
    exact = 2 * -(-factors // 4)
    sizes = np.array([n for n in SIZES if n < exact] + [exact])
    rho = np.geomspace(1.01, 1e4, 500)
    room = 2 * sizes[:, None] * np.log(rho) + np.log(ROUNDING * 15 / 32 * (1 - rho**-2.0))
    reach = (room / ((rho + 1 / rho) / 2)).max(axis=1)
    reach[-1] = np.inf
    nodes, weights = np.zeros((2, len(sizes), exact))
    for i, n in enumerate(sizes):
        x, w = np.polynomial.legendre.leggauss(n)
        nodes[i, :n], weights[i, :n] = (1 + x) / 2, w / 2
    return sizes, reach, nodes, weights
