"""Parameters of k by descent: on the evidence of the data, or on the leave-one-out error.

With A = K + αI, a = A⁻¹t and ∂K the derivative of K in a parameter (`Gram.grad`):

    −log p(t) = ½ tᵀa + ½ log|A| + (N/2) log 2π        ∂ = ½ tr((A⁻¹ − aaᵀ) ∂K)
    LOO       = mean of (aᵢ / (A⁻¹)ᵢᵢ)²                ∂a = −A⁻¹ ∂K a,  ∂A⁻¹ = −A⁻¹ ∂K A⁻¹

The same lines run on arrays and on tensors that live on a GPU.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from scipy.optimize import minimize

from mercer._arrays import host, is_tensor
from mercer._config import show_bytes
from mercer._progress import progress
from mercer.formula.nodes import ROOT
from mercer.gram import make_gram
from mercer.kernels import Kernel, as_kernel

#: N×N arrays that are alive at once.
ARRAYS: Final = 4
#: A step moves no logarithm of a parameter by more than this, seen from the start.
REACH = math.log(1e6)


@dataclass(frozen=True)
class Learnt:
    """The kernel and the noise at the end of the descent; `history` has the criterion's values.

    Parameters
    ----------
    kernel : Kernel
        With the numbers that were found.
    alpha : float
        The noise variance.
    value : float
        The criterion at the end.
    history : tuple of float
        The criterion after each step.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import selection
    >>> x = np.linspace(0, 6, 20)[:, None]
    >>> found = selection.learn_parameters("gaussian(1)", x, np.sin(x[:, 0]), alpha=0.1)
    >>> found.history[-1] <= found.history[0]
    True
    """

    kernel: Kernel
    alpha: float
    value: float
    history: tuple[float, ...]


def scalar_parameters(kernel: Kernel) -> dict[str, float]:
    """The numbers in k that it can be differentiated by, named as in `get_params`."""
    values = kernel.get_params(deep=True)
    names = dict.fromkeys(n.value[0] for n in kernel.lower(ROOT).walk() if n.op == "param")
    return {name: float(values[name]) for name in names}


def criterion(
    kernel: Any, X: Any, y: Any, alpha: float, names: list[str], by: str = "evidence"
) -> tuple[float, dict[str, float]]:
    """The value, and its derivative in each named parameter and in "alpha".

    >>> import numpy as np
    >>> X, t = np.array([[0.0], [1.0], [2.0]]), np.array([0.0, 1.0, 0.0])
    >>> value, slope = criterion("gaussian(1)", X, t, 0.1, ["sigma"])
    >>> round(value, 4), round(slope["sigma"], 4)
    (3.4936, 0.8445)
    """
    gram = make_gram(as_kernel(kernel), X)
    n = gram.shape[0]
    need, limit = ARRAYS * 8 * n * n, gram.limit_bytes
    if need > limit:
        raise MemoryError(
            f"descent on {n} examples needs {show_bytes(need)} for {ARRAYS} matrices, but the "
            f"memory limit is {show_bytes(limit)}: learn from a sample of "
            f"{int(math.sqrt(limit / (8 * ARRAYS)))} examples"
        )
    A: Any = gram.dense()
    A = A.double() if is_tensor(A) else A.astype(np.float64)
    t = _like(host(y), A)
    t = t if t.ndim == 2 else t[:, None]
    inverse, half_log = _inverse(A, alpha)
    a = inverse @ t
    if by == "evidence":
        outputs = t.shape[1]
        value = 0.5 * float((t * a).sum()) + outputs * (half_log + 0.5 * n * math.log(2 * math.pi))
        weights = 0.5 * (outputs * inverse - a @ a.T)
        slope = {name: float((weights * gram.grad(name).dense()).sum()) for name in names}
        return value, {**slope, "alpha": float(weights.trace())}
    d = inverse.diagonal()[:, None]
    residual = a / d
    slope = {}
    for name in [*names, "alpha"]:
        Z = inverse if name == "alpha" else inverse @ _like(gram.grad(name).dense(), A)
        change = -(Z @ a) / d + a * (Z * inverse).sum(1)[:, None] / d**2
        slope[name] = 2.0 * float((residual * change).mean())
    return float((residual**2).mean()), slope


def learn_parameters(
    kernel: Any,
    X: Any,
    y: Any,
    *,
    alpha: float = 1.0,
    names: list[str] | None = None,
    by: str = "evidence",
    learn_alpha: bool = True,
    max_iter: int = 50,
) -> Learnt:
    """Descend from the parameters that k has, in their logarithms where they are positive.

    Parameters
    ----------
    kernel : Kernel or expression
        With the numbers from which the descent begins.
    X : array, or tensor on a GPU
        The examples; the work is done where they are.
    y : array or tensor
        Their targets.
    alpha : float
        Where the noise variance α starts (and stays, without `learn_alpha`).
    names : list of str or None
        Which parameters; None takes all numbers that k can be differentiated by.
    by : {"evidence", "loo"}, default "evidence"
        What is minimized: the negative evidence of a Gaussian process, or the leave-one-out error.
    learn_alpha : bool, default True
        Whether the noise variance is learned, too.
    max_iter : int, default 50
        Steps at most.

    Returns
    -------
    Learnt
        The kernel, the noise, and the values on the way.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.linspace(0, 6, 40)[:, None]
    >>> found = learn_parameters("gaussian(0.1)", x, np.sin(x[:, 0]), alpha=0.1)
    >>> 0.8 < found.kernel.sigma < 4.0, found.alpha < 1e-3
    (True, True)
    """
    start = _Start(as_kernel(kernel), names, alpha if learn_alpha else None)
    if by not in ("evidence", "loo"):
        raise ValueError(f"by must be 'evidence' or 'loo', not {by!r}")
    if not alpha > 0:
        raise ValueError(f"alpha must be positive, not {alpha!r}: it is the variance of the noise")
    target = np.asarray(host(y), dtype=np.float64)
    target = target if target.ndim == 2 else target[:, None]
    history: list[float] = []

    def value_and_slope(u: np.ndarray) -> tuple[float, np.ndarray]:
        try:
            here, noise = start.at(u)
            value, slope = criterion(here, X, target, noise or alpha, start.names, by)
        except (ArithmeticError, np.linalg.LinAlgError, ValueError):
            return 1e300, np.zeros(len(u))  # beyond what can be computed: no way to go
        return value, start.slope(u, slope)

    with progress("descent", None) as bar:

        def note(intermediate_result: Any) -> None:
            history.append(float(intermediate_result.fun))
            bar.advance(note=f"{by} {history[-1]:.6g}")

        run = minimize(
            value_and_slope, start.first, jac=True, method="L-BFGS-B", bounds=start.bounds(),
            callback=note, options={"maxiter": max_iter},
        )  # fmt: skip
    best, noise = start.at(run.x)
    return Learnt(best, noise or alpha, float(run.fun), tuple(history))


class _Start:
    """Parameters of k, and α where it is learned, as coordinates: logarithms of positive ones."""

    def __init__(self, kernel: Kernel, names: list[str] | None, alpha: float | None) -> None:
        known = scalar_parameters(kernel)
        self.kernel, self.names = kernel, list(known if names is None else names)
        strange = [name for name in self.names if name not in known]
        if strange:
            raise ValueError(
                f"{kernel!r} has no scalar parameter {strange[0]!r}; it has {sorted(known)}"
            )
        self.noise = [] if alpha is None else ["alpha"]
        values = np.array([known[name] for name in self.names] + [alpha] * len(self.noise))
        self.logs = values > 0
        self.first = np.where(self.logs, np.log(np.where(self.logs, values, 1.0)), values)

    def bounds(self) -> list[tuple[float | None, float | None]]:
        pairs = zip(self.first, self.logs, strict=True)
        return [(f - REACH, f + REACH) if log else (None, None) for f, log in pairs]

    def at(self, u: np.ndarray) -> tuple[Kernel, float | None]:
        """The kernel, and α where it is learned, at these coordinates."""
        values = np.where(self.logs, np.exp(np.where(self.logs, u, 0.0)), u)
        here = self.kernel.set_params(**dict(zip(self.names, map(float, values), strict=False)))
        return here, float(values[-1]) if self.noise else None

    def slope(self, u: np.ndarray, by_name: dict[str, float]) -> np.ndarray:
        """The derivatives in these coordinates, from those in the parameters."""
        slope = np.array([by_name[name] for name in (*self.names, *self.noise)])
        return slope * np.where(self.logs, np.exp(np.where(self.logs, u, 0.0)), 1.0)


def _like(values: Any, A: Any) -> Any:
    """In double precision, on the device of A."""
    if is_tensor(A):
        import torch

        return torch.as_tensor(values, device=A.device).double()
    return np.asarray(values, dtype=np.float64)


def _inverse(A: Any, alpha: float) -> tuple[Any, float]:
    """(A + αI)⁻¹ and ½ log|A + αI|, by Cholesky; A is overwritten."""
    if is_tensor(A):
        import torch

        A.diagonal().add_(alpha)
        L = torch.linalg.cholesky(A)
        return torch.cholesky_inverse(L), float(L.diagonal().log().sum())
    from scipy.linalg import cholesky
    from scipy.linalg.lapack import dpotri

    A.flat[:: len(A) + 1] += alpha
    L = cholesky(A, lower=True, overwrite_a=True, check_finite=False)
    half = float(np.log(L.diagonal()).sum())
    inverse, _ = dpotri(L, lower=1)
    return np.tril(inverse) + np.tril(inverse, -1).T, half
