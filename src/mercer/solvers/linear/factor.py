"""S K S + λI factorized in place: one N×N array, never two.

K is symmetric, so one triangle of the array is enough to hold it; the Cholesky factor is made in
the other one. Where another λ comes, K is still there.

    ┌─────────┐
    │ d   K   │    d: λ and the diagonal of K are kept apart
    │  ⋱      │
    │ U    d  │    UᵀU = SKS + λI
    └─────────┘

For one λ only, the upper triangle is all that is computed, and the factor takes its place.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from scipy.linalg import eigh, get_lapack_funcs

import mercer.tuning as tuning
from mercer._config import show_bytes
from mercer._machine import cholesky as lapack
from mercer._machine.deadline import one_call
from mercer._machine.threads import blas_for
from mercer._notices import KernelWarning, warn
from mercer.gram import Gram
from mercer.solvers.linear import refined
from mercer.solvers.linear.blas import mirror
from mercer.solvers.linear.matrix import IllConditioned, matrix_fits, operator_norm, scaled_matrix
from mercer.solvers.requirements import resident


class Inverse(Protocol):
    """(SKS + λI)⁻¹ as an operator."""

    def solve(self, B: np.ndarray) -> np.ndarray: ...


class Factor(Inverse, Protocol):
    """(SKS + λI)⁻¹ as an operator, and its diagonal."""

    def inverse_diagonal(self) -> np.ndarray: ...


def shifted(gram: Gram, scale: np.ndarray | None = None, once: bool = False) -> Any:
    """SKS + λI, factorized where its data is; `once`: for a single λ."""
    return resident(gram).solver("factor", Shifted)(gram, scale, once)


class Shifted:
    """SKS + λI for one λ after the other, from a Gram that is evaluated once if all goes well."""

    def __init__(self, gram: Gram, scale: np.ndarray | None = None, once: bool = False) -> None:
        self.gram, self.scale, self.once = gram, scale, once
        self.double, self.refines = gram.dtype == np.float64, True
        self._A: np.ndarray | None = None
        self._factored = False
        #: SKS in the upper triangle of an array, where `once` finds it made.
        self.triangle: np.ndarray | None = None

    def factor(self, shift: float) -> Factor:
        """By Cholesky; where K is not positive definite, by LU or by eigenvectors.

        The next call reuses the array: use one factor before asking for another.
        """
        cholesky = self._cholesky(shift)
        if cholesky is not None:
            condition = cholesky.condition(shift)
            # In single precision a matrix this close to singular gives noise, not coefficients.
            if not self.double and condition * np.finfo(np.float32).eps > tuning.SINGLE_NOISE:
                cholesky = None
            elif self.double and condition * np.finfo(np.float64).eps > tuning.FEW_DIGITS:
                if self.gram.shape[0] <= tuning.SPECTRUM_ROWS and self._room_for_vectors():
                    return self._without_null_space(shift)
                warn_condition(condition, shift)
        if cholesky is None and not self.double and self._widen():
            return self.factor(shift)
        return cholesky if cholesky is not None else self._not_definite(shift)

    def _matrix(self, shift: float) -> np.ndarray:
        """All of SKS + λI, evaluated or put together from the triangle that still holds it."""
        if self._A is None:
            self._A = scaled_matrix(self.gram, self.scale, self.double)
            self._diagonal = self._A.diagonal().copy()
            self._factored = False
        if self._factored:
            mirror(self._A)
        self._A.flat[:: len(self._A) + 1] = self._diagonal + self._A.dtype.type(shift)
        self._factored = True
        return self._A

    def _cholesky(self, shift: float) -> Cholesky | None:
        if self.once:
            A, self.triangle = self.triangle, None
            if A is None:
                A = scaled_matrix(self.gram, self.scale, self.double, triangle=True)
            trace = float(A.diagonal().sum(dtype=np.float64))
            A.flat[:: len(A) + 1] += A.dtype.type(shift)
            # K ≥ 0 as far as is known: its norm is at most its trace.
            refines = self.refines and self.gram.symmetric and matrix_fits(3, len(A), 4)
            if refines and refined.pays(A, (trace + shift) / shift):
                rounded = refined.factor(A)
                if rounded is not None:
                    return Refined(A, trace, rounded, lambda: self._in_double(shift))
        else:
            A = self._matrix(shift)
            trace = float(self._diagonal.sum(dtype=np.float64))
        return Cholesky(A, trace, int(self.once)) if _factorize(A, int(self.once)) else None

    def _in_double(self, shift: float) -> Factor:
        """Factorize in double precision, without a rounded factor."""
        self.refines = False
        return self.factor(shift)

    def _widen(self) -> bool:
        """Switch to double precision if a matrix of it fits the memory limit."""
        if not matrix_fits(1, self.gram.shape[0], 8):
            return False
        self.double, self._A = True, None
        return True

    def _not_definite(self, shift: float) -> Factor:
        """LU for an indefinite K; the eigenvectors, without the null space, for a singular one."""
        A = self._matrix(shift)
        self._A = None  # from here on the array belongs to the factor
        n, eps = len(A), float(np.finfo(A.dtype).eps)
        norm = _one_norm(A)
        getrf, gecon = get_lapack_funcs(("getrf", "gecon"), (A,))
        with one_call(2 * _operations(A)):
            _, pivots, info = getrf(A.T, overwrite_a=1)
        reciprocal = float(gecon(A.T, norm)[0]) if info == 0 else 0.0
        condition = 1.0 / max(reciprocal, np.finfo(float).tiny)
        if reciprocal > n * eps:
            if condition * eps > tuning.FEW_DIGITS:
                warn_condition(condition, shift)
            else:
                warn_indefinite(self.gram)
            return LU(A, pivots)
        if not self._room_for_vectors():
            need = show_bytes(3 * A.nbytes)
            warn_condition(condition, shift, f"; to leave its null space out would need {need}")
            return LU(A, pivots)
        del A
        return self._without_null_space(shift)

    def _room_for_vectors(self) -> bool:
        return matrix_fits(3, self.gram.shape[0], 8 if self.double else 4)

    def _without_null_space(self, shift: float) -> Factor:
        self._A = None
        spectrum = Spectrum.of(scaled_matrix(self.gram, self.scale, self.double))
        warn_condition(spectrum.condition(shift), shift, "; its null space is left out")
        return spectrum.at(shift)


class Cholesky:
    """UᵀU = SKS + λI, in one triangle of an array; `lower` as LAPACK sees it."""

    def __init__(self, A: np.ndarray, trace: float, lower: int) -> None:
        self.A, self._trace, self._lower = A, trace, lower

    def solve(self, B: np.ndarray) -> np.ndarray:
        with blas_for(2.0 * len(self.A) * B.size):
            return lapack.solve(self.A, B, self._lower)

    def inverse_diagonal(self) -> np.ndarray:
        """Row sums of squares of U⁻¹. It takes the place of U: nothing can be solved after."""
        assert not self._lower, "made for several λ"
        with one_call(_operations(self.A)):
            lapack.invert_triangle(self.A, lower=0)
        n = len(self.A)
        result = np.zeros(n)
        for start in range(0, n, tuning.PANEL_ROWS):
            rows = self.A[start : start + tuning.PANEL_ROWS, : start + tuning.PANEL_ROWS]
            result[: rows.shape[1]] += np.square(np.tril(rows, start)).sum(axis=0, dtype=float)
        return result

    def condition(self, shift: float) -> float:
        """A bound from the trace where that settles it, and an estimate where it does not."""
        # K ≥ 0 as far as is known: its norm is at most its trace, and no eigenvalue is below λ.
        bound = (self._trace + shift) / shift if shift else math.inf
        if not doubtful(bound, self.A.dtype):
            return bound
        # Inverse iteration: the smallest eigenvalue, to a factor, at the price of three solves.
        x = np.random.default_rng(0).standard_normal(len(self.A))
        return (self._trace + shift) * operator_norm(lambda x: self.solve(x).ravel(), x, 3)


class Refined(Cholesky):
    """Cholesky in single precision, refined; `otherwise` gives a factor where that fails."""

    def __init__(
        self, A: np.ndarray, trace: float, rounded: refined.Rounded, otherwise: Callable[[], Factor]
    ) -> None:
        super().__init__(A, trace, lower=1)
        self._rounded: refined.Rounded | None = rounded
        self._otherwise = otherwise

    def solve(self, B: np.ndarray) -> np.ndarray:
        X = None if self._rounded is None else refined.solved(self.A, self._rounded, B)
        if X is not None:
            return X
        # Free both arrays before another one is allocated: a third would exceed the memory limit.
        self._rounded, self.A = None, np.empty((0, 0))
        return self._otherwise().solve(B)


def _factorize(A: np.ndarray, lower: int) -> bool:
    """Cholesky in place of a triangle of A; False where A is not positive definite."""
    with one_call(_operations(A)):
        return lapack.factorize(A, lower)


class LU:
    """PLU = SKS + λI: for a symmetric matrix that is not definite."""

    def __init__(self, A: np.ndarray, pivots: np.ndarray) -> None:
        self.A, self.pivots = A, pivots

    def solve(self, B: np.ndarray) -> np.ndarray:
        (getrs,) = get_lapack_funcs(("getrs",), (self.A,))
        X, _ = getrs(self.A.T, self.pivots, np.asfortranarray(B, dtype=self.A.dtype))
        return X

    def inverse_diagonal(self) -> np.ndarray:
        (getri,) = get_lapack_funcs(("getri",), (self.A,))
        with one_call(4 * _operations(self.A)):
            inverse, _ = getri(self.A.T, self.pivots, overwrite_lu=1)
        return inverse.diagonal().astype(np.float64)


class Spectrum:
    """SKS = Q diag(ω) Qᵀ: then every λ costs next to nothing."""

    def __init__(self, values: np.ndarray, vectors: np.ndarray) -> None:
        self.values, self.vectors = values.astype(np.float64), vectors
        largest = float(np.abs(self.values).max())
        units = tuning.NULL_UNITS if vectors.dtype == np.float32 else len(values)
        self.rounding: float = units * float(np.finfo(vectors.dtype).eps) * largest

    @classmethod
    def of(cls, A: np.ndarray) -> Spectrum:
        """The eigenvectors are made in place of A."""
        driver = "evd" if matrix_fits(3, len(A), A.itemsize) else "evr"
        with one_call(tuning.SPECTRUM_TIMES * _operations(A)):
            return cls(*eigh(A.T, overwrite_a=True, check_finite=False, driver=driver))

    def inverse(self, shifts: np.ndarray, keep_null: bool = False) -> np.ndarray:
        """1/(ω + λ), one row for each λ; 0 for directions that K and λ both leave out.

        A direction in the null space of K changes no prediction, but its coefficients are 1/λ
        times rounding. Leave-one-out needs it, as a ratio in which 1/λ cancels: `keep_null`.
        """
        values = np.where(np.abs(self.values) <= self.rounding, 0.0, self.values)
        total = values + np.asarray(shifts, dtype=np.float64)[:, None]
        with np.errstate(divide="ignore"):
            inverse = 1.0 / total
        return inverse if keep_null else np.where(np.abs(total) > self.rounding, inverse, 0.0)

    def condition(self, shift: float) -> float:
        total = np.abs(self.values + shift)
        return float(total.max() / max(total.min(), np.finfo(float).tiny))

    def at(self, shift: float) -> Factor:
        return _AtShift(self, shift)


class _AtShift:
    def __init__(self, spectrum: Spectrum, shift: float) -> None:
        self.spectrum, self.shift = spectrum, np.array([shift])

    def solve(self, B: np.ndarray) -> np.ndarray:
        Q, d = self.spectrum.vectors, self.spectrum.inverse(self.shift)[0]
        B = np.asarray(B, dtype=Q.dtype)
        parts = Q.T @ B
        return Q @ ((d[:, None] if B.ndim == 2 else d) * parts).astype(Q.dtype)

    def inverse_diagonal(self) -> np.ndarray:
        d = self.spectrum.inverse(self.shift, keep_null=True)
        return squares_times(self.spectrum.vectors, d)[:, 0]


def squares_times(Q: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Σⱼ Qᵢⱼ² wₐⱼ for all i and a, without a second Q."""
    result = np.empty((len(Q), len(weights)))
    for start in range(0, len(Q), tuning.PANEL_ROWS):
        result[start : start + tuning.PANEL_ROWS] = (
            np.square(Q[start : start + tuning.PANEL_ROWS]) @ weights.T
        )
    return result


