"""Laplace's method: log p(y) of two classes with f ~ GP(0, k), by a Gaussian around the best f.

    log q(y) = −½ aᵀf − Σ log(1 + e^(−±f)) − ½ log|B|,    f = Ka,   B = I + W^½ K W^½

f minimizes the log-loss plus ½aᵀKa, which is logistic regression without an intercept and α = 1:
exact Newton steps find it, from 0 where there are few examples, else from where Newton's method of
this package, which factorizes less, has come. W is the curvature
of the loss there. The derivative in a parameter is Σ Vᵢⱼ ∂Kᵢⱼ/∂p, where V has a second part because
f moves with K (Rasmussen and Williams, Gaussian Processes for Machine Learning, 5.5.1).
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import LinAlgError
from scipy.special import expit

from mercer._lazy import record
from mercer._linalg import add_to_diagonal, cholesky, cholesky_solve, mirror, solve_lower
from mercer._machine.cholesky import invert
from mercer.gram import Gram, host_gram, weighted_slopes
from mercer.kernels import Precomputed
from mercer.solvers.evidence.exact import Evidence
from mercer.solvers.smooth.fit import minimize
from mercer.solvers.smooth.losses import Binary

#: How near to its minimum Newton's method takes the objective, relative; exact steps do the rest.
NEAR_GAIN = 1e-6
#: Exact steps end where f changes by less than this, relative to its size.
FIXED = 1e-11
LAPLACE_STEPS = 50
#: Examples up to which exact steps from 0 take less time (a tenth of it for 200).
FEW_TARGETS = 1000


@record
class Mode:
    """The best f at the examples, as f = Ka; `root` is W^½, `factor` the L of B = LLᵀ."""

    coef: np.ndarray
    values: np.ndarray
    root: np.ndarray
    factor: np.ndarray
    value: float

    def variance(self, rows: np.ndarray, own: np.ndarray) -> np.ndarray:
        """var f(x) = k(x, x) − k(x)ᵀ(K + W⁻¹)⁻¹k(x), for rows of k(x, xᵢ)."""
        inside = solve_lower(self.factor, (rows * self.root).T)
        return np.maximum(own - np.einsum("ij,ij->j", inside, inside), 0.0)


def mode(K: np.ndarray, y: np.ndarray) -> Mode:
    """The best f for classes y in {0, 1}, and log q(y).

    >>> import numpy as np
    >>> found = mode(np.eye(2), np.array([0.0, 1.0]))
    >>> found.values.round(4), round(found.value, 4)
    (array([-0.4011,  0.4011]), -1.4013)
    """
    found = _steps(K, y, np.zeros(len(y)), careful=True) if len(y) <= FEW_TARGETS else None
    if found is None:
        near = minimize(
            host_gram(Precomputed(), K),
            Binary(y),
            1.0,
            solver="newton",
            intercept=False,
            tol=NEAR_GAIN,
        )
        found = _steps(K, y, K @ near.coef[:, 0].astype(np.float64))
        assert found is not None
    return found


def _steps(K: np.ndarray, y: np.ndarray, f: np.ndarray, careful: bool = False) -> Mode | None:
    """Newton's method with full steps from f; if careful, None where one does not lead down."""
    loss = np.inf
    for _ in range(LAPLACE_STEPS):
        p = expit(f)
        root = np.sqrt(p * (1.0 - p))
        L = _factor(K, root)
        b = root**2 * f + (y - p)
        a = b - root * cholesky_solve(L, (root * (K @ b))[:, None])[:, 0]
        before, f = f, K @ a
        last, loss = (
            loss,
            0.5 * float(a @ f) + float(np.logaddexp(0.0, np.where(y > 0, -f, f)).sum()),
        )
        if np.abs(f - before).max() <= FIXED * (1.0 + np.abs(f).max()):
            break
        if careful and not loss <= last * (1.0 + FIXED):
            return None
    value = -loss - float(np.log(L.diagonal()).sum())
    return Mode(a, f, root, np.tril(L), value)


def _factor(K: np.ndarray, root: np.ndarray) -> np.ndarray:
    """L of I + W^½ K W^½ = LLᵀ."""
    B = root[:, None] * K * root
    add_to_diagonal(B, 1.0)
    L = cholesky(B)
    if L is None:
        raise LinAlgError("K has an eigenvalue below 0: k is no kernel")
    return np.asarray(L)


def laplace_evidence(gram: Gram, y: np.ndarray, slopes: bool = True) -> Evidence:
    """Σ log q over the columns of y (N, T), classes against the rest; and its derivatives."""
    K = gram.in_double()
    found = [mode(K, column) for column in y.T]
    value = sum(one.value for one in found)
    if not slopes:
        return Evidence(value)
    total = np.zeros_like(K)
    for one in found:
        total += _weights(K, one)
    return Evidence(value, weighted_slopes(gram, total))


def _weights(K: np.ndarray, at: Mode) -> np.ndarray:
    """V: ½(aaᵀ − R) for a fixed f, and ½(uaᵀ + auᵀ) for what f does when K changes."""
    inverse = np.array(at.factor)
    invert(inverse, lower=0)
    R = at.root[:, None] * mirror(inverse.T) * at.root
    p = expit(at.values)
    # How −½ log|B| moves with f: half the posterior variance times the slope of the curvature.
    inside = K.diagonal() - np.einsum("ij,ij->i", K @ R, K)
    s = -0.5 * inside * p * (1.0 - p) * (1.0 - 2.0 * p)
    u = s - R @ (K @ s)
    return np.asarray(0.5 * (np.outer(at.coef + u, at.coef) + np.outer(at.coef, u) - R))
