"""GaussianProcessRegressor: ridge regression whose kernel and noise are learned by the evidence."""

from __future__ import annotations

from dataclasses import KW_ONLY, field, replace
from typing import Any, Self

import numpy as np
from sklearn.utils import check_random_state

from mercer._arrays import host, like, unit_of
from mercer._bases import MultiOutputMixin
from mercer._examples import count, take, widened
from mercer._parameters import Count, Either, Flag, Maybe, NonNegative, OneOf, Several, random_from
from mercer.expansion import KernelExpansion
from mercer.gram import solver_gram
from mercer.kernels import DEFAULT, Kernel
from mercer.kernels.estimators import estimator, parameter
from mercer.learners._base import RegressorMixin
from mercer.learners._options import weights_or_none
from mercer.learners.processes.base import Process
from mercer.learners.processes.numbers import NOISE, Numbers, pair
from mercer.learners.ridges.estimators import KernelRidge
from mercer.maps.centers import CenterChoice, choose_centers, given_index
from mercer.solvers.evidence.exact import LOG_2PI, Evidence, evidence
from mercer.solvers.evidence.variational import bound
from mercer.solvers.linear.nystrom import default_count

#: Beyond so many rows "auto" takes centers.
EXACT_PROCESS_ROWS = 10_000
#: The most centers that are taken without being asked for.
MOST_CENTERS = 1000
#: Where the noise starts, in units of the mean of k(x, x).
START = 0.1


