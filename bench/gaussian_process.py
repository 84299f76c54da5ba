"""A Gaussian process with one length per column, a factor and noise, learned on 3000 × 10.

Both start from the same numbers and end where L-BFGS does; the evidence they reach is in the note.
scikit-learn holds one matrix per length, here derivatives are sums over tiles, and the search
begins on 1000 of the rows. GPyTorch, where it is installed, takes the exact model of its first
tutorial with a length per column, by Cholesky factors (its default up to 800 rows is the same, its
approximations beyond are not), and PyTorch's L-BFGS until it stops by itself.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from _harness import Row, claim, faster, main, race, skipped
from sklearn.gaussian_process import GaussianProcessRegressor as Peer
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

from mercer import Gaussian, GaussianProcessRegressor
from mercer.gram.host import HostGram
from mercer.solvers.evidence.exact import evidence

N, D = 3000, 10


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
    begin = time.perf_counter()
    found = Peer(theirs).fit(X, y)
    other = time.perf_counter() - begin
    reached = (
        f"log p(y) {ours.log_marginal_likelihood_value_:.1f}, "
        f"scikit-learn {found.log_marginal_likelihood_value_:.1f}"
    )
    return [
        claim(
            "GP evidence and gradient, 3000 × 10, vs scikit-learn", once.ours, once.peer, faster(2)
        ),
        claim("  all 12 numbers learned", own, other, faster(5), reached),
        _beside_gpytorch(X, y, own),
    ]


def _beside_gpytorch(X: np.ndarray, y: np.ndarray, own: float) -> Row:
    name = "  all 12 numbers learned, vs GPyTorch"
    try:
        import gpytorch
    except ImportError:
        return skipped(name, faster(1), "GPyTorch is not installed")
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

    begin = time.perf_counter()
    likelihood = gpytorch.likelihoods.GaussianLikelihood()
    likelihood.noise = 0.1
    model = Exact(likelihood).double().train()
    evidence_of = gpytorch.mlls.ExactMarginalLogLikelihood(likelihood, model)
    search = torch.optim.LBFGS(model.parameters(), max_iter=100, line_search_fn="strong_wolfe")

    def loss() -> Any:
        search.zero_grad()
        value = -evidence_of(model(x), t)
        value.backward()
        return value

    with gpytorch.settings.fast_computations(False, False, False):
        search.step(loss)
        peer = time.perf_counter() - begin
        reached = -N * float(loss())
    return claim(name, own, peer, faster(1), f"log p(y) of GPyTorch {reached:.1f}")


if __name__ == "__main__":
    main(measure)
