"""GaussianProcessRegressor: ridge regression whose kernel and noise are learned by the evidence."""

from __future__ import annotations

from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from scipy.linalg import LinAlgError
from sklearn.base import MultiOutputMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from mercer._arrays import host
from mercer._examples import count, take, widened
from mercer._parameters import (
    Anything,
    Check,
    Count,
    Either,
    Flag,
    Maybe,
    NonNegative,
    OneOf,
    Positive,
)
from mercer.expansion import KernelExpansion
from mercer.gram.host import HostGram
from mercer.kernels import DEFAULT, Kernel
from mercer.kernels.estimators import KERNEL
from mercer.learners._base import KernelLearner
from mercer.learners._device import RegressorMixin
from mercer.learners._options import check_width, warn_if_stopped
from mercer.learners.processes.learning import Search, largest
from mercer.learners.processes.numbers import NOISE, Numbers, pair
from mercer.learners.ridges.estimators import KernelRidge
from mercer.solvers.linear.evidence import Evidence, evidence

#: Where the noise starts, in units of the mean of k(x, x).
START = 0.1
#: Beyond twice as many rows, the search begins on so many of them: an evaluation there takes a
#: thousandth of the time, and the last steps on all rows are few.
SAMPLE = 1000


class GaussianProcessRegressor(MultiOutputMixin, RegressorMixin, KernelLearner):
    """f ~ GP(0, k), y = f(x) + noise: k and the noise maximize log p(y) = −½yᵀA⁻¹y − ½log|A| − ….

    A = K + λI. Use it for answers with honest error bars, and to learn a kernel's parameters, one
    length per column among them, without a grid. With k and λ as found, the mean is that of
    `KernelRidge`.

    Parameters
    ----------
    kernel : Kernel, expression string, function of two examples or "precomputed"
        k, with the values from which its parameters are learned. Every number above 0 is: widths,
        lengths (``Gaussian([1.0, 1.0])`` has one per column), factors (``2.0 * k``). "scale" and
        "median" are replaced by numbers first.
    gamma, degree, coef0 : number or None
        Parameters of k where `kernel` is a bare name such as "rbf" or "poly", as in scikit-learn.
    noise : "learn" or float ≥ 0, default "learn"
        λ, the variance of the noise, in units of k.
    optimizer : "lbfgs" or None
        None leaves the kernel as it is, and noise="learn" as a tenth of the mean of k(x, x).
    bounds : dict or None
        Name of a parameter (as in ``kernel.get_params()``, or "noise") to (low, high), or "fixed".
        Without an entry a parameter stays within a factor of 10,000 of its start.
    normalize_y : bool, default True
        Learn from targets of mean 0 and variance 1, and undo that in all answers. A kernel without
        a factor of its own then has about the right size.
    n_restarts : int, default 0
        Climb from so many random points more; more find better optima.
    tol, max_iter : float, int
        Of a climb: the relative gain below which it ends, and its most steps.
    random_state : int, RandomState or None
        Draws restarts, and the rows on which the search begins where there are many.

    Attributes
    ----------
    kernel_ : Kernel
        k as learned.
    noise_ : float
        λ as learned.
    log_marginal_likelihood_value_ : float
        log p(y) there, of the normalized targets.
    theta_, theta_names_ : ndarray, list of str
        The logarithms of what was learned, and the name of each: the noise comes last.
    dual_coef_ : ndarray of shape (n_samples,) or (n_samples, n_targets)
        A⁻¹y, of the normalized targets.
    expansion_ : KernelExpansion
        The mean of f.
    regressor_ : KernelRidge
        That mean of the normalized targets.
    X_train_, y_train_ : the examples, and the normalized targets
    n_iter_ : int
        Steps of all climbs.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import Gaussian, GaussianProcessRegressor
    >>> x = np.linspace(0, 6, 25)[:, None]
    >>> model = GaussianProcessRegressor(Gaussian(0.3), random_state=0).fit(x, np.sin(x[:, 0]))
    >>> round(model.kernel_.sigma, 1), model.noise_ < 1e-6
    (2.1, True)
    >>> mean, std = model.predict([[1.5], [30.0]], return_std=True)
    >>> mean.round(3), std.round(3)
    (array([0.998, 0.001]), array([0.   , 0.709]))
    """

    _parameters: ClassVar[dict[str, Check]] = {
        **KERNEL,
        "noise": Either(NonNegative(), OneOf("learn")),
        "optimizer": Maybe(OneOf("lbfgs")),
        "bounds": Anything(),
        "normalize_y": Flag(),
        "n_restarts": Count(0),
        "tol": Positive(why="the maximum itself is never reached"),
        "max_iter": Count(),
        "random_state": Anything(),
    }
    _keeps_rows_in_place = False
    _needs_width = False

    def __init__(
        self,
        kernel: Any = DEFAULT,
        noise: Any = "learn",
        *,
        gamma: Any = None,
        degree: Any = None,
        coef0: Any = None,
        optimizer: str | None = "lbfgs",
        bounds: Any = None,
        normalize_y: bool = True,
        n_restarts: int = 0,
        tol: float = 1e-6,
        max_iter: int = 200,
        random_state: Any = None,
    ) -> None:
        self.kernel = kernel
        self.noise = noise
        self.gamma, self.degree, self.coef0 = gamma, degree, coef0
        self.optimizer = optimizer
        self.bounds = bounds
        self.normalize_y = normalize_y
        self.n_restarts = n_restarts
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state

    # --- learning ---------------------------------------------------------------------------

    def fit(self, X: Any, y: Any) -> Self:
        """Learn the numbers of the kernel and the noise, and solve for the mean."""
        X, y = self._start(X, y, multi_output=True)
        X, y = widened(X), np.asarray(y, dtype=np.float64)
        self._y_mean, self._y_scale = self._of_targets(y)
        self.X_train_, self.y_train_ = X, (y - self._y_mean) / self._y_scale
        self.__dict__["_numbers"] = Numbers.of(self.kernel_, self._bounds_of_kernel())
        unit = self._unit(X)
        start, bounds = self._with_noise(unit)
        random = check_random_state(self.random_state)
        searched = self._search(start, bounds, random) if self.optimizer else Search(start)
        self.theta_ = searched.theta
        self.theta_names_ = self._numbers.spelled() + ["noise"] * self._learns_noise
        self.n_iter_ = searched.n_iter
        self.kernel_, self.noise_ = self._at(self.theta_)
        try:
            self.log_marginal_likelihood_value_ = self._evidence(self.theta_, False).value
        except LinAlgError as error:
            raise ValueError(
                f"GaussianProcessRegressor: {searched.failure or error}. Give noise='learn', a "
                "larger noise, or other bounds"
            ) from None
        self._solve()
        warn_if_stopped(
            type(self).__name__, searched.stopped, str(self.max_iter), "Raise max_iter or tol."
        )
        return self

    def _of_targets(self, y: np.ndarray) -> tuple[Any, Any]:
        """The mean and the scale that are taken off the targets."""
        if not self.normalize_y:
            return np.zeros(y.shape[1:]), np.ones(y.shape[1:])
        spread = y.std(axis=0)
        return y.mean(axis=0), np.where(spread > 0, spread, 1.0)

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

    @property
    def _learns_noise(self) -> bool:
        fixed = isinstance(self.bounds, dict) and self.bounds.get("noise") == "fixed"
        return isinstance(self.noise, str) and not fixed

    def _unit(self, X: Any) -> float:
        mean = float(np.mean(HostGram(self.kernel_, X).diagonal()))
        return mean if mean > 0 else 1.0

    def _with_noise(self, unit: float) -> tuple[np.ndarray, np.ndarray]:
        """θ and its bounds, those of the noise last; a noise that is not learned is kept apart."""
        start, bounds = self._numbers.start, self._numbers.bounds
        self._fixed_noise = START * unit if isinstance(self.noise, str) else float(self.noise)
        if not self._learns_noise:
            return start, bounds
        given = (self.bounds or {}).get("noise")
        low, high = (unit * NOISE[0], unit * NOISE[1]) if given is None else pair("noise", given)
        first = np.log(np.clip(self._fixed_noise, low, high))
        return np.append(start, first), np.vstack([bounds, np.log([[low, high]])])

    def _search(
        self, start: np.ndarray, bounds: np.ndarray, random: np.random.RandomState
    ) -> Search:
        """On some rows first where there are many, then on all from the best point found."""
        if not len(start):
            return Search(start)
        n, before = count(self.X_train_), 0
        options: dict[str, Any] = {
            "restarts": int(self.n_restarts),
            "tol": float(self.tol),
            "max_iter": int(self.max_iter),
            "random": random,
        }
        if n > 2 * SAMPLE and not self.kernel_.takes_matrix:
            rows = np.sort(random.permutation(n)[:SAMPLE])
            found = largest(lambda theta: self._objective(theta, rows), start, bounds, **options)
            start, before = max((start, found.theta), key=self._value), found.n_iter
            options["restarts"] = 0
        last = largest(self._objective, start, bounds, **options)
        last.n_iter += before
        return last

    def _value(self, theta: np.ndarray) -> float:
        try:
            return self._evidence(theta, False).value
        except LinAlgError:
            return -np.inf

    def _at(self, theta: np.ndarray) -> tuple[Kernel, float]:
        noise = float(np.exp(theta[-1])) if self._learns_noise else self._fixed_noise
        return self._numbers.at(theta), noise

    def _evidence(
        self, theta: np.ndarray, slopes: bool, rows: np.ndarray | None = None
    ) -> Evidence:
        kernel, noise = self._at(theta)
        X, y = self.X_train_, self.y_train_
        if rows is not None:
            X, y = take(X, rows), y[rows]
        return evidence(HostGram(kernel, X), y.reshape(len(y), -1), noise, slopes)

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

    def _solve(self) -> None:
        """The mean of f, as ridge regression with λ."""
        solver = "cholesky" if self.noise_ > 0 else "auto"
        ridge = KernelRidge(self.kernel_, self.noise_, solver=solver)
        # What there is to be said of the kernel has been said of the one that was given.
        ridge._needs_psd = ridge._needs_width = False
        self.regressor_ = ridge.fit(self.X_train_, self.y_train_)
        self.dual_coef_ = ridge.dual_coef_
        scaled, mean = self.dual_coef_ * self._y_scale, self._y_mean
        intercept = float(mean) if np.ndim(mean) == 0 else mean
        self.expansion_ = KernelExpansion(
            self.kernel_, self.kernel_.points(self.X_train_, None), scaled, intercept
        )

    # --- predicting -------------------------------------------------------------------------

    def predict(self, X: Any, return_std: bool = False, return_cov: bool = False) -> Any:
        """The mean of f(x); also its standard deviation, or the covariance of all f(x).

        They are those of f: for a new y add the noise, λ times the variance of the targets. The
        covariance has the shape (n, n), or (n, n, n_targets) for several targets.
        """
        if return_std and return_cov:
            raise RuntimeError("predict gives return_std or return_cov, not both at once")
        X = self._checked(X)
        mean = self.regressor_.predict(X) * self._y_scale + self._y_mean
        if return_std:
            return mean, self.regressor_.predict(X, return_std=True)[1] * self._y_scale
        if return_cov:
            return mean, self._covariance(X)
        return mean

    def _checked(self, X: Any) -> Any:
        check_is_fitted(self)
        X = widened(host(self._examples(X, reset=False)))
        check_width(type(self).__name__, self.kernel_, X, len(self.y_train_))
        return X

    def _covariance(self, X: Any) -> np.ndarray:
        covariance = self.regressor_._posteriors.covariance(X, self.noise_)
        squares = np.square(self._y_scale)
        return np.asarray(np.multiply.outer(covariance, squares))

    def sample_y(self, X: Any, n_samples: int = 1, random_state: Any = 0) -> np.ndarray:
        """Functions drawn from the posterior, at these examples: (n, n_samples).

        For several targets the shape is (n, n_targets, n_samples).
        """
        mean, covariance = self.predict(X, return_cov=True)
        random = check_random_state(random_state)
        several = mean.ndim == 2
        means = mean if several else mean[:, None]
        covariances = covariance if several else covariance[:, :, None]
        pairs = zip(means.T, np.moveaxis(covariances, 2, 0), strict=True)
        drawn = [random.multivariate_normal(m, c, n_samples).T for m, c in pairs]
        return np.stack(drawn, axis=1) if several else np.asarray(drawn[0])
