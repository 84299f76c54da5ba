"""A Gaussian process with one length per column, a factor and noise, learned on 3000 × 10.

Both start from the same numbers and end where L-BFGS does; the evidence they reach is in the note.
scikit-learn holds one matrix per length, here derivatives are sums over tiles, and the search
begins on 1000 of the rows.
"""

from __future__ import annotations

import time

import numpy as np
from _harness import Row, claim, faster, main, race
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
    ]


if __name__ == "__main__":
    main(measure)
