"""`check_solver`: the protocol of a solver, and what it promises.

A solver is a plain function ``solve(gram, targets)`` (options bound beforehand, with a lambda or
`functools.partial`). It sees a square `Gram` and a vector of targets, and gives an object with
`coef`, one number per example, and perhaps `intercept`: f(x) = Σᵢ coefᵢ k(xᵢ, x) + intercept.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from mercer.gram import Gram, host_gram
from mercer.kernels import Gaussian, Kernel, Precomputed, as_kernel
from mercer.solvers.linear.problem import RidgeProblem
from mercer.solvers.linear.ridge import RidgeTask
from mercer.solvers.requirements import Solver
from mercer.testing.oracle import run


@dataclass(frozen=True)
class SolverCase:
    solve: Callable[[Gram, np.ndarray], Any]
    kernel: Kernel
    X: np.ndarray
    targets: np.ndarray
    residual: Callable[..., float] | None
    tolerance: float

    def values(self, gram: Gram, targets: np.ndarray) -> tuple[np.ndarray, Any]:
        """coef and intercept, looked at."""
        solution = self.solve(gram, targets)
        coef = np.asarray(solution.coef)
        assert coef.shape[:1] == targets.shape[:1], f"coef has shape {coef.shape}"
        assert coef.size == targets.size, f"coef has shape {coef.shape}"
        assert np.isfinite(coef).all(), "coef is not finite"
        intercept = np.asarray(getattr(solution, "intercept", 0.0), dtype=float)
        assert np.isfinite(intercept).all(), "intercept is not finite"
        return coef.reshape(len(targets)).astype(float), float(intercept.reshape(-1)[0])

    def predictions(self, gram: Gram, targets: np.ndarray, K: np.ndarray) -> np.ndarray:
        coef, intercept = self.values(gram, targets)
        return K @ coef + intercept


def check_solver(
    solve: Callable[[Gram, np.ndarray], Any] | Solver,
    *,
    kernel: Kernel | None = None,
    classes: bool = False,
    residual: Callable[[np.ndarray, np.ndarray, np.ndarray, Any], float] | None = None,
    ordered: bool = False,
    needs_rows: bool = False,
    tolerance: float = 1e-6,
) -> None:
    """Check what a solver promises: it changes nothing it is given and gives the same answer twice.

    It also sees the data through K only (unless it `needs_rows`), does not mind the order of the
    examples (unless it is `ordered`), and float32 leads to the same predictions.

    Parameters
    ----------
    solve : callable or Solver
        Takes a Gram and targets; gives an object with `coef`, and with `intercept` where it has
        one. Or what `register_solver` takes, for ridge regression.
    kernel : Kernel or None
        Of the Gram; None takes a Gaussian.
    classes : bool, default False
        Whether targets are −1 and 1.
    residual : callable or None
        Measures how far an answer is from optimal: ``residual(K, targets, coef, intercept)``.
    ordered : bool, default False
        Whether the order of the examples may matter, as for online algorithms.
    needs_rows : bool, default False
        Whether the solver looks at the rows and not only at K.
    tolerance : float, default 1e-6
        The largest residual.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> def ridge(gram, targets):
    ...     K = gram.dense()
    ...     return SimpleNamespace(coef=np.linalg.solve(K + np.eye(len(K)), targets))
    >>> check_solver(ridge, residual=lambda K, t, a, b: abs(K @ a + a - t).max())
    """
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 3))
    targets = np.sin(X[:, 0]) + 0.5 * X[:, 1] + 0.1 * rng.normal(size=len(X))
    if classes:
        targets = np.where(targets > np.median(targets), 1.0, -1.0)
    chosen = Gaussian(sigma=1.5) if kernel is None else kernel
    if isinstance(solve, Solver):
        solve = partial(_run, solve)
    case = SolverCase(solve, chosen, X, targets, residual, tolerance)
    checks: list[Callable[[SolverCase], None]] = [_check_answer, _check_repeatable, _check_single]
    checks += [] if needs_rows else [_check_only_gram]
    checks += [] if ordered else [_check_order]
    for check in checks:
        run(check, case)


def _run(solver: Solver, gram: Gram, targets: np.ndarray) -> Any:
    """What a solver of ridge regression gives at λ = 1."""
    problem = RidgeProblem(targets[:, None], np.ones(1))
    return solver.run(RidgeTask(as_kernel(gram.kernel), gram.points(), gram, problem))


def _check_answer(case: SolverCase) -> None:
    X, targets = case.X.copy(), case.targets.copy()
    coef, intercept = case.values(case.kernel.gram(X), targets)
    assert (targets == case.targets).all(), "the targets were changed"
    assert (X == case.X).all(), "the rows were changed"
    if case.residual is not None:
        error = float(case.residual(case.kernel(X), targets, coef, intercept))
        assert error <= case.tolerance, f"it is {error:.1e} from optimal"


def _check_repeatable(case: SolverCase) -> None:
    first = case.values(case.kernel.gram(case.X), case.targets)
    again = case.values(case.kernel.gram(case.X), case.targets)
    assert (first[0] == again[0]).all(), "coef differs the second time"
    assert first[1] == again[1], "the intercept differs the second time"


def _check_only_gram(case: SolverCase) -> None:
    K = case.kernel(case.X)
    expected = case.predictions(case.kernel.gram(case.X), case.targets, K)
    given = case.predictions(host_gram(Precomputed(), K), case.targets, K)
    error = np.abs(given - expected).max()
    assert error <= 10 * case.tolerance, f"given the matrix itself it is off by {error:.1e}"


def _check_order(case: SolverCase) -> None:
    shuffled = np.random.default_rng(1).permutation(len(case.X))
    K = case.kernel(case.X)
    expected = case.predictions(case.kernel.gram(case.X), case.targets, K)
    gram = case.kernel.gram(case.X[shuffled])
    other = case.predictions(gram, case.targets[shuffled], K[np.ix_(shuffled, shuffled)])
    error = np.abs(other - expected[shuffled]).max()
    assert error <= 10 * case.tolerance, f"another order of examples is off by {error:.1e}"


def _check_single(case: SolverCase) -> None:
    K = case.kernel(case.X)
    expected = case.predictions(case.kernel.gram(case.X), case.targets, K)
    single = case.kernel.gram(case.X.astype(np.float32))
    error = np.abs(case.predictions(single, case.targets.astype(np.float32), K) - expected).max()
    assert error <= max(1e-3, 10 * case.tolerance), f"float32 is off by {error:.1e}"
