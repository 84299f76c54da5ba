"""The largest evidence: L-BFGS from where the numbers start and from other points around it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
from scipy.linalg import LinAlgError
from scipy.optimize import minimize

from mercer._progress import progress

#: Restarts are drawn from this factor around the start, within the bounds.
AROUND = 30.0
#: What a point without evidence (no factor, overflow) counts as: far below all others.
NO_EVIDENCE: Final = 1e25

Objective = Callable[[np.ndarray], tuple[float, np.ndarray]]


@dataclass
class Search:
    """The best θ so far; `stopped` is "max_iter" or "interrupt" where the search ended early."""

    theta: np.ndarray
    value: float = -np.inf
    n_iter: int = 0
    stopped: str = ""
    #: Why the last point had no evidence, for the error where none has.
    failure: str = field(default="", repr=False)

    def climb(self, objective: Objective, bounds: np.ndarray, tol: float, max_iter: int) -> None:
        """From θ to a point whose evidence no step improves."""
        self.value = -np.inf

        def loss(theta: np.ndarray) -> tuple[float, np.ndarray]:
            try:
                value, slopes = objective(theta)
            except (LinAlgError, OverflowError, FloatingPointError) as error:
                self.failure = str(error)
                return NO_EVIDENCE, np.zeros(len(theta))
            if not (np.isfinite(value) and np.isfinite(slopes).all()):
                return NO_EVIDENCE, np.zeros(len(theta))
            if value > self.value:
                self.value, self.theta = value, theta.copy()
            bar.advance()
            return -value, -slopes

        options: dict[str, Any] = {"maxiter": max_iter, "ftol": tol, "gtol": tol}
        with progress("evidence", None) as bar:
            try:
                found = minimize(
                    loss, self.theta, jac=True, method="L-BFGS-B", bounds=bounds, options=options
                )
            except KeyboardInterrupt:
                if not np.isfinite(self.value):
                    raise
                self.stopped = "interrupt"
                return
        self.n_iter += int(found.nit)
        self.stopped = "max_iter" if found.status == 1 else ""


def largest(
    objective: Objective,
    start: np.ndarray,
    bounds: np.ndarray,
    *,
    restarts: int,
    tol: float,
    max_iter: int,
    random: np.random.RandomState,
) -> Search:
    """The best of 1 + `restarts` climbs."""
    best = Search(np.clip(start, *bounds.T))
    best.climb(objective, bounds, tol, max_iter)
    reach = np.log(AROUND)
    for _ in range(restarts if best.stopped != "interrupt" else 0):
        drawn = start + random.uniform(-reach, reach, len(start))
        other = Search(np.clip(drawn, *bounds.T))
        other.climb(objective, bounds, tol, max_iter)
        other.n_iter += best.n_iter
        if other.value > best.value:
            best = other
        else:
            best.n_iter = other.n_iter
        if other.stopped == "interrupt":
            break
    return best
