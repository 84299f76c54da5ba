"""K V of Gaussians in few columns by their Fourier series, on the cores of a CPU.

`mercer.gram.fourier_series` has the formula: the rows of Z give every wave a coefficient, those of
X sum the waves. Both are products of short factors, for a few hundred rows at a time, which stay in
the cache. 10⁵ rows in two columns take a fortieth of what all pairs take, and 10⁶ ten times as
long.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mercer._machine.threads import single_threaded_blas, threads_for
from mercer._tiles import Scratch, Tiling, sweep
from mercer.formula.nodes import Input
from mercer.gram.fourier_series import SERIES_COLUMNS, Price, Series, cheaper_series, not_below_zero
from mercer.tuning import CACHE_ELEMENTS, PANEL_ROWS, WAVE_PAIRS

#: Measured on two cores, doubled.
PRICE = Price(1.0, 20.0)
#: Error of k, relative to its largest value, by the size of a number.
SERIES_ACCURACY = {4: 2.0**-24, 8: 2.0**-51}


def series_of(gram: Any, vectors: int) -> tuple[Input, list[Series]] | None:
    """The rows and the series of each Gaussian in k, if K V costs less by them."""

    def ends(rows: Input) -> tuple[np.ndarray, np.ndarray] | None:
        sides = [side.matrices[rows] for side in gram.operands()]
        if not all(isinstance(m, np.ndarray) and m.shape[1] <= SERIES_COLUMNS for m in sides):
            return None
        low, high = (np.array([end(m, axis=0) for m in sides]) for end in (np.min, np.max))
        return low.min(axis=0), high.max(axis=0)

    accuracy = SERIES_ACCURACY[gram.dtype.itemsize]
    series = cheaper_series(gram, vectors, PRICE, WAVE_PAIRS, ends, accuracy)
    terms = 0 if series is None else sum(s.terms for s in series[1])
    return series if 64 * vectors * terms <= gram.limit_bytes else None


def product(gram: Any, rows: Input, series: list[Series], V: np.ndarray) -> np.ndarray:
    """K V, the sum of what each series gives."""
    x, z = (side.matrices[rows] for side in gram.operands())
    image = np.sum([_product(s, x, z, V) for s in series], axis=0)
    return not_below_zero(image, V)  # type: ignore[no-any-return]


def _product(series: Series, x: np.ndarray, z: np.ndarray, V: np.ndarray) -> np.ndarray:
    kind = np.result_type(V.dtype, np.complex64)
    vectors, last = V.shape[1], series.weights.shape[-1]
    shape = (vectors * series.terms // last, last)
    step = max(1, min(PANEL_ROWS, CACHE_ELEMENTS // shape[0]))
    threads = threads_for(8.0 * (len(x) + len(z)) * vectors * series.terms)
    sums = [np.zeros(shape, dtype=kind) for _ in range(threads)]

    def collect(some: slice, _: slice, scratch: Scratch) -> None:
        *first, waves = _waves(series, z[some], kind)
        A = V[some].astype(kind)
        for wave in first:
            A = (A[:, :, None] * wave[:, None, :]).reshape(len(A), -1)
        sums[scratch.thread] += A.T @ waves

    result = np.empty((len(x), vectors), dtype=V.dtype)

    def spread(some: slice, _: slice, scratch: Scratch) -> None:
        *first, waves = _waves(series, x[some], kind)
        A = waves @ C.T
        for wave in reversed(first):
            A = np.einsum("bfk,bk->bf", A.reshape(len(A), -1, wave.shape[1]), wave)
        result[some] = A.real

    with single_threaded_blas():
        sweep(Tiling((len(z), 1), (step, 1), threads, fixed=True), collect, "waves")
        weights = series.weights.reshape(-1, last).astype(V.dtype)
        C = np.sum(sums, axis=0).conj().reshape(vectors, -1, last) * weights
        C = C.reshape(shape)
        sweep(Tiling((len(x), 1), (step, 1), threads), spread, "waves")
    return result


def _waves(series: Series, rows: np.ndarray, kind: np.dtype) -> list[np.ndarray]:
    """e^{2πik(x − c)/L} for every wave of each column, as powers of the first."""
    waves = []
    for axis, column in enumerate(series.columns):
        rate = 2.0 * math.pi / series.periods[axis]
        angle = rate * (rows[:, column].astype(np.float64) - series.center[axis])
        wave = np.ones((len(rows), series.highest[axis] + 1), dtype=np.complex128)
        wave[:, 1:] = np.exp(1j * angle)[:, None]
        np.multiply.accumulate(wave, axis=1, out=wave)
        if axis:
            wave = np.concatenate([wave[:, :0:-1].conj(), wave], axis=1)
        waves.append(wave.astype(kind, copy=False))
    return waves
