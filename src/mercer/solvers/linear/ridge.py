"""The solvers of ridge regression, as a table: what each needs, gives and takes, and how it runs.

`solve` runs one of them on a `RidgeTask`. A solver of your own is a function of such a task that
gives a `RidgeSolution`, entered with ``register_solver("ridge", Solver("mine", run))``.
"""

from __future__ import annotations

import math
from dataclasses import field, replace
from typing import Any

import numpy as np

from mercer._arrays import host
from mercer._lazy import record
from mercer._machine.threads import blas_for
from mercer._steps import listening, relayed
from mercer.gram import Gram
from mercer.kernels import Kernel
from mercer.maps.centers import uniform_centers
from mercer.solvers.linear import cg, exact, nystrom, pivoted, primal
from mercer.solvers.linear.matrix import matrix_bytes
from mercer.solvers.linear.panels import FeaturePanels, Panels, panels_of
from mercer.solvers.linear.problem import RidgePath, RidgeProblem, RidgeSolution
from mercer.solvers.linear.tridiagonal import tridiagonal_path
from mercer.solvers.requirements import Request, Size, Solver, choose, register_solver, solvers_for
from mercer.tuning import EXACT_ROWS, FEW_ON_PATH, FEW_PENALTIES, PIVOTED_ROWS


@record
class Options:
    n_centers: int | None = None
    preconditioner: str | None = "nystrom"
    tol: float = 1e-6
    max_iter: int = 1000
    random: np.random.RandomState = field(default_factory=lambda: np.random.RandomState(0))
    centers: Any = "uniform"


@record
class RidgeTask:
    """A problem, the Gram of its examples X, and the length of φ where it is finite.

    `path`: the penalties are a path that all targets share, and leave-one-out errors are wanted.
    """

    kernel: Kernel
    X: Any
    gram: Gram
    problem: RidgeProblem
    path: bool = False
    features: int | None = None
    options: Options = field(default_factory=Options)

    def request(self) -> Request:
        n, targets = self.problem.targets.shape
        alphas, options = self.problem.alphas, self.options
        m = nystrom.count_centers(n, options.n_centers, options.centers)
        size = Size(
            n,
            targets * (len(alphas) if self.path else 1),
            self.features or 0,
            m,
            self.gram.dtype.itemsize,
        )
        asks = {"loo": "alphas="} if self.path else {}
        distinct = len(self.problem.distinct)
        bare = bool((alphas == 0).any())
        return Request("ridge", self.gram, size, asks, self.features, distinct, self.path, bare)


def solve(task: RidgeTask, solver: str = "auto") -> tuple[RidgeSolution, Solver, str]:
    """Solve by the solver named, or by the one that fits best; gives also which it was, and why."""
    chosen, reason = choose(task.request(), solver)
    with blas_for(float(len(task.problem.targets)) ** 3):
        found = chosen.run(task)
    if found.instead is not None:
        name, why = found.instead
        chosen, reason = solvers_for("ridge")[name], f"{reason}; but {why}"
    return found, chosen, reason


# --- the solvers -----------------------------------------------------------------------------


def _cholesky(task: RidgeTask) -> RidgeSolution:
    if task.path:
        return RidgeSolution.of_path(exact.cholesky_path(task.gram, task.problem))
    return exact.cholesky(task.gram, task.problem)


def _eigh(task: RidgeTask) -> RidgeSolution:
    if not task.path:
        return exact.eigh(task.gram, task.problem)
    path = tridiagonal_path(task.gram, task.problem) or exact.eigh_path(task.gram, task.problem)
    return RidgeSolution.of_path(path)


def _primal(task: RidgeTask) -> RidgeSolution:
    problem = task.problem
    make = task.gram.solver("features", FeaturePanels)
    panels = make(task.kernel, host(task.X), len(problem.targets))
    if not task.gram.together:
        return _primal_of_pieces(task, panels)
    if not task.path:
        found = primal.ridge(panels, problem)
        left = problem.targets - panels.product(found.coef) - found.intercept
        return replace(
            found, coef=primal.dual(left, problem.alphas, problem.weights), primal=found.coef
        )
    path, left = primal.ridge_path(panels, problem)
    duals = primal.dual(left, path.alphas[:, None, None], problem.weights)
    dual_path = RidgePath(path.alphas, duals, path.intercept, path.loo)
    return RidgeSolution.of_path(dual_path, primal=path.coef)