@estimator
class GaussianProcessRegressor(MultiOutputMixin, RegressorMixin, Process):
    """f ~ GP(0, k), y = f(x) + noise: k and the noise maximize log p(y) = −½yᵀA⁻¹y − ½log|A| − ….

    A = K + λI. Use it for answers with honest error bars, and to learn a kernel's parameters, one
    length per column among them, without a grid. With k and λ as found, the mean is that of
    `KernelRidge`.

    Parameters
    ----------
    kernel : Kernel, expression, function of two examples or "precomputed"
        k, with the values from which its parameters are learned, and once more from all widths
        times a factor, where that is likelier. Every number above 0 is: widths, lengths
        (``Gaussian([1.0, 1.0])`` has one per column), factors (``2.0 * k``). "scale" and "median"
        are replaced by numbers first.
    noise : "auto", float ≥ 0 or array of shape (n,), default "auto"
        λ, the variance of the noise, in units of k, which "auto" learns; or one number above
        0 for each example that `fit` is given. Then nothing is known of the noise of new ones, and
        what `predict` says of their spread is that of f.
    optimizer : "lbfgs" or None
        None leaves the kernel as it is, and noise="auto" as a tenth of the mean of k(x, x).
    bounds : dict or None
        Name of a parameter (as in ``kernel.get_params()``, or "noise") to (low, high), or "fixed".
        Without an entry a parameter stays within a factor of 10,000 of its start.
    normalize_y : bool, default True
        Learn from targets of mean 0 and variance 1, and undo that in all answers. A kernel without
        a factor of its own then has about the right size.
    solver : {"auto", "exact", "variational"}
        "exact" takes N³ operations and N² memory. "variational" maximizes a lower bound of log p(y)
        with centers (Titsias), in N m²; f is then that of ridge regression in their span. "auto":
        "variational" for more than 10,000 examples, or where centers are asked for.
    n_centers : int or None
        m; None takes 20 √N, at most 1000.
    centers : {"uniform", "kmeans++", "leverage", "greedy"} or indices of examples
        Who chooses the centers (see `mercer.maps.NystromMap`); or the centers.
    n_restarts : int, default 0
        Climb from so many random points more; more find better optima.
    tol, max_iter : float, int
        Of a climb: the relative gain below which it ends, and its most steps.
    random_state : int, RandomState or None
        Draws restarts, and the rows on which the search begins where there are many. None draws as
        0 does, the same in every fit.

    Attributes
    ----------
    kernel_ : Kernel
        k as learned.
    noise_ : float
        λ as learned; of noise per row the harmonic mean.
    log_marginal_likelihood_value_ : float
        log p(y) there, of the normalized targets; with centers the bound.
    solver_, centers_ : "exact" or "variational"; the indices of the centers, or None
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

    # Of models from files that were written before there were centers, or weights.
    centers_: np.ndarray | None = field(default=None, init=False)
    _weights: np.ndarray | None = field(default=None, init=False)

    kernel: Any = DEFAULT
    noise: Any = parameter(
        Either(NonNegative(), OneOf("auto"), Several(NonNegative())), default="auto", was="learn"
    )
    _: KW_ONLY
    normalize_y: bool = parameter(Flag(), default=True)
    solver: str = parameter(OneOf("auto", "exact", "variational"), default="auto")
    n_centers: int | None = parameter(Maybe(Count()), default=None)
    centers: Any = parameter(CenterChoice(), default="uniform")

    # --- learning ---------------------------------------------------------------------------

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn the numbers of the kernel and the noise, and solve for the mean.

        A weight w stands for w equal examples: the noise of their mean is λ/w.
        """
        X, y = self._start(X, y, sample_weight=sample_weight, multi_output=True)
        self._weights = self._counted(weights_or_none(sample_weight, X), count(X))
        X, y = widened(X), np.asarray(y, dtype=np.float64)
        self._y_mean, self._y_scale = self._of_targets(y)
        self.X_train_, self.y_train_ = X, (y - self._y_mean) / self._y_scale
        self._numbers = Numbers.of(self.kernel_, self._bounds_of_kernel())
        self.centers_ = self._draw_centers()
        self.solver_ = "exact" if self.centers_ is None else "variational"
        self._learn(*self._with_noise(self._unit(X)))
        self.kernel_, self.noise_ = self._at(self.theta_)
        self._solve()
        return self

    @property
    def _per_row(self) -> bool:
        return np.ndim(self.noise) == 1

    def _counted(self, weights: np.ndarray | None, n: int) -> np.ndarray | None:
        """The weights; with noise per row λ/λᵢ, whose mean is 1, where λ is the harmonic mean."""
        if not self._per_row:
            return weights
        noise = np.asarray(self.noise, dtype=np.float64)
        if len(noise) != n or not (noise > 0).all() or not np.isfinite(noise).all():
            raise ValueError(
                f"noise must be one number or one above 0 for each of the {n} examples, got "
                f"{len(noise)} of them, the smallest {noise.min(initial=np.inf):.3g}"
            )
        if weights is not None:
            raise ValueError("noise per row says what weights would: give one of them")
        return 1.0 / (noise * np.mean(1.0 / noise))

    def _beyond(self, rows: Any = slice(None)) -> float:
        """What log p(y) has beyond that of as many equal examples, where the noise is per row."""
        if not self._per_row or self._weights is None:
            return 0.0
        columns = self.y_train_.reshape(len(self.y_train_), -1).shape[1]
        return 0.5 * columns * float(np.log(self._weights[rows]).sum())

    def _draw_centers(self) -> np.ndarray | None:
        """Indices of the examples that stand for all; None where all do."""
        n = count(self.X_train_)
        own = not isinstance(self.centers, str) or self.centers != "uniform"
        asked = self.solver == "variational" or own or self.n_centers is not None
        if self.solver == "exact" or (not asked and n <= EXACT_PROCESS_ROWS):
            return None
        if isinstance(self.centers, str):
            m = min(n, self.n_centers or min(default_count(n), MOST_CENTERS))
            random = random_from(self.random_state)
            gram = solver_gram(self.kernel_, self.X_train_)
            return np.sort(choose_centers(gram, self.centers, m, random).index)
        index = given_index(self.centers, n)
        if index is None:
            raise ValueError("centers of a process are a name or indices of training examples")
        return index

    def _of_targets(self, y: np.ndarray) -> tuple[Any, Any]:
        """The mean and the scale that are taken off the targets."""
        if not self.normalize_y:
            return np.zeros(y.shape[1:]), np.ones(y.shape[1:])
        mean = np.average(y, axis=0, weights=self._weights)
        unit = unit_of(y - mean)
        squares = np.average(np.square((y - mean) / unit), axis=0, weights=self._weights)
        spread = unit * np.sqrt(squares)
        return mean, np.where(spread > 0, spread, 1.0)

    @property
    def _learns_noise(self) -> bool:  # type: ignore[override]
        fixed = isinstance(self.bounds, dict) and self.bounds.get("noise") == "fixed"
        return isinstance(self.noise, str) and not fixed

    def _unit(self, X: Any) -> float:
        own = host(solver_gram(self.kernel_, X).diagonal())
        mean = float(np.average(own, weights=self._weights))
        return mean if mean > 0 else 1.0

    def _with_noise(self, unit: float) -> tuple[np.ndarray, np.ndarray]:
        """θ and its bounds, those of the noise last; a noise that is not learned is kept apart."""
        start, bounds = self._numbers.start, self._numbers.bounds
        given: Any = START * unit if isinstance(self.noise, str) else self.noise
        self._fixed_noise = 1.0 / float(np.mean(1.0 / given)) if self._per_row else float(given)
        if not self._learns_noise:
            return start, bounds
        given = (self.bounds or {}).get("noise")
        low, high = (unit * NOISE[0], unit * NOISE[1]) if given is None else pair("noise", given)
        first = np.log(np.clip(self._fixed_noise, low, high))
        return np.append(start, first), np.vstack([bounds, np.log([[low, high]])])

    def _at(self, theta: np.ndarray) -> tuple[Kernel, float]:
        noise = float(np.exp(theta[-1])) if self._learns_noise else self._fixed_noise
        return self._numbers.at(theta), noise

    def _evidence(
        self, theta: np.ndarray, slopes: bool, rows: np.ndarray | None = None
    ) -> Evidence:
        kernel, noise = self._at(theta)
        X, y, weights = self.X_train_, self.y_train_, self._weights
        if rows is not None:
            X, y, weights = take(X, rows), y[rows], None if weights is None else weights[rows]
        gram, columns = solver_gram(kernel, X), y.reshape(len(y), -1)
        if self.centers_ is not None and rows is None:
            found = bound(gram, self.centers_, columns, noise, slopes, weights)
        else:
            found = evidence(gram, columns, noise, slopes, weights)
        return replace(
            found, value=found.value + self._beyond(slice(None) if rows is None else rows)
        )

    def _of_nothing(self) -> float:
        y = self.y_train_.reshape(len(self.y_train_), -1)
        w = np.ones(len(y)) if self._weights is None else self._weights
        number = float(w.sum()) * y.shape[1]
        variance = float(w @ np.square(y).sum(axis=1)) / number
        # Targets that are all 0 need no explanation.
        value = -0.5 * number * (LOG_2PI + np.log(variance) + 1.0) if variance else -np.inf
        return value + self._beyond()

    def _solve(self) -> None:
        """The mean of f, as ridge regression with λ."""
        chosen: Any = "uniform" if self.centers_ is None else self.centers_
        exact = "cholesky" if self.noise_ > 0 and self.centers_ is None else "auto"
        ridge = KernelRidge(
            self.kernel_, self.noise_, solver=exact, centers=chosen, fit_intercept=False
        )
        # What there is to be said of the kernel has been said of the one that was given.
        ridge._needs_psd = ridge._needs_width = False
        self.regressor_: KernelRidge = ridge.fit(self.X_train_, self.y_train_, self._weights)
        self.dual_coef_ = ridge.dual_coef_
        scaled, mean = self.dual_coef_ * self._y_scale, self._y_mean
        intercept = float(mean) if np.ndim(mean) == 0 else mean
        self.expansion_: KernelExpansion = KernelExpansion(
            self.kernel_, self.kernel_.points(self.X_train_, self.centers_), scaled, intercept
        )

    # --- predicting -------------------------------------------------------------------------

    def predict(self, X: Any, return_std: bool = False, return_cov: bool = False) -> Any:
        """The mean at x; also the standard deviation of a new y there, or the covariance of f.

        The standard deviation counts the noise, so that about 95 % of new targets lie within two of
        them; that of f alone is in `latent_mean_and_variance`. The covariance is that of f, of the
        shape (n, n), or (n, n, n_targets) for several targets.
        """
        if return_std and return_cov:
            raise RuntimeError("predict gives return_std or return_cov, not both at once")
        if return_std:
            mean, variance = self.latent_mean_and_variance(X)
            noise = 0.0 if self._per_row else self.noise_
            return mean, (variance + like(noise * np.square(self._y_scale), mean)) ** 0.5
        X = self._checked(X)
        mean = self.regressor_.predict(X) * like(self._y_scale, X) + like(self._y_mean, X)
        return (mean, self._covariance(X)) if return_cov else mean

    def latent_mean_and_variance(self, X: Any) -> tuple[Any, Any]:
        """The mean and the variance of f(x), without the noise: one column per target of several.

        >>> model = GaussianProcessRegressor("gaussian(1)", 0.1, optimizer=None)
        >>> mean, variance = model.fit([[0], [1]], [1, 3]).latent_mean_and_variance([[0], [9]])
        >>> mean.round(3), variance.round(3)
        (array([1.203, 2.   ]), array([0.087, 1.   ]))
        """
        X = self._checked(X)
        scale = like(self._y_scale, X)
        variance = self.regressor_._unit_variances(X)
        mean = self.regressor_.predict(X) * scale + like(self._y_mean, X)
        return mean, variance * scale**2

    def _covariance(self, X: Any) -> Any:
        covariance = self.regressor_._posteriors.covariance(host(X), self.noise_)
        squares = np.square(self._y_scale)
        return like(np.asarray(np.multiply.outer(covariance, squares)), X)

    def sample_y(self, X: Any, n_samples: int = 1, random_state: Any = 0) -> np.ndarray:
        """Functions drawn from the posterior, at these examples: (n, n_samples).

        For several targets the shape is (n, n_targets, n_samples).
        """
        mean, covariance = (host(part) for part in self.predict(X, return_cov=True))
        random = check_random_state(random_state)
        several = mean.ndim == 2
        means = mean if several else mean[:, None]
        covariances = covariance if several else covariance[:, :, None]
        pairs = zip(means.T, np.moveaxis(covariances, 2, 0), strict=True)
        drawn = [random.multivariate_normal(m, c, n_samples).T for m, c in pairs]
        return np.stack(drawn, axis=1) if several else np.asarray(drawn[0])
