"""Which ridge solver, and what it takes: size, path and memory decide."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._arrays import host
from mercer.gram.base import Gram
from mercer.kernels import Kernel
from mercer.solvers.band import path as ridge_band
from mercer.solvers.linear import cg, nystrom, primal
from mercer.solvers.linear import exact as ridge_exact
from mercer.solvers.linear.normal_equations import FeaturePanels
from mercer.solvers.requirements import Size, check_fits, fits, limit_of

SOLVERS = ("auto", "cholesky", "eigh", "primal", "cg", "nystrom")
#: Beyond so many rows an exact solution takes minutes: "auto" goes on with centres.
EXACT_ROWS = 20_000
EXACT_ROWS_DEVICE = 80_000
#: From so many penalties on, one eigendecomposition is cheaper than Cholesky for each.
MANY = 12
#: The same for a path of enough rows, which needs no more than a band.
MANY_BAND = 6


@dataclass(frozen=True)
class Task:
    """One ridge problem: `alphas` one for each target, or a path that all targets share."""

    kernel: Kernel
    X: Any
    gram: Gram
    targets: np.ndarray
    alphas: np.ndarray
    path: bool
    weights: np.ndarray | None
    intercept: bool
    features: int | None  # the length of φ where it is finite

    def size(self, centers: int | None = None) -> Size:
        n, t = self.targets.shape
        t *= len(self.alphas) if self.path else 1
        columns = self.features or n
        if centers is not None:
            columns = min(n, centers)
        return Size(n, t, columns, self.gram.dtype.itemsize)


@dataclass(frozen=True)
class Found:
    """What a solver gives: coefficients of all examples, of centres, or of features."""

    coef: np.ndarray
    intercept: np.ndarray
    solver: str
    path: ridge_exact.RidgePath | None = None
    centers: np.ndarray | None = None
    primal: np.ndarray | None = None
    n_iter: int = 1
    stopped: str = ""
    residual: float = 0.0


@dataclass(frozen=True)
class Options:
    n_centers: int | None
    preconditioner: str | None
    tol: float
    max_iter: int
    random: np.random.RandomState


def choose(task: Task, options: Options) -> str:
    """primal where M < N; exact where it fits and does not take minutes; centres otherwise."""
    n, limit = len(task.targets), limit_of(task.gram)
    if task.gram.engine != "cpu":
        # A device is for products and factorisations: features are made on the host.
        exact = n <= EXACT_ROWS_DEVICE and task.gram.resident
        exact = exact and fits("cholesky", task.size(), limit)
        return "cholesky" if exact else "nystrom"
    if task.features is not None and task.features < n and fits("primal", task.size(), limit):
        return "primal"
    if n <= EXACT_ROWS:
        count = len(np.unique(task.alphas))
        band = task.path and n >= ridge_band.ENOUGH_ROWS
        if count > (MANY_BAND if band else MANY) and fits("eigh", task.size(), limit):
            return "eigh"
        if fits("cholesky", task.size(), limit):
            return "cholesky"
    return "nystrom"


def solve(task: Task, solver: str, options: Options) -> Found:
    """By the solver named, or the one chosen; the error names what is missing and what works."""
    name = choose(task, options) if solver == "auto" else solver
    if name == "cg" and task.path:
        raise ValueError(
            "solver='cg' has no leave-one-out errors, which alphas= needs; 'cholesky', 'eigh', "
            "'primal' and 'nystrom' have"
        )
    if name == "primal" and task.features is None:
        raise ValueError(
            f"solver='primal' needs a finite feature map, and none is known for {task.kernel!r}; "
            "'cholesky', 'eigh', 'cg' and 'nystrom' work with any kernel"
        )
    centers = options.n_centers
    if name == "nystrom" and centers is None:
        centers = nystrom.default_count(len(task.targets))
    limit = limit_of(task.gram)
    others = ("nystrom",) if task.path else ("cg", "nystrom")
    if task.features is not None and name != "primal":
        others = ("primal", *others)
    size = task.size(centers) if name == "nystrom" else task.size()
    alternatives = Size(size.n, size.targets, min(size.columns, 1000), size.itemsize)
    check_fits(
        name, size, tuple(o for o in others if o == "cg" or fits(o, alternatives, limit)), limit
    )
    return _RUN[name](task, options)


def _exact(task: Task, options: Options, name: str) -> Found:
    arguments = (task.gram, task.targets, task.alphas, task.weights, task.intercept)
    if task.path:
        path = ridge_band.band_path(*arguments) if name == "eigh" else None
        if path is None:
            run = ridge_exact.eigh_path if name == "eigh" else ridge_exact.cholesky_path
            path = run(*arguments)
        return Found(path.coef[0], path.intercept[0], name, path)
    solution = (ridge_exact.eigh if name == "eigh" else ridge_exact.cholesky)(*arguments)
    return Found(solution.coef, solution.intercept, name)


def _primal(task: Task, options: Options) -> Found:
    panels = FeaturePanels(task.kernel, host(task.X), len(task.targets))
    arguments = (panels, task.targets, task.alphas, task.weights, task.intercept)
    if not task.path:
        solution = primal.ridge(*arguments)
        left = primal.residuals(panels, task.targets, solution)
        dual = primal.dual(left, task.alphas, task.weights)
        return Found(dual, solution.intercept, "primal", primal=solution.coef)
    path, left = primal.ridge_path(*arguments)
    duals = primal.dual(left, path.alphas[:, None, None], task.weights)
    dual_path = ridge_exact.RidgePath(path.alphas, duals, path.intercept, path.loo)
    return Found(duals[0], path.intercept[0], "primal", dual_path, primal=path.coef)


def _cg(task: Task, options: Options) -> Found:
    run = cg.ridge(
        task.gram,
        task.targets,
        task.alphas,
        task.weights,
        task.intercept,
        preconditioner=options.preconditioner,
        tol=options.tol,
        max_iter=options.max_iter,
        random=options.random,
    )
    return Found(
        run.coef, run.intercept, "cg", n_iter=run.n_iter, stopped=run.stopped, residual=run.residual
    )


def _nystrom(task: Task, options: Options) -> Found:
    centers = nystrom.draw_centers(task.gram, options.n_centers, options.random)
    arguments = (centers, task.targets, task.alphas, task.weights, task.intercept)
    if task.path:
        path = nystrom.ridge_path(*arguments)
        return Found(path.coef[0], path.intercept[0], "nystrom", path, centers.positions)
    solution = nystrom.ridge(*arguments, tol=options.tol, max_iter=options.max_iter)
    return Found(
        solution.coef,
        solution.intercept,
        "nystrom",
        centers=centers.positions,
        n_iter=solution.n_iter,
    )


_RUN = {
    "cholesky": lambda task, options: _exact(task, options, "cholesky"),
    "eigh": lambda task, options: _exact(task, options, "eigh"),
    "primal": _primal,
    "cg": _cg,
    "nystrom": _nystrom,
}

__all__ = ["MANY", "SOLVERS", "Found", "Options", "Task", "choose", "solve"]
