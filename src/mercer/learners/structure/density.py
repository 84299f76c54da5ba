"""The density of examples: p(x) is a mean of bumps, one on each example."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, field
from typing import Any, Self

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from mercer._arrays import host
from mercer._examples import count, take
from mercer._parameters import Either, Maybe, OneOf, Positive, Several
from mercer.formula import Formula, simplify
from mercer.kernels import DEFAULT, Kernel
from mercer.kernels.estimators import estimator, parameter
from mercer.learners._base import KernelLearner
from mercer.learners._options import refuse_number_beside_path, weights_or_none
from mercer.learners.smoothers import divide
from mercer.solvers.density import Shape, likeliest_bandwidth, log_sums, shape_of
from mercer.solvers.local.bandwidth import copies, rule_of_thumb
from mercer.solvers.local.weights import Weights


@estimator
class KernelDensity(KernelLearner):
    """p(x) = Σᵢ wᵢ k((x − xᵢ)/h) / (h^D ∫k), Σw = 1: as many examples were near x as p(x) says.

    For outliers (small p), for drawing more examples like these (`sample`), and for seeing how
    many groups there are. Densities of many columns need very many examples.

    Parameters
    ----------
    kernel : Kernel or expression
        k ≥ 0, a function of one distance or a product over columns, with a finite integral:
        Gaussian, Laplacian, Matérn, Epanechnikov, Uniform, Tricube, Wendland, B-splines, …
        A compact k is summed over the examples within reach only.
    bandwidth : "auto", "scott", "silverman" or number, default "auto"
        h. "auto" maximizes the likelihood of the examples, each from the others; copies of an
        example are left out together. "scott" is N^(−1/(D+4)), "silverman" (N(D+2)/4)^(−1/(D+4)),
        as in scikit-learn: for columns of standard deviation 1. Smaller values show more detail,
        and more of it is noise.
    bandwidths : array or None
        What "auto" chooses from, instead of searching.

    Attributes
    ----------
    bandwidth_ : float
    loo_score_ : float
        The mean log p of an example left out, where "auto" chose the bandwidth.
    bandwidths_tried_ : tuple of (h, mean log p)
    X_fit_, sample_weight_ : the examples kept (those of positive weight) and their weights

    See Also
    --------
    KernelOneClass : the region that holds most examples, without p

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import KernelDensity
    >>> X = np.array([[0.0], [1.0], [5.0]])
    >>> density = KernelDensity("gaussian()", bandwidth=1.0).fit(X)
    >>> np.exp(density.score_samples([[0.0], [3.0]])).round(4)
    array([0.2136, 0.0375])
    >>> KernelDensity("epanechnikov()", bandwidth=2.0).fit(X).score_samples([[9.0]])
    array([-inf])
    """

    _needs_psd = False
    _needs_width = False

    bandwidths_tried_: tuple[tuple[float, float], ...] = field(init=False)

    kernel: Any = DEFAULT
    bandwidth: Any = parameter(
        Either(OneOf("auto", "scott", "silverman"), Positive()), default="auto", was="loo"
    )
    _: KW_ONLY
    bandwidths: Any = parameter(Maybe(Several(Positive())), default=None)

    def _with_numbers(self, kernel: Kernel, X: Any, sample_weight: Any) -> Kernel:
        """The bandwidth is the width that the data chooses here, so that words become 1."""
        return kernel if kernel.is_opaque else kernel.with_widths()

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Keep the examples and choose the bandwidth. `y` is ignored."""
        X, _ = self._start(X)
        if self.bandwidths is not None:
            refuse_number_beside_path(self, "bandwidth")
        shape_of(self.kernel_, self._columns(X))  # says now what has no density
        weight = weights_or_none(sample_weight, X)
        if weight is not None and not weight.all():
            X, weight = take(X, np.flatnonzero(weight)), weight[weight > 0]
        self.X_fit_, self.sample_weight_ = X, weight
        self.loo_score_, self.bandwidths_tried_ = math.nan, ()
        n = count(X) if weight is None else float(weight.sum() ** 2 / np.square(weight).sum())
        self.bandwidth_: float = self._chosen(n, self._columns(X))
        return self

    def _columns(self, X: Any) -> int:
        return int(X.shape[1]) if hasattr(X, "shape") and len(X.shape) == 2 else 1

    def _chosen(self, n: float, columns: int) -> float:
        if self.bandwidth == "scott":
            return float(n ** (-1.0 / (columns + 4)))
        if self.bandwidth == "silverman":
            return float((n * (columns + 2) / 4) ** (-1.0 / (columns + 4)))
        if self.bandwidth != "auto":
            return float(self.bandwidth)
        rows, weight = self._without_copies()
        if count(rows) < 2:
            raise ValueError(
                f"bandwidth='auto' needs at least 2 different examples, and there is 1 sample (in "
                f"{count(self.X_fit_)} rows): give a number"
            )
        start = rule_of_thumb(self.kernel_, host(rows), sample_weight=weight)
        among = None if self.bandwidths is None else np.atleast_1d(self.bandwidths).tolist()
        found = likeliest_bandwidth(
            lambda h, some: self._left_out(rows, weight, h, some), weight, start, among
        )
        if not math.isfinite(found.value):
            raise ValueError(
                "at every bandwidth tried, some example has no other within reach of "
                f"{self.kernel_!r}: larger bandwidths, or a kernel without an end"
            )
        self.loo_score_, self.bandwidths_tried_ = found.value, found.tried
        return found.bandwidth

    def _without_copies(self) -> tuple[Any, np.ndarray]:
        """Every different example, and the weight of all its copies."""
        n = count(self.X_fit_)
        found = copies(host(self.X_fit_), np.zeros(n))
        if found is None:
            return self.X_fit_, np.ones(n) if self.sample_weight_ is None else self.sample_weight_
        first, group = found
        return take(self.X_fit_, first), np.bincount(group, self.sample_weight_).astype(float)

    def _left_out(self, rows: Any, weight: np.ndarray, h: float, some: np.ndarray) -> np.ndarray:
        """log p of some examples, each from all the others."""
        scaled = divide(rows, h)
        queries = scaled if len(some) == count(rows) else take(scaled, some)
        sums = log_sums(Weights(self._formula, queries, scaled, some), weight)
        return np.asarray(sums - np.log(weight.sum() - weight[some]) - self._log_volume(h))

    # --- answers -----------------------------------------------------------------------------

    @property
    def _formula(self) -> Formula:
        return simplify(self.kernel_.formula())

    @property
    def _shape(self) -> Shape:
        return shape_of(self.kernel_, self._columns(self.X_fit_))

    def _log_volume(self, h: float) -> float:
        """log(h^D ∫k)."""
        return self._columns(self.X_fit_) * math.log(h) + self._shape.log_mass

    def score_samples(self, X: Any) -> np.ndarray:
        """log p(x) for each row; −∞ where a compact kernel reaches no example."""
        check_is_fitted(self, "X_fit_")
        X, h = self._examples(X, reset=False), self.bandwidth_
        n = count(self.X_fit_)
        v = np.ones(n) if self.sample_weight_ is None else self.sample_weight_
        sums = log_sums(Weights(self._formula, divide(X, h), divide(self.X_fit_, h)), v)
        return np.asarray(sums - math.log(v.sum()) - self._log_volume(h))

    def score(self, X: Any, y: Any = None) -> float:
        """Σ log p(x), the log-likelihood of the rows together, as in scikit-learn."""
        return float(np.sum(self.score_samples(X)))

    def sample(self, n_samples: int = 1, random_state: Any = None) -> np.ndarray:
        """Draw rows from the density: an example, moved by a draw from k.

        As in scikit-learn, None draws other rows in every call.
        """
        check_is_fitted(self, "X_fit_")
        random = check_random_state(random_state)
        n, p = count(self.X_fit_), None
        if self.sample_weight_ is not None:
            p = self.sample_weight_ / self.sample_weight_.sum()
        centers = host(take(self.X_fit_, random.choice(n, n_samples, p=p)))
        centers = centers.toarray() if hasattr(centers, "toarray") else np.asarray(centers)
        return np.asarray(centers + self.bandwidth_ * self._shape.draw(n_samples, random))
