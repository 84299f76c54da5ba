"""What Gaussian processes share: the numbers of a kernel are learned by the largest evidence."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, field
from functools import cached_property
from operator import attrgetter
from typing import Any, Final

import numpy as np
from scipy.linalg import LinAlgError
from scipy.optimize import minimize
from sklearn.utils.validation import check_is_fitted

from mercer._examples import count, widened
from mercer._notices import DataWarning, warn
from mercer._parameters import Count, Maybe, OneOf, Positive, random_from
from mercer._progress import progress
from mercer.kernels.estimators import estimator, parameter
from mercer.learners._base import KernelLearner
from mercer.learners._options import check_width, warn_if_stopped
from mercer.learners.processes.numbers import Numbers
from mercer.solvers.evidence.exact import Evidence
from mercer.tuning import CHOOSING_ROWS

# The largest evidence: L-BFGS from where the numbers start and from other points around it.


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


#: log p(y) above that of noise alone, below which a kernel explains nothing.
LEAST_EVIDENCE = 2.0
#: Factors on all widths of a kernel: a second climb begins at the likeliest of them.
WIDTH_FACTORS = (3.0, 10.0, 30.0, 100.0, 1000.0)


@estimator
class Process(KernelLearner):
    """Learns θ, the logarithms of a kernel's numbers, by the `_evidence` that a subclass has."""

    _needs_width = False
    #: Whether the last number of θ is that of the noise.
    _learns_noise = False

    X_train_: Any = field(init=False)
    y_train_: np.ndarray = field(init=False)

    _: KW_ONLY
    optimizer: str | None = parameter(Maybe(OneOf("lbfgs")), default="lbfgs")
    bounds: Any = None
    n_restarts: int = parameter(Count(0), default=0)
    tol: float = parameter(Positive(why="the maximum itself is never reached"), default=1e-5)
    max_iter: int = parameter(Count(), default=200)
    random_state: Any = None

    def _evidence(
        self, theta: np.ndarray, slopes: bool, rows: np.ndarray | None = None
    ) -> Evidence:
        """log p(y) at θ, of all rows or of some; with its derivatives, if asked for."""
        raise NotImplementedError

    def _bounds_of_kernel(self) -> dict[str, Any]:
        if self.bounds is not None and not isinstance(self.bounds, dict):
            raise TypeError(
                "bounds must be a dict of names of parameters, or None, got "
                f"{type(self.bounds).__name__}"
            )
        return {name: value for name, value in (self.bounds or {}).items() if name != "noise"}

    @cached_property
    def _numbers(self) -> Numbers:
        """What is learned of the kernel; as `fit` left it, where the model was loaded."""
        fixed = {n: v for n, v in self._bounds_of_kernel().items() if v == "fixed"}
        return Numbers.of(self.kernel_, fixed)

    def __getstate__(self) -> dict[str, Any]:
        return {k: v for k, v in super().__getstate__().items() if k != "_numbers"}

    def _learn(self, start: np.ndarray, bounds: np.ndarray) -> None:
        """Set `theta_` and what belongs to it, from where θ starts."""
        random = random_from(self.random_state)
        searched = self._search(start, bounds, random) if self.optimizer else Search(start)
        self.theta_, self.n_iter_ = searched.theta, searched.n_iter
        self.theta_names_: list[str] = self._numbers.spelled() + ["noise"] * self._learns_noise
        try:
            self.log_marginal_likelihood_value_: float = self._value_learned()
        except LinAlgError as error:
            raise ValueError(
                f"{type(self).__name__}: {searched.failure or error}. Give more noise, or other "
                "bounds"
            ) from None
        warn_if_stopped(
            type(self).__name__, searched.stopped, str(self.max_iter), "Raise max_iter or tol."
        )

    def _value_learned(self) -> float:
        """log p(y) at `theta_`."""
        return self._evidence(self.theta_, False).value

    def _checked(self, X: Any) -> Any:
        """New examples, in double precision."""
        check_is_fitted(self)
        X = widened(self._examples(X, reset=False))
        check_width(type(self).__name__, self.kernel_, X, len(self.y_train_))
        return X

    def _of_nothing(self) -> float:
        """log p(y) of targets that do not depend on x."""
        raise NotImplementedError

    def _search(
        self, start: np.ndarray, bounds: np.ndarray, random: np.random.RandomState
    ) -> Search:
        """The best of the climbs from the start, and from likelier widths if there are any."""
        if not len(start):
            return Search(start)
        n, rows = count(self.X_train_), None
        if n > 2 * CHOOSING_ROWS and not self.kernel_.takes_matrix:
            rows = np.sort(random.permutation(n)[:CHOOSING_ROWS])
        found = self._climb(start, bounds, rows, random)
        other = self._likelier_widths(start, bounds, rows)
        if other is not None and found.stopped != "interrupt":
            again = self._climb(other, bounds, rows, random)
            total = found.n_iter + again.n_iter
            found = max(found, again, key=attrgetter("value"))
            found.n_iter = total
        if np.isfinite(found.value) and found.value < self._of_nothing() + LEAST_EVIDENCE:
            warn(
                f"{type(self).__name__}: no numbers of {self.kernel_!r} explain the targets any "
                "better than noise alone does. Scale the columns, raise n_restarts, or take "
                "another kernel; or the targets do not depend on X",
                DataWarning,
            )
        return found

    def _climb(
        self,
        start: np.ndarray,
        bounds: np.ndarray,
        rows: np.ndarray | None,
        random: np.random.RandomState,
    ) -> Search:
        """On some rows first where there are many, then on all from the best point found."""
        before = 0
        options: dict[str, Any] = {
            "restarts": int(self.n_restarts),
            "tol": float(self.tol),
            "max_iter": int(self.max_iter),
            "random": random,
        }
        if rows is not None:
            found = largest(lambda theta: self._objective(theta, rows), start, bounds, **options)
            start, before = max((start, found.theta), key=self._value), found.n_iter
            options["restarts"] = 0
        last = largest(self._objective, start, bounds, **options)
        last.n_iter += before
        return last

    def _likelier_widths(
        self, start: np.ndarray, bounds: np.ndarray, rows: np.ndarray | None
    ) -> np.ndarray | None:
        """θ with all widths times one factor, also in units of the spread of their columns, if that
        makes the targets clearly more likely.

        With widths that are far too small K is the identity, and no slope shows the way out.
        """
        widths = np.append(self._numbers.widths(), [False] * self._learns_noise).astype(bool)
        if not widths.any():
            return None
        shifts = np.log([*WIDTH_FACTORS, *(1.0 / f for f in WIDTH_FACTORS)])
        tried = [start + shift * widths for shift in shifts]
        even = self._numbers.by_column(self.X_train_)
        if even is not None:
            even = np.append(even, start[len(even) :])
            tried += [even + shift * widths for shift in (0.0, *shifts)]
        tried = [np.clip(theta, *bounds.T) for theta in tried]
        values = [self._value(theta, rows) for theta in tried]
        best = int(np.argmax(values))
        return tried[best] if values[best] > self._value(start, rows) + LEAST_EVIDENCE else None

    def _value(self, theta: np.ndarray, rows: np.ndarray | None = None) -> float:
        try:
            return self._evidence(theta, False, rows).value
        except LinAlgError:
            return -np.inf

    def _objective(
        self, theta: np.ndarray, rows: np.ndarray | None = None
    ) -> tuple[float, np.ndarray]:
        """log p(y) and its derivatives in θ."""
        found = self._evidence(theta, True, rows)
        size = len(self._numbers.start)
        slopes = self._numbers.slopes(found.slopes or {}, theta[:size])
        if self._learns_noise:
            slopes = np.append(slopes, found.noise * np.exp(theta[-1]))
        return found.value, slopes

    def log_marginal_likelihood(self, theta: Any = None, eval_gradient: bool = False) -> Any:
        """log p(y) at θ (as learned, if None); with `eval_gradient` also ∂ log p/∂θ.

        θ are logarithms, in the order of `theta_names_`.
        """
        check_is_fitted(self)
        at = self.theta_ if theta is None else np.asarray(theta, dtype=np.float64)
        if at.shape != self.theta_.shape:
            raise ValueError(
                f"theta has the shape {at.shape}, but {len(self.theta_)} numbers are learned: "
                f"{self.theta_names_}"
            )
        return self._objective(at) if eval_gradient else self._evidence(at, False).value
