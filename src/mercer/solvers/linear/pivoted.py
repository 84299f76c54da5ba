"""(SKS + λI) C = B from some columns of K and some products with it, where that is less work than
a Cholesky factor of all of it: K is nearly of low rank, has equal rows, or λ is large.

    K = FFᵀ + E,  E ≥ 0     F: N×r, a pivoted Cholesky of K that stops early; diag(E) is known
    P = S FFᵀ S + λI        P⁻¹ takes 4Nr operations

P ≤ SKS + λI ≤ (1 + trace(SES)/λ) P, so that conjugate gradients with P⁻¹ shrink the error by a
fixed share at every step, however badly SKS + λI itself is conditioned, and two steps are enough
where the trace is far below λ. They end at a residual of `tol`: then C = Sa is as if B had been
changed by that share, f at the examples is wrong by at most tol‖B‖, and a by tol‖B‖/λ.

Whether this pays is found out on the way: columns are added as long as they save more steps than
they cost, and where steps take longer than a factorization would, that is made of SKS instead.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

import mercer.tuning as tuning
from mercer._arrays import host
from mercer._lazy import record
from mercer._linalg import add_to_diagonal, cholesky, cholesky_solve
from mercer._machine.threads import single_threaded_blas
from mercer._steps import listening
from mercer.gram import Gram
from mercer.maps.centers import pivoted_cholesky
from mercer.solvers.linear import exact
from mercer.solvers.linear.blas import (
    mirror_beside_diagonal,
    symmetric_times,
    times,
    transposed_times,
)
from mercer.solvers.linear.iterations import NotDefinite, conjugate_gradients
from mercer.solvers.linear.matrix import scaled_matrix
from mercer.solvers.linear.problem import RidgeProblem, RidgeSolution


def ridge(gram: Gram, problem: RidgeProblem) -> RidgeSolution:
    """Solve by conjugate gradients, or by a Cholesky factor where they would take longer."""
    least, scale = float(problem.alphas.min()), problem.scale
    itemsize, n = gram.dtype.itemsize, gram.shape[0]
    budget = _Budget(n, itemsize, problem.targets.shape[1] + int(problem.intercept))
    diagonal = host(gram.diagonal()).astype(np.float64) * problem.s**2
    if not gram.symmetric:
        return _factorized(gram, problem, "k(x, z) need not be k(z, x)")
    unsure = float(diagonal.sum()) / least * float(np.finfo(gram.dtype).eps)
    if not unsure <= tuning.PIVOTED_CONDITION[itemsize]:
        return _factorized(gram, problem, "K + λI is badly conditioned")
    F, trace = _columns(gram, scale, least, budget)
    if expected_steps(trace / least, itemsize) > budget.steps(F.shape[1]):
        return _factorized(gram, problem, "K is far from any matrix of low rank")
    A = scaled_matrix(gram, scale, triangle=True)
    if budget.targets > tuning.SYMV_COLUMNS or itemsize == 4:
        mirror_beside_diagonal(A)
    system = _System(A, F, budget)
    try:
        # Steps know nothing of weights and intercepts. BLAS has one thread: others would be waiting
        # busily between the steps, and still when the model is asked.
        with listening(None), single_threaded_blas():
            solution = exact.for_each_alpha(
                lambda alpha, which: exact.solved_by(system.at(alpha), problem, which),
                problem,
                gram.dtype,
            )
    except (_Slow, NotDefinite) as error:
        why = "conjugate gradients would take longer"
        if isinstance(error, NotDefinite):
            why = "K is not positive definite"
        return _factorized(gram, problem, why, A)
    return replace(solution, n_iter=system.n_iter)


def _factorized(
    gram: Gram, problem: RidgeProblem, why: str, A: np.ndarray | None = None
) -> RidgeSolution:
    return replace(exact.cholesky(gram, problem, A), instead=("cholesky", why))


def expected_steps(ratio: float, itemsize: int) -> float:
    """Steps to a residual of `tuning.PIVOTED_RESIDUAL` for trace(E)/λ.

    Of 30 problems of all kinds half took between 0.8 and 1.25 times as many, and none twice.
    """
    digits, of_double = (math.log(tuning.PIVOTED_RESIDUAL[size]) for size in (itemsize, 8))
    return (3.0 + 3.0 * ratio**0.3) * digits / of_double


@record
class _Budget:
    """Seconds, as far as sizes tell them, of a factorization and of a step with r columns."""

    n: int
    itemsize: int
    targets: int

    def factor(self) -> float:
        moved = tuning.FACTOR_BYTES[self.itemsize] * self.n**2 / tuning.MEMORY_BYTES
        return self.n**3 / (3 * tuning.FACTOR_FLOPS) + moved

    def step(self, r: int) -> float:
        n, t, triangle = self.n, self.targets, self.n * self.n * self.itemsize / 2
        columns = 2.0 * n * r * (self.itemsize + t - 1) / tuning.VECTOR_BYTES + tuning.STEP_SECONDS
        if t <= tuning.SYMV_COLUMNS and self.itemsize == 8:
            return columns + t * triangle / tuning.VECTOR_BYTES
        return columns + triangle / tuning.MEMORY_BYTES + 2.0 * n * n * t / tuning.FACTOR_FLOPS

    def columns(self, r: int, more: int) -> float:
        """Seconds of adding `more` to r columns."""
        return 4.0 * self.n * (r + more) * more / tuning.COLUMN_FLOPS

    def steps(self, r: int) -> int:
        """Return how many steps may be taken before a factor is sooner."""
        return math.ceil(self.factor() / self.step(r))


def _columns(
    gram: Gram, scale: np.ndarray | None, shift: float, budget: _Budget
) -> tuple[np.ndarray, float]:
    """SF and trace(SES), with as many columns as save more steps than they cost."""
    n, size = gram.shape[0], gram.dtype.itemsize
    weights = np.ones(n) if scale is None else np.square(scale)
    # Answers do not depend on which examples these are, so the same are drawn every time.
    random = np.random.RandomState(0)
    before = math.inf

    def pick(rest: np.ndarray, count: int) -> np.ndarray:
        share = rest * weights
        total = share.sum()
        return random.choice(n, count, p=share / total if total > 0 else None)

    def enough(rest: np.ndarray, r: int) -> bool:
        nonlocal before
        ratio = float(rest @ weights) / shift
        # The trace is expected to fall as much as it did last time.
        expected = ratio * min(1.0, ratio / before) if r > tuning.PIVOTED_COLUMNS else ratio / 4
        before = ratio
        steps, then = expected_steps(ratio, size), expected_steps(expected, size)
        pays = (steps - then) * budget.step(r) > budget.columns(r, tuning.PIVOTED_COLUMNS)
        return r > 0 and not (pays and then <= budget.steps(r))

    chosen = pivoted_cholesky(
        gram, int(tuning.PIVOTED_SHARE * n), pick, tuning.PIVOTED_COLUMNS, enough
    )
    assert chosen.rest is not None
    F = chosen.F if scale is None else scale[:, None].astype(chosen.F.dtype) * chosen.F
    return F, float(chosen.rest @ weights)


class _Slow(ArithmeticError):
    """Conjugate gradients would take longer than a factorization, or do not converge."""


class _System:
    """(SKS + λI)⁻¹ as an operator, for the λ that `at` set last; SKS in the upper triangle of A."""

    shift: float
    norm: float
    L: np.ndarray

    def __init__(self, A: np.ndarray, F: np.ndarray, budget: _Budget) -> None:
        self.A, self.F, self.n_iter, self.most = A, F, 0, budget.steps(F.shape[1])
        with single_threaded_blas():
            self.squares = transposed_times(F, F)

    def at(self, shift: float) -> _System:
        inner = self.squares.copy()
        self.shift, self.norm = shift, float(np.linalg.norm(inner)) + shift
        add_to_diagonal(inner, shift)
        L = cholesky(inner)
        if L is None:
            raise _Slow
        self.L = L
        return self

    def solve(self, B: np.ndarray) -> np.ndarray:
        dtype = self.A.dtype
        tol, unit = tuning.PIVOTED_RESIDUAL[dtype.itemsize], float(np.finfo(dtype).eps)
        X, left = np.zeros(B.shape), np.asarray(B, dtype=np.float64)
        size = _norms(left)
        goal = tol * size
        for _ in range(tuning.CORRECTIONS):
            rest = _norms(left)
            run = conjugate_gradients(
                lambda P, _: self._multiply(P),
                left,
                lambda R, _: self._precondition(R),
                # What is left of B may be far smaller than B.
                float((goal / np.where(rest > 0, rest, 1.0)).max()),
                max_iter=self.most,
            )
            if run.stopped == "interrupt":
                raise KeyboardInterrupt
            if run.stopped:
                raise _Slow
            X += run.X
            self.n_iter += run.n_iter
            left = B - self._multiply(X)
            if (_norms(left) <= np.maximum(10 * goal, unit * self.norm * _norms(X))).all():
                return X.astype(dtype, copy=False)
        raise _Slow

    def _multiply(self, P: np.ndarray) -> np.ndarray:
        return symmetric_times(self.A, P) + self.shift * P

    def _precondition(self, R: np.ndarray) -> np.ndarray:
        F = self.F
        return (R - times(F, cholesky_solve(self.L, transposed_times(F, R)))) / self.shift


def _norms(R: Any) -> np.ndarray:
    return np.linalg.norm(R, axis=0)
