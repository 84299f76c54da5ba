"""Any smooth loss of f = Σ aᵢ k(xᵢ, ·) + b, minimized: the table of solvers, and `minimize`.

A solver of your own is a function of a `SmoothTask` that gives a `SmoothSolution`, entered with
``register_solver("logistic", Solver("mine", run))``.
"""

from __future__ import annotations

from dataclasses import field, replace
from typing import Any

import numpy as np

from mercer._arrays import host
from mercer._lazy import record
from mercer._machine.threads import blas_for
from mercer._steps import relayed
from mercer.gram import Gram
from mercer.solvers.linear.nystrom import count_centers, draw_centers
from mercer.solvers.linear.panels import panels_of
from mercer.solvers.requirements import Request, Size, Solver, choose, register_solver
from mercer.solvers.smooth.descent import gradient_descent
from mercer.solvers.smooth.losses import SmoothLoss
from mercer.solvers.smooth.newton import SmoothSolution, newton
from mercer.solvers.smooth.spaces import CenterSpan, Span
from mercer.tuning import EXACT_ROWS


@record
class SmoothTask:
    """min Σ wᵢ ℓ(yᵢ, f(xᵢ) + b) + (α/2)‖f‖²; `max_iter` None leaves it to the solver."""

    gram: Gram
    loss: SmoothLoss
    alpha: float
    intercept: bool = True
    tol: float = 1e-4
    max_iter: int | None = None
    n_centers: int | None = None
    centers: Any = "uniform"
    learning_rate: float | None = None
    random: np.random.RandomState = field(default_factory=lambda: np.random.RandomState(0))

    def options(self, steps: int) -> dict[str, Any]:
        most = steps if self.max_iter is None else self.max_iter
        return {"intercept": self.intercept, "tol": self.tol, "max_iter": most}


def minimize(
    gram: Gram, loss: SmoothLoss, alpha: float, *, solver: str = "auto", **options: Any
) -> SmoothSolution:
    """f and b of the least penalized loss; `options` are the other fields of `SmoothTask`.

    >>> import numpy as np
    >>> from mercer import Linear
    >>> from mercer.solvers.smooth import Binary, minimize
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> found = minimize(Linear().gram(X), Binary([0, 0, 1, 1]), alpha=0.1, tol=1e-8)
    >>> found.coef.round(3).ravel(), found.intercept.round(3)
    (array([-0.184, -2.099,  2.099,  0.184]), array([-3.977]))
    >>> found.solver, found.reason
    ('newton', '4 examples are at most 20000')
    """
    task = SmoothTask(gram, loss, alpha, **options)
    n = gram.shape[0]
    if gram.together and loss.value(np.zeros((n, loss.columns))) < 0:
        raise ValueError(f"{type(loss).__name__} is negative at f = 0; a loss must be at least 0")
    size = Size(
        n,
        loss.columns,
        centers=count_centers(n, task.n_centers, task.centers),
        itemsize=gram.dtype.itemsize,
    )
    chosen, reason = choose(Request("logistic", gram, size), solver)
    with blas_for(float(n) ** 3):  # where others have the cores, its threads wait for one another
        found = chosen.run(task)
    return replace(
        found,
        coef=host(found.coef),
        intercept=np.asarray(host(found.intercept)),
        solver=chosen.name,
        reason=reason,
    )


# --- the solvers -----------------------------------------------------------------------------


def _newton(task: SmoothTask) -> SmoothSolution:
    space = Span(task.gram, task.random)
    return newton(space, task.loss.moved(space.asarray), task.alpha, **task.options(100))


def _nystrom(task: SmoothTask) -> SmoothSolution:
    centers = draw_centers(task.gram, task.n_centers, task.random, how=task.centers)
    space, system = CenterSpan(centers, task.random), task.gram.solver("newton", None)
    loss = task.loss.moved(space.asarray)
    with relayed(lambda step: replace(step, coef=space.expansion(step.coef))):
        found = newton(space, loss, task.alpha, system=system, **task.options(100))
    return replace(found, coef=space.expansion(found.coef), centers=centers.kept)


def _gradient(task: SmoothTask) -> SmoothSolution:
    K = panels_of(task.gram)
    K.keep()
    loss, rate = task.loss.moved(K.asarray), task.learning_rate
    return gradient_descent(K, loss, task.alpha, learning_rate=rate, **task.options(1000))


def _pick_newton(request: Request) -> str:
    n = request.size.n
    return f"{n} examples are at most {EXACT_ROWS}" if n <= EXACT_ROWS else ""


def _pick_nystrom(request: Request) -> str:
    n = request.size.n
    if n > EXACT_ROWS:
        return f"{n} examples are more than {EXACT_ROWS}"
    return "the rows are streamed, or in pieces"


for _solver in (
    Solver(
        "newton",
        _newton,
        "exact, by products with K, which is kept where it fits",
        frozenset({"resident", "together"}),
        memory="1 N×N, or a few N",
        pick=_pick_newton,
        when=f"for N ≤ {EXACT_ROWS}",
    ),
    Solver(
        "nystrom",
        _nystrom,
        "the same in the span of `n_centers` examples",
        # Negative eigenvalues among the centers are found when they are factorized.
        memory="4 M×M for M centers",
        pick=_pick_nystrom,
        when="otherwise",
        where="where the data is, streamed, or in pieces",
    ),
    Solver(
        "gradient",
        _gradient,
        "the lecture's rule, a ← a − η(K(p − y) + αKa), w₀ ← w₀ − ηΣ(p − y), slow, for teaching",
        frozenset({"together"}),
        memory="1 N×N, or a few N",
        where="where the data is, or streamed",
    ),
):
    register_solver("logistic", _solver)
