"""A Gaussian process with one length per column, a factor and noise, learned on 3000 × 10.

All start from the same numbers and climb by L-BFGS. A peer's clock stops where it has come as high
as we have, where it ends by itself, or after twice the time that the target grants it: what it had
reached by then is in the note. scikit-learn holds one matrix per length, here derivatives are sums
over tiles, and the search begins on 1000 of the rows. GPyTorch, where it is installed, takes the
exact model of its first tutorial with a length per column, by Cholesky factors (its default up to
800 rows is the same, its approximations beyond are not).
"""

from __future__ import annotations

import contextlib
import math
import time
from importlib.util import find_spec
from typing import Any

import numpy as np
from _harness import Row, claim, faster, main, race, skipped
from scipy.optimize import minimize
from sklearn.gaussian_process import GaussianProcessRegressor as Peer
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

from mercer import Gaussian, GaussianProcessRegressor
from mercer.gram.host import HostGram
from mercer.solvers.evidence.exact import evidence

N, D = 3000, 10
#: What log p(y) may lack of ours to count as equally high.
SAME = 0.1


class Stopwatch:
    """Ends the climb of a peer that has reached `goal`, or whose time is up."""

    def __init__(self, goal: float, limit: float) -> None:
        self.goal, self.limit, self.reached = goal, limit, -math.inf
        self.begin = time.perf_counter()

    def saw(self, value: float) -> None:
        self.reached, self.seconds = max(value, self.reached), time.perf_counter() - self.begin
        if self.reached >= self.goal or self.seconds > self.limit:
            raise StopIteration


def measure() -> list[Row]:
    random = np.random.default_rng(0)
    X = random.normal(size=(N, D))
    y = np.sin(X[:, 0]) + 0.5 * X[:, 1] * X[:, 2] + 0.1 * random.normal(size=N)
    y = (y - y.mean()) / y.std()
    kernel = 1.0 * Gaussian(np.full(D, 3.0))
    theirs = ConstantKernel(1.0) * RBF(np.full(D, 3.0)) + WhiteKernel(0.1)
    peer = Peer(theirs, optimizer=None).fit(X, y)
    theta = peer.kernel_.theta
    gram = HostGram(kernel, X)
    once = race(
        lambda: evidence(gram, y[:, None], 0.1),
        lambda: peer.log_marginal_likelihood(theta, eval_gradient=True),
        rounds=2,
    )
    begin = time.perf_counter()
    ours = GaussianProcessRegressor(kernel, normalize_y=False, random_state=0).fit(X, y)
    own = time.perf_counter() - begin
    goal = ours.log_marginal_likelihood_value_ - SAME
    rows = [
        claim(
            "GP evidence and gradient, 3000 × 10, vs scikit-learn", once.ours, once.peer, faster(2)
        )
    ]
    for name, times, climb in (("scikit-learn", 5, _scikit_learn), ("GPyTorch", 1, _gpytorch)):
        what, target = f"  all 12 numbers learned, vs {name}", faster(times)
        if name == "GPyTorch" and find_spec("gpytorch") is None:
            rows.append(skipped(what, target, "GPyTorch is not installed"))
            continue
        watch = Stopwatch(goal, 2 * times * own)
        with contextlib.suppress(StopIteration):
            climb(X, y, watch)
        note = f"log p(y) {goal + SAME:.1f}, {name} {watch.reached:.1f}"
        rows.append(claim(what, own, watch.seconds, target, note))
    return rows


def _scikit_learn(X: np.ndarray, y: np.ndarray, watch: Stopwatch) -> None:
    def climb(loss: Any, theta: np.ndarray, bounds: np.ndarray) -> tuple[np.ndarray, float]:
        def watched(at: np.ndarray) -> tuple[float, np.ndarray]:
            value, slopes = loss(at)
            watch.saw(-float(value))
            return value, slopes

        # As scikit-learn itself calls it.
        found = minimize(watched, theta, method="L-BFGS-B", jac=True, bounds=bounds)
        return found.x, found.fun

    kernel = ConstantKernel(1.0) * RBF(np.full(D, 3.0)) + WhiteKernel(0.1)
    Peer(kernel, optimizer=climb).fit(X, y)


def _gpytorch(X: np.ndarray, y: np.ndarray, watch: Stopwatch) -> None:
    import gpytorch
    import torch

    x, t = torch.as_tensor(X), torch.as_tensor(y)

    class Exact(gpytorch.models.ExactGP):
        def __init__(self, likelihood: Any) -> None:
            super().__init__(x, t, likelihood)
            self.mean_module = gpytorch.means.ZeroMean()
            inner = gpytorch.kernels.RBFKernel(ard_num_dims=D)
            self.covar_module = gpytorch.kernels.ScaleKernel(inner)
            inner.lengthscale, self.covar_module.outputscale = 3.0, 1.0

        def forward(self, rows: Any) -> Any:
            return gpytorch.distributions.MultivariateNormal(
                self.mean_module(rows), self.covar_module(rows)
            )

    likelihood = gpytorch.likelihoods.GaussianLikelihood()
    likelihood.noise = 0.1
    model = Exact(likelihood).double().train()
    evidence_of = gpytorch.mlls.ExactMarginalLogLikelihood(likelihood, model)
    search = torch.optim.LBFGS(model.parameters(), max_iter=100, line_search_fn="strong_wolfe")

    def loss() -> Any:
        search.zero_grad()
        value = -evidence_of(model(x), t)
        value.backward()
        watch.saw(-N * value.item())
        return value

    with gpytorch.settings.fast_computations(False, False, False):
        search.step(loss)


if __name__ == "__main__":
    main(measure)
