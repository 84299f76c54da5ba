"""Blocks that a kernel search builds with: leaves over all columns, and over single ones."""

from __future__ import annotations

import math

import numpy as np

from mercer.kernels import Gaussian, Kernel, Linear, Matern, Periodic
from mercer.selection.racing.candidates import median_distance, rounded

#: Columns that get blocks of their own.
BLOCK_COLUMNS = 8


def blocks_for(X: np.ndarray, T: np.ndarray) -> list[tuple[Kernel, str]]:
    """Leaves over all columns, and over each of the columns that say most."""
    width = X.shape[1]
    m = median_distance(X)
    whole: list[Kernel] = [
        Linear(),
        Gaussian(rounded(m)),
        Gaussian(rounded(m / 3)),
        Matern(1.5, rounded(m)),
    ]
    if width == 1:
        whole += _periodic(X, T, 0, alone=True)
        return [(k, "block") for k in whole]
    made = [(k, "block over all columns") for k in whole]
    for column in _columns(X, T):
        values = X[:, [column]]
        m = median_distance(values)
        single: list[Kernel] = [
            Gaussian(rounded(m)).on([column]),
            Linear().on([column]),
            *_periodic(X, T, column, alone=False),
        ]
        made += [(k, f"block over column {column}") for k in single]
    return made


def _columns(X: np.ndarray, T: np.ndarray) -> list[int]:
    """Those whose own Gaussian agrees best with the targets."""
    width = X.shape[1]
    varied = [j for j in range(width) if np.ptp(X[:, j]) > 0]
    if len(varied) <= BLOCK_COLUMNS:
        return varied
    # A cheap look at all of them: the share of the targets that values and squares explain.
    values = X[:, varied]
    scores = np.zeros(len(varied))
    for phi in (values, values**2, np.abs(values)):
        phi = phi - phi.mean(axis=0)
        norm = np.linalg.norm(phi, axis=0)
        norm[norm == 0] = 1.0
        scores = np.maximum(scores, np.linalg.norm(T.T @ (phi / norm), axis=0))
    best = np.argsort(-scores, kind="stable")[:BLOCK_COLUMNS]
    return sorted(varied[i] for i in best)


def _periodic(X: np.ndarray, T: np.ndarray, column: int, alone: bool) -> list[Kernel]:
    """Periods where the targets have most power along this column."""
    x = X[:, column]
    if len(np.unique(x)) < 20:
        return []
    made: list[Kernel] = []
    for period in strongest_periods(x, T):
        k: Kernel = Periodic(rounded(period), 1.0)
        made.append(k if alone else k.on([column]))
    return made


def strongest_periods(x: np.ndarray, T: np.ndarray, count: int = 2) -> list[float]:
    """Peaks of the power spectrum of the targets along x, their trend removed (Lomb–Scargle).

    >>> x = np.linspace(0, 10, 200)
    >>> [round(p, 1) for p in strongest_periods(x, np.sin(np.pi * x)[:, None], 1)]
    [2.0]
    """
    from scipy.signal import lombscargle

    span = float(np.ptp(x))
    trend = np.vander(x - x.mean(), 3)
    left = T - trend @ np.linalg.lstsq(trend, T, rcond=None)[0]
    most = min(len(x) / 4, 60.0)
    cycles = np.linspace(1.5, max(2.0, most), 1200)
    frequencies = 2 * np.pi * cycles / span
    power = sum(lombscargle(x, column, frequencies) for column in left.T)
    found: list[float] = []
    for i in np.argsort(-np.asarray(power)):
        period = span / cycles[i]
        if all(abs(math.log(period / other)) > 0.2 for other in found):
            found.append(float(period))
        if len(found) == count:
            break
    return found