def _primal_of_pieces(task: RidgeTask, panels: Panels) -> RidgeSolution:
    """w from sums; the same f over as many examples as span all features, and not over all.

    Φ_cᵀ a = w, c some examples drawn at random: twice as many as φ is long.
    """
    problem, random = task.problem, task.options.random
    n, m = panels.shape
    index = np.sort(uniform_centers(n, min(n, 2 * m + 10), random))
    rows = np.asarray(task.kernel.features(task.X[index]), dtype=np.float64)
    if not task.path:
        found = primal.ridge(panels, problem)
        coef = np.linalg.lstsq(rows.T, found.coef, rcond=None)[0]
        return replace(found, coef=coef, primal=found.coef, centers=index)
    path, _ = primal.ridge_path(panels, problem)
    flat = np.moveaxis(path.coef, 1, 0).reshape(m, -1)
    duals = np.linalg.lstsq(rows.T, flat, rcond=None)[0].reshape(len(index), *path.coef.shape[::2])
    dual_path = RidgePath(path.alphas, np.moveaxis(duals, 0, 1), path.intercept, path.loo)
    return RidgeSolution.of_path(dual_path, primal=path.coef, centers=index)


def _cg(task: RidgeTask) -> RidgeSolution:
    options = task.options
    return cg.ridge(
        task.gram,
        task.problem,
        preconditioner=options.preconditioner,
        tol=options.tol,
        max_iter=options.max_iter,
        random=options.random,
    )


def _nystrom(task: RidgeTask) -> RidgeSolution:
    options = task.options
    centers = nystrom.draw_centers(task.gram, options.n_centers, options.random, options.centers)
    if task.path:
        path = nystrom.ridge_path(centers, task.problem)
        return RidgeSolution.of_path(path, centers=centers.kept)
    with listening(None):  # its steps are in coordinates of their own
        return nystrom.ridge(centers, task.problem, tol=options.tol, max_iter=options.max_iter)


def _gradient(task: RidgeTask) -> RidgeSolution:
    from mercer.solvers.smooth.descent import gradient_descent
    from mercer.solvers.smooth.losses import Squares

    problem, options = task.problem, task.options
    if len(problem.distinct) > 1:
        raise ValueError("solver='gradient' takes one alpha for all targets")
    K = panels_of(task.gram)
    K.keep()
    loss = Squares(problem.targets, problem.weights).moved(K.asarray)
    limits: dict[str, Any] = {"tol": options.tol, "max_iter": options.max_iter}
    # The loss is half of the squares: steps report the whole objective.
    with relayed(lambda step: replace(step, objective=2 * step.objective)):
        found = gradient_descent(
            K, loss, float(problem.alphas[0]), intercept=problem.intercept, **limits
        )
    coef, b = host(found.coef), np.atleast_1d(host(found.intercept))
    return RidgeSolution(coef, b, found.n_iter, found.stopped, math.nan)


# --- when "auto" picks them ------------------------------------------------------------------


def _on_host(request: Request) -> bool:
    """An engine with a factorization of its own is for that; features are made on the host."""
    return request.gram.solver("factor", None) is None


def _exact_rows(request: Request) -> int:
    return request.gram.solver("exact rows", EXACT_ROWS)  # type: ignore[no-any-return]


def _pick_primal(request: Request) -> str:
    m, n = request.features, request.size.n
    if m is None or m >= n or not _on_host(request):
        return ""
    return f"φ has {m} features, fewer than the {n} examples"


def _pick_eigh(request: Request) -> str:
    n, count = request.size.n, request.penalties
    if request.unpenalized:
        return "without a penalty, eigenvectors give the least squares of least norm"
    if n > _exact_rows(request) or not _on_host(request):
        return ""
    few = FEW_ON_PATH if request.path else FEW_PENALTIES
    return f"{count} penalties share one decomposition of K" if count > few else ""


