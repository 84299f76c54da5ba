"""A loss from outside is one class; the losses here are what they say."""

import math

import numpy as np
import pytest
from scipy.optimize import minimize as generic
from scipy.special import gammaln, xlogy

from mercer import Gaussian
from mercer.solvers.smooth import Binary, Multinomial, SmoothLoss, minimize

RNG = np.random.default_rng(3)
N = 40
X = RNG.normal(size=(N, 2))
KERNEL = Gaussian(1.0)
K = KERNEL(X)
RATES = np.exp(1.0 + np.sin(2 * X[:, 0]))
COUNTS = RNG.poisson(RATES)
WEIGHTS = 0.5 + RNG.random(N)


class Poisson(SmoothLoss):
    """Counts y with mean exp(f): ℓ = eᶠ − yf, less its minimum."""

    def values(self, scores):
        xp = self.xp
        least = self.y - self.y * xp.log(xp.where(self.y > 0, self.y, 1.0))
        return (xp.exp(scores) - self.y * scores - least)[:, 0]

    def link(self, scores):
        return self.xp.exp(scores)

    def diagonal(self, mean):
        return self.weights[:, None] * mean

    def start(self):
        return np.log(self.mean())


class Huberized(SmoothLoss):
    """√(1 + (y − f)²) − 1: no natural link, so that the gradient is its own."""

    steepest = 1.0

    def values(self, scores):
        return (self.xp.sqrt(1 + (self.y - scores) ** 2) - 1)[:, 0]

    def link(self, scores):
        return scores

    def gradient(self, mean):
        gap = mean - self.y
        return self.weights[:, None] * gap / self.xp.sqrt(1 + gap**2)

    def diagonal(self, mean):
        return self.weights[:, None] * (1 + (mean - self.y) ** 2) ** -1.5


LOSSES = {
    "poisson": lambda: Poisson(COUNTS, WEIGHTS),
    "huberized": lambda: Huberized(3 * X[:, 0] + RNG.standard_t(2, N), WEIGHTS),
}


def optimum(value, alpha, intercept):
    """The penalized optimum by SciPy, which sees the values of the loss only."""
    L = np.linalg.cholesky(K + 1e-12 * np.eye(N))

    def objective(v):
        return value(L @ v[:N] + v[N] * intercept) + 0.5 * alpha * v[:N] @ v[:N]

    start = np.zeros(N + 1)
    found = generic(objective, start, method="BFGS", options={"gtol": 1e-7, "maxiter": 5000})
    return found.fun, L @ found.x[:N] + found.x[N] * intercept


def poisson(scores):
    """−log P(y) of the Poisson distribution, less that of the means y."""
    log = WEIGHTS @ (COUNTS * scores - np.exp(scores) - gammaln(COUNTS + 1))
    return WEIGHTS @ (xlogy(COUNTS, COUNTS) - COUNTS - gammaln(COUNTS + 1)) - log


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("solver", ["newton", "nystrom"])
def test_poisson_from_outside_reaches_the_optimum_of_scipy(solver, intercept):
    value, scores = optimum(poisson, 0.3, intercept)
    loss = Poisson(COUNTS, WEIGHTS)
    options = {"intercept": intercept, "solver": solver, "n_centers": N, "tol": 1e-12}
    found = minimize(KERNEL.gram(X), loss, 0.3, **options)
    assert found.stopped == ""
    assert found.solver == solver
    assert found.objective == pytest.approx(value, rel=1e-6)
    np.testing.assert_allclose((K @ found.coef)[:, 0] + found.intercept, scores, atol=1e-3)
    mean = loss.link(K @ found.coef + found.intercept)
    if intercept:  # the gradient in b vanishes: means add up to counts
        assert WEIGHTS @ mean[:, 0] == pytest.approx(WEIGHTS @ COUNTS, rel=1e-5)