def warn_condition(condition: float, shift: float, more: str = "") -> None:
    warn(
        f"K + λI has a condition number of about {condition:.2g} (λ = {shift:.3g}): the "
        f"coefficients have few or no certain digits{more}. Duplicated or nearly equal examples "
        "do that, and a very smooth kernel; a larger alpha helps.",
        IllConditioned,
    )


def doubtful(condition: float, dtype: np.dtype) -> bool:
    """Whether so large a condition number leaves the coefficients few digits, or noise."""
    return condition * np.finfo(dtype).eps >= (
        tuning.SINGLE_NOISE if dtype == np.float32 else tuning.FEW_DIGITS
    )


def warn_indefinite(gram: Gram) -> None:
    """Warn that K is indefinite, unless the kernel's claim said so before K was computed."""
    if not gram.refuted:
        warn(
            f"K + λI has negative eigenvalues: {gram.kernel!r} is not positive semi-definite on "
            "these examples. The equations were solved all the same, by LU; mercer.repair gives a "
            "matrix that is one.",
            KernelWarning,
        )


def _operations(A: np.ndarray) -> float:
    """Operations of a Cholesky factorization; in single precision each counts half."""
    return float(len(A)) ** 3 / 3 * A.itemsize / 8


def _one_norm(A: np.ndarray) -> float:
    sums = np.zeros(len(A))
    for start in range(0, len(A), tuning.PANEL_ROWS):
        sums += np.abs(A[start : start + tuning.PANEL_ROWS]).sum(axis=0, dtype=np.float64)
    return float(sums.max())
