"""KernelPCA, 20 components of 10 000 × 784, against scikit-learn's fastest `eigen_solver`.

The digits of MNIST where they are at hand, else images of the same size: sums of blurred patterns,
as bytes. scikit-learn's "dense" takes minutes here and is left out. Both sides find the eigenvalues
to the digits of the precision; the note has the largest difference relative to the first.
"""

from __future__ import annotations

import numpy as np
from _harness import Row, claim, faster, main, race, timed
from _svc import mnist
from sklearn.decomposition import KernelPCA as Peer

from mercer.kernels import Gaussian
from mercer.learners import KernelPCA

N, D, COMPONENTS, GAMMA = 10_000, 784, 20, 0.02


def images() -> tuple[np.ndarray, str]:
    """Pixels in [0, 1] and where they are from."""
    digits = mnist(N)
    if digits is not None:  # in double precision, k/255 is not what single precision makes of it
        return np.rint(digits[0].astype(float) * 255) / 255, "MNIST"
    rng = np.random.default_rng(0)
    patterns = rng.normal(size=(20, D))
    shades = 255 / (1 + np.exp(1 - rng.normal(size=(N, 20)) @ patterns / 3))
    return np.where(shades < 100, 0, np.floor(shades)) / 255, "made images"


def one(X: np.ndarray, source: str) -> Row:
    def peer(solver: str) -> Peer:
        options = {"gamma": GAMMA, "eigen_solver": solver, "random_state": 0, "copy_X": False}
        return Peer(COMPONENTS, kernel="rbf", **options).fit(X)

    best = min(("arpack", "randomized"), key=lambda solver: timed(lambda: peer(solver)))
    kernel = Gaussian.from_gamma(GAMMA)
    fit = race(lambda: KernelPCA(kernel, COMPONENTS).fit(X), lambda: peer(best), rounds=2)
    ours, theirs = KernelPCA(kernel, COMPONENTS).fit(X).eigenvalues_, peer("arpack").eigenvalues_
    gap = float(np.abs(ours - theirs).max() / theirs[0])
    assert gap < {"float32": 1e-5, "float64": 1e-8}[X.dtype.name], gap
    name = f"KernelPCA 10 000 × 784, 20 components, {X.dtype.name}: fit"
    note = f"{source}, eigen_solver {best!r}; eigenvalues differ by {gap:.1e}; {fit.note}"
    return claim(name, fit.ours, fit.peer, faster(4), note)


def measure() -> list[Row]:
    X, source = images()
    return [one(X.astype(dtype), source) for dtype in (np.float32, np.float64)]


if __name__ == "__main__":
    main(measure)