def test_a_loss_with_a_gradient_of_its_own():
    loss = LOSSES["huberized"]()
    value, _ = optimum(lambda f: loss.value(f[:, None]), 0.5, True)
    newton = minimize(KERNEL.gram(X), loss, 0.5, tol=1e-12)
    assert newton.objective == pytest.approx(value, rel=1e-6)
    slow = minimize(KERNEL.gram(X), loss, 0.5, solver="gradient", tol=1e-9, max_iter=5000)
    assert slow.objective == pytest.approx(value, rel=1e-2)
    assert (np.diff(slow.objectives) <= 1e-12).all()


def test_a_curvature_without_a_bound_has_no_safe_rate():
    loss = LOSSES["poisson"]()
    assert loss.bound() == math.inf
    with pytest.raises(ValueError, match=r"Poisson has no bound.* learning_rate="):
        minimize(KERNEL.gram(X), loss, 0.3, solver="gradient")
    slow = minimize(KERNEL.gram(X), loss, 0.3, solver="gradient", learning_rate=1e-4, max_iter=20)
    assert (np.diff(slow.objectives) < 0).all()
    with pytest.raises(ValueError, match=r"diverges with learning_rate=1; take a smaller one"):
        minimize(KERNEL.gram(X), loss, 0.3, solver="gradient", learning_rate=1.0)


@pytest.mark.parametrize(
    "loss",
    [
        *(pytest.param(make(), id=name) for name, make in LOSSES.items()),
        pytest.param(Binary(COUNTS > 2, WEIGHTS), id="binary"),
        pytest.param(Multinomial(COUNTS % 3, 3, WEIGHTS), id="multinomial"),
    ],
)
def test_derivatives_diagonal_and_bound_belong_together(loss):
    scores, V = RNG.normal(size=(2, N, loss.columns))
    h = 1e-6
    mean = loss.link(scores)
    slope = (loss.value(scores + h * V) - loss.value(scores - h * V)) / (2 * h)
    assert slope == pytest.approx(np.sum(loss.gradient(mean) * V), rel=1e-6)
    change = loss.gradient(loss.link(scores + h * V)) - loss.gradient(loss.link(scores - h * V))
    np.testing.assert_allclose(loss.curvature(mean, V), change / (2 * h), atol=1e-6)
    for j in range(loss.columns):
        unit = np.zeros(scores.shape)
        unit[:, j] = 1.0
        np.testing.assert_allclose(loss.diagonal(mean)[:, j], loss.curvature(mean, unit)[:, j])
    assert (np.sum(V * loss.curvature(mean, V), axis=1) <= loss.bound() * np.sum(V * V, 1)).all()
    assert loss.value(scores) >= 0


def test_a_loss_goes_where_the_data_is():
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    scores = RNG.normal(size=(N, 3))
    for loss in (LOSSES["poisson"](), Binary(COUNTS > 2, WEIGHTS), Multinomial(COUNTS % 3, 3)):
        f = scores[:, : loss.columns]
        there = loss.moved(torch.as_tensor)
        mean, moved = loss.link(f), there.link(torch.as_tensor(f))
        assert isinstance(moved, torch.Tensor)
        assert there.value(torch.as_tensor(f)) == pytest.approx(loss.value(f), rel=1e-12)
        for name in ("gradient", "diagonal"):
            values = getattr(there, name)(moved).numpy()
            np.testing.assert_allclose(values, getattr(loss, name)(mean), atol=1e-12)
        image = there.curvature(moved, torch.as_tensor(f)).numpy()
        np.testing.assert_allclose(image, loss.curvature(mean, f), atol=1e-12)
        np.testing.assert_allclose(there.start(), loss.start(), rtol=1e-12)


def test_a_negative_loss_is_refused():
    class Negative(Poisson):
        def values(self, scores):
            return super().values(scores) - 1e6

    with pytest.raises(ValueError, match=r"Negative is negative at f = 0"):
        minimize(KERNEL.gram(X), Negative(COUNTS), 1.0)


def test_probabilities_of_scores_that_overflow():
    f = np.array([[-1000.0], [0.0], [1000.0]])
    loss = Binary([0, 1, 1])
    with np.errstate(all="raise", under="ignore"):
        np.testing.assert_array_equal(loss.link(f), [[0.0], [0.5], [1.0]])
        np.testing.assert_allclose(loss.values(f), [0.0, np.log(2), 0.0])