def _pick_pivoted(request: Request) -> str:
    n = request.size.n
    if not PIVOTED_ROWS <= n <= EXACT_ROWS or not _on_host(request):
        return ""
    return f"{n} examples may be represented by fewer columns of K"


def _pick_cholesky(request: Request) -> str:
    n, most = request.size.n, _exact_rows(request)
    if n > most:
        return ""
    if request.features is not None and n <= request.features:
        return f"{n} examples are no more than the {request.features} features of φ: the dual"
    return f"K fits into memory, and {n} examples are at most {most}"


def _pick_nystrom(request: Request) -> str:
    n, most = request.size.n, _exact_rows(request)
    if not request.gram.together:
        return "the rows are in pieces, and sums over them are all that it needs"
    if n > most:
        return f"{n} examples are more than {most}: an exact solution would take minutes"
    return "K does not fit into memory, or its rows are streamed"


def _matrices(count: int) -> Any:
    return lambda s: matrix_bytes(count, s.n, s.itemsize, s.targets)


def _target_bytes(s: Size) -> float:
    return 24 * s.n * (s.targets + 1)


_BOTH = frozenset({"loo", "std"})
for _solver in (
    Solver(
        "primal",
        _primal,
        "exact, M×M, for a finite φ of length M",
        frozenset({"features", "penalty"}),
        _BOTH,
        lambda s: 4 * 8 * s.features**2 + _target_bytes(s),
        "4 M×M",
        _pick_primal,
        "where M < N",
        "on the CPU, or in pieces",
    ),
    Solver(
        "eigh",
        _eigh,
        "exact, for many λ, three N×N arrays",
        frozenset({"together"}),
        _BOTH,
        # Divide and conquer works in two more matrices of the same size.
        bytes=_matrices(3),
        memory="3 N×N",
        pick=_pick_eigh,
        when=f"for λ = 0, more than {FEW_PENALTIES} λ, or more than {FEW_ON_PATH} on a path",
        where="on the CPU; K is computed where the data is",
    ),
    Solver(
        "pivoted",
        lambda task: pivoted.ridge(task.gram, task.problem),
        "exact, from some columns of K and products with it, or by Cholesky if sooner",
        frozenset({"together", "resident", "penalty", "psd"}),
        frozenset({"std"}),
        _matrices(2),
        "1 N×N, and at most half as much for the columns",
        _pick_pivoted,
        f"for N ≥ {PIVOTED_ROWS} where that fits into memory",
        "on the CPU",
    ),
    Solver(
        "cholesky",
        _cholesky,
        "exact, one N×N array",
        frozenset({"together", "resident", "penalty"}),
        _BOTH,
        _matrices(1),
        "1 N×N",
        _pick_cholesky,
        f"where K fits into the memory limit and N ≤ {EXACT_ROWS} (more on a GPU)",
    ),
    Solver(
        "nystrom",
        _nystrom,
        "f in the span of `n_centers` examples only",
        frozenset({"penalty"}),
        _BOTH,
        bytes=lambda s: nystrom.bytes_needed(s.centers) + _target_bytes(s),
        memory="4 M×M for M centers",
        pick=_pick_nystrom,
        when="otherwise",
        where="where the data is, streamed, or in pieces",
    ),
    Solver(
        "cg",
        _cg,
        "exact up to `tol`, by products with K only, for any N",
        frozenset({"penalty", "together"}),
        frozenset({"std"}),
        bytes=lambda s: 6 * 8 * s.n * (s.targets + 1),
        memory="a few N",
        where="products where the data is, or streamed",
    ),
    Solver(
        "gradient",
        _gradient,
        "a ← a − η(K(Ka + b − t) + λKa), b ← b − ηΣ(Ka + b − t), slow, for teaching",
        frozenset({"penalty", "together"}),
        bytes=_matrices(1),
        memory="1 N×N",
        where="where the data is, or streamed",
    ),
):
    register_solver("ridge", _solver)
