"""(SKS + λI)⁻¹ for many λ from SKS = Q T Qᵀ with T tridiagonal: no eigenvectors, the same answers.

Q and T take 8/3 N³ operations, half as many as eigenvectors. A shift of SKS is a shift of T, and
T + λI = L D Lᵀ takes N operations. From it follow the coefficients, and the diagonal that
leave-one-out errors need:

    (SKS + λI)⁻¹ t = Q (T + λI)⁻¹ Qᵀ t        ((SKS + λI)⁻¹)ᵢᵢ = Σⱼ (L⁻¹ Qᵀ eᵢ)ⱼ² / Dⱼ

the second in 4 N² operations per λ. Eigenvectors are better only where SKS + λI is nearly singular
or not definite, because they tell which directions to leave out.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import eigvalsh_tridiagonal, get_lapack_funcs

from mercer._lazy import record
from mercer._machine.deadline import one_call
from mercer._machine.threads import single_threaded_blas
from mercer.gram import Gram
from mercer.solvers.linear.matrix import matrix_fits, scaled_matrix
from mercer.solvers.linear.problem import RidgePath, RidgeProblem
from mercer.tuning import TRIDIAGONAL_CONDITION


@record
class Tridiagonal:
    """Q T Qᵀ: the diagonal of T, the numbers next to it, and Qᵀ."""

    diagonal: np.ndarray
    off_diagonal: np.ndarray
    q_transposed: np.ndarray

    @classmethod
    def of(cls, A: np.ndarray) -> Tridiagonal:
        """Reduce a symmetric matrix, which is overwritten, by Householder reflections."""
        n = len(A)
        names = ("sytrd", "sytrd_lwork", "orgqr")
        sytrd, sytrd_lwork, orgqr = get_lapack_funcs(names, (A,))
        # Half of the operations are products with single vectors: threads of BLAS would wait for
        # each other after every one of them.
        with single_threaded_blas(), one_call(8 / 3 * float(n) ** 3):
            size = int(sytrd_lwork(n, lower=1)[0])
            reflections, diagonal, off_diagonal, tau, _ = sytrd(
                A.T, lower=1, lwork=size, overwrite_a=1
            )
            Q = np.zeros((n, n), order="F")
            Q[0, 0] = 1.0
            if n > 1:
                Q[1:, 1:] = orgqr(reflections[1:, :-1], tau, lwork=32 * n)[0]
        return cls(diagonal, off_diagonal, Q.T)

    def condition(self, shift: float) -> float:
        """The largest eigenvalue of T + λI over the smallest one; ∞ where one is not positive."""
        values = eigvalsh_tridiagonal(self.diagonal, self.off_diagonal) + shift
        return float(values[-1] / values[0]) if values[0] > 0 else np.inf

    def inverses(self, shifts: np.ndarray, B: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(A + λI)⁻¹ B and the diagonal of (A + λI)⁻¹, one of each per λ."""
        n, Q = len(self.diagonal), self.q_transposed
        pttrf, pttrs = get_lapack_funcs(("pttrf", "pttrs"), (Q,))
        right, solved = Q @ B, []
        pivots, factors = np.empty((len(shifts), n)), np.zeros((len(shifts), n))
        # LAPACK wants at least one number next to the diagonal.
        off_diagonal = self.off_diagonal if n > 1 else np.zeros(1)
        for i, shift in enumerate(shifts):
            pivots[i], factor, _ = pttrf(self.diagonal + shift, off_diagonal)
            factors[i, 1:] = factor[: n - 1]
            solved.append(Q.T @ pttrs(pivots[i], factor, right)[0])
        column = np.zeros((len(shifts), n))
        squares, total = np.empty_like(column), np.zeros_like(column)
        for j in range(n):
            column *= -factors[:, j, None]
            column += Q[j]
            np.multiply(column, column, out=squares)
            squares /= pivots[:, j, None]
            total += squares
        return np.stack(solved), total


def tridiagonal_path(gram: Gram, problem: RidgeProblem) -> RidgePath | None:
    """All λ from one reduction; None where eigenvectors are safer, or two matrices do not fit."""
    n, targets = problem.targets.shape
    if gram.refuted or not matrix_fits(2, n, 8, targets * len(problem.alphas)):
        return None
    return path_of_matrix(scaled_matrix(gram, problem.scale, double=True), problem, gram)


def path_of_matrix(A: np.ndarray, problem: RidgeProblem, gram: Gram | None) -> RidgePath | None:
    """All λ from SKS as an array, which is overwritten; examples of weight 0 need the Gram."""
    n, alphas = len(A), problem.alphas
    reduced = Tridiagonal.of(A)
    condition = reduced.condition(float(alphas.min()))
    if condition * float(np.finfo(np.float64).eps) * n > TRIDIAGONAL_CONDITION:
        return None
    with single_threaded_blas():
        each = reduced.inverses(alphas, problem.right_hand_sides())
    return problem.path(gram, ((*both, None) for both in zip(*each, strict=True)))
