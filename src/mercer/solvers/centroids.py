"""Class means in feature space, by kernel values only, and the examples that stand for them.

μ_c = Σᵢ A_ic φ(xᵢ), and ‖φ(x) − μ_c‖² = k(x, x) − 2 Σᵢ A_ic k(x, xᵢ) + (AᵀKA)_cc. Since k(x, x) is
the same for all classes, the nearest mean has the largest Σᵢ A_ic k(x, xᵢ) − ½ (AᵀKA)_cc.
"""

from __future__ import annotations

import numpy as np

from mercer.gram.base import Gram

#: Members of a class whose distances are made at a time.
PANEL = 512


def means(labels: np.ndarray, n_classes: int, weight: np.ndarray) -> np.ndarray:
    """The coefficients A of the weighted mean of every class.

    >>> means(np.array([0, 0, 1]), 2, np.array([1.0, 3.0, 1.0]))
    array([[0.25, 0.  ],
           [0.75, 0.  ],
           [0.  , 1.  ]])
    """
    A = np.zeros((len(labels), n_classes))
    A[np.arange(len(labels)), labels] = weight
    return np.asarray(A / A.sum(axis=0))


def shrunk(A: np.ndarray, weight: np.ndarray, shrinkage: float) -> np.ndarray:
    """Each mean moved by `shrinkage` (0 to 1) towards the mean of all examples."""
    return np.asarray((1.0 - shrinkage) * A + shrinkage * (weight / weight.sum())[:, None])


def squared_norms_of(gram: Gram, A: np.ndarray) -> np.ndarray:
    """‖μ_c‖² = (AᵀKA)_cc, one number a class."""
    return np.einsum("ic,ic->c", A, np.asarray(gram @ A, dtype=np.float64))


def medoids(gram: Gram, labels: np.ndarray, n_classes: int, weight: np.ndarray) -> np.ndarray:
    """For each class the member with the least sum of distances to the others, by position."""
    own = gram.diagonal().astype(np.float64)
    places = []
    for c in range(n_classes):
        members = np.flatnonzero((labels == c) & (weight > 0))
        total = np.empty(len(members))
        for start in range(0, len(members), PANEL):
            part = members[start : start + PANEL]
            k = gram.block(part, members).astype(np.float64)
            square = own[part, None] - 2.0 * k + own[None, members]
            total[start : start + PANEL] = np.sqrt(np.maximum(square, 0.0)) @ weight[members]
        places.append(int(members[total.argmin()]))
    return np.asarray(places)
