"""Centers of one's own in learners: `centers=` as solvers take it, and as a model keeps it."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.kernels import Kernel
from mercer.maps.centers import given_index


def given_centers(learner: Any) -> Any:
    """The parameter `centers`: a name and indices as they are, examples checked as those of fit."""
    centers = learner.centers
    if isinstance(centers, str) or given_index(centers, np.iinfo(np.int64).max) is not None:
        return centers
    if learner.kernel_.takes_matrix:
        raise ValueError(
            "with a precomputed matrix, centers are indices of training examples: k between "
            "other points and these is not in it"
        )
    return learner._examples(centers, reset=False)


def solver_for(learner: Any) -> str:
    """The solver asked for; who asks for special centers asks for the one that has them."""
    plain = isinstance(learner.centers, str) and learner.centers == "uniform"
    if plain or learner.solver == "nystrom":
        return str(learner.solver)
    if learner.solver == "auto":
        return "nystrom"
    raise ValueError(
        f"solver={learner.solver!r} has no centers, and centers= gives some: leave solver at "
        "'auto' or 'nystrom', or centers at 'uniform'"
    )


def points_of(kernel: Kernel, X: Any, centers: Any) -> Any:
    """What an expansion over centers, kept as indices or as examples, has to hold."""
    if centers is None or (isinstance(centers, np.ndarray) and centers.ndim == 1):
        return kernel.points(X, centers)
    return centers
