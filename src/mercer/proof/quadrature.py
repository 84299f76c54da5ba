"""∫ g(r) cos(ωr) dr and its radial relatives for functions with kinks, jumps and long tails.

The integrand's own part g is cut into panels on which a polynomial fits it to rounding; jumps and
kinks are closed in by halving. Panels are also short against the wave, so that one set of nodes
serves all frequencies.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

ORDER = 16
MAX_PANELS = 20_000
FIT = 1e-13

Function = Callable[[np.ndarray], np.ndarray]


def nodes_for(g: Function, end: float, omega: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Nodes, weights and values of g on [0, end], fine enough for waves up to ``omega``."""
    x, w = np.polynomial.legendre.leggauss(ORDER)
    # values at the nodes → Legendre coefficients; the last ones tell whether the fit is good
    fit = (np.polynomial.legendre.legvander(x, ORDER - 1) * w[:, None]).T
    fit *= (np.arange(ORDER) + 0.5)[:, None]
    count = max(16, math.ceil(end * omega / 8))
    edges = np.linspace(0.0, end, count + 1)
    left, width = edges[:-1], np.diff(edges)
    done: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
    total, top = 0, 0.0
    while len(left):
        r = left[:, None] + width[:, None] * (x + 1) / 2
        values = g(r.ravel()).reshape(r.shape)
        top = max(top, float(np.abs(values).max()))
        rough = np.abs(values @ fit.T)[:, -3:].max(axis=1) > FIT * top
        rough &= width > 1e-14 * end
        if total + 2 * len(left) > MAX_PANELS:  # noise, not a kink: take it as it is
            rough[:] = False
        good = ~rough
        done.append((r[good].ravel(), (width[good, None] * w / 2).ravel(), values[good].ravel()))
        total += int(good.sum())
        half = width[rough] / 2
        left = np.concatenate([left[rough], left[rough] + half])
        width = np.concatenate([half, half])
    r, weights, values = (np.concatenate(parts) for parts in zip(*done, strict=True))
    keep = values != 0
    return r[keep], weights[keep], values[keep]


def radial_transform(
    profile: Function, n_features: int, end: float, frequencies: np.ndarray
) -> tuple[np.ndarray, float]:
    """∫ k(‖t‖) e^{−iω·t} dt over ℝᵈ for every |ω|, and ∫ |k(‖t‖)| dt, which bounds it."""
    r, weights, values = nodes_for(profile, end, float(frequencies[-1]))
    area = 2 * math.pi ** (n_features / 2) / math.gamma(n_features / 2)
    mass = area * weights * values * r ** (n_features - 1)
    spectrum = np.empty(len(frequencies))
    step = max(1, 2_000_000 // max(1, len(r)))
    for start in range(0, len(frequencies), step):
        part = slice(start, start + step)
        spectrum[part] = _wave(np.outer(frequencies[part], r), n_features) @ mass
    return spectrum, float(np.abs(mass).sum())


def _wave(z: np.ndarray, n_features: int) -> np.ndarray:
    """The mean of e^{iz u₁} over the unit sphere of ℝᵈ: Γ(d/2) (2/z)^ν J_ν(z), ν = d/2 − 1."""
    if n_features == 1:
        return np.cos(z)
    if n_features == 3:
        return np.sinc(z / np.pi)
    from scipy.special import j0, jv

    if n_features == 2:
        return j0(z)
    order = n_features / 2 - 1
    with np.errstate(all="ignore"):
        wave = math.gamma(n_features / 2) * jv(order, z) * (2 / z) ** order
    # the power overflows or 0/0 appears only where the wave is 1 − z²/2d to all digits
    near = z < 1e-4
    wave[near] = 1 - z[near] ** 2 / (2 * n_features)
    return wave
