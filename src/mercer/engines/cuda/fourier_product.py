"""K V of Gaussians in few columns by their Fourier series: two passes over rows, none over pairs.

`mercer.gram.fourier_series` has the formula. The rows of Z give a coefficient to every wave,
C_k = Σ_j V_j e^{−ik·z_j}, and those of X sum the waves, Σ_k w_k C_k e^{ik·x_i}. A wave over
several columns is a product of waves of one, so both are matrix products with short factors. For
10⁶ rows in three columns that takes a fiftieth of what all pairs take. Where the data has many
widths across, or more columns, there are too many waves, and pairs are computed.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial
from itertools import chain
from typing import Any

import numpy as np
import torch

from mercer._tiles import cut
from mercer.engines.cuda.ops import STEP_NUMBERS
from mercer.formula.nodes import Input
from mercer.gram.fourier_product import SERIES_ACCURACY
from mercer.gram.fourier_series import (
    SERIES_COLUMNS,
    Price,
    Series,
    cheaper_series,
    mixture,
    not_below_zero,
)

#: Measured on an H200; and pairs below which launches alone take longer.
PRICE, FEW_PAIRS = Price(2.0, 100.0), 1.5e10
#: Error of k in the precision "fast", relative to its largest value.
FAST_ACCURACY = 2.0**-13


def series_of(gram: Any, vectors: int) -> list[Series]:
    """The series of each Gaussian in k, if K V costs less by them; none otherwise."""

    def ends(rows: Input) -> tuple[np.ndarray, np.ndarray] | None:
        own = gram._x.matrices[rows]
        if not isinstance(own, torch.Tensor) or own.shape[1] > SERIES_COLUMNS:
            return None
        sides = [side.numbers(rows) for side in (gram._x, gram._z)]
        low = np.min([side.amin(0).tolist() for side in sides], axis=0)
        return low, np.max([side.amax(0).tolist() for side in sides], axis=0)

    is_single = gram.torch_dtype == torch.float32
    rough = is_single and gram.precision == "fast"
    accuracy = FAST_ACCURACY if rough else SERIES_ACCURACY[4 if is_single else 8]
    found = cheaper_series(gram, vectors, PRICE, FEW_PAIRS, ends, accuracy)
    return [] if found is None else found[1]


def product(gram: Any, series: list[Series], V: torch.Tensor) -> torch.Tensor:
    """K V, the sum of what each series gives."""
    rows, _ = mixture(gram.formula)  # type: ignore[misc]
    image = sum(_product(gram, s, rows, V) for s in series)
    return not_below_zero(image, V)  # type: ignore[no-any-return]


def _product(gram: Any, series: Series, rows: Input, V: torch.Tensor) -> torch.Tensor:
    # Where PyTorch may round products of float32 to ten bits, they are made in double precision.
    exact = V.dtype == torch.float32 and torch.get_float32_matmul_precision() == "highest"
    kind = torch.complex64 if exact else torch.complex128
    vectors, last = V.shape[1], series.weights.shape[-1]
    room = min(STEP_NUMBERS, gram.limit_bytes // 64)
    C = torch.zeros(vectors * series.terms // last, last, dtype=kind, device=V.device)
    for part, (*first, waves) in _chunks(series, gram._z.numbers(rows), vectors, kind, room):
        A = V[part].to(kind)
        for wave in first:
            A = (A[:, :, None] * wave[:, None, :]).flatten(1)
        C += A.T @ waves
    weights = torch.as_tensor(series.weights.reshape(-1, last), device=V.device, dtype=C.real.dtype)
    C = (C.conj().reshape(vectors, -1, last) * weights).reshape(-1, last)
    result = torch.empty(gram.shape[0], vectors, dtype=V.dtype, device=V.device)
    for part, (*first, waves) in _chunks(series, gram._x.numbers(rows), vectors, kind, room):
        A = waves @ C.T
        for wave in reversed(first):
            A = (A.reshape(len(A), -1, wave.shape[1]) @ wave[:, :, None])[..., 0]
        result[part] = A.real
    return result


def _chunks(
    series: Series, rows: torch.Tensor, vectors: int, kind: torch.dtype, room: int
) -> Iterator[tuple[slice, list[torch.Tensor]]]:
    """Rows whose products have room, and their waves, which are made for many chunks at once."""
    many = max(1, room // (4 * sum(series.weights.shape)))
    few = max(1, room * series.weights.shape[-1] // (2 * vectors * series.terms))
    for part in cut(0, len(rows), many):
        waves = _waves(series, rows[part], kind)
        for inner in cut(0, part.stop - part.start, few):
            here = slice(part.start + inner.start, part.start + inner.stop)
            yield here, [wave[inner] for wave in waves]


def _waves(series: Series, rows: torch.Tensor, kind: torch.dtype) -> list[torch.Tensor]:
    """e^{2πik(x − c)/L} for every wave of each column; the angle is reduced in double precision."""
    sizes = series.weights.shape
    numbers = [range(-m if axis else 0, m + 1) for axis, m in enumerate(series.highest)]
    make = partial(torch.tensor, dtype=torch.float64, device=rows.device)
    rate, center = 1.0 / make(series.periods), make(series.center)
    turns = (rows[:, list(series.columns)].double() - center) * rate
    every = torch.repeat_interleave(turns, make(sizes).long(), dim=1) * make(list(chain(*numbers)))
    angle = (2 * math.pi * every.frac()).to(kind.to_real())
    return list(torch.polar(torch.ones_like(angle), angle).split(sizes, dim=1))
