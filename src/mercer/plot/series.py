"""Pictures of what a kernel is a sum of: frequencies, eigenfunctions, Taylor terms, monomials."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from mercer._figures import INK, QUIET, axes, color_of, legend, tidy
from mercer.kernels import Gaussian, Kernel, as_kernel
from mercer.plot.kernels import kernel_title


def fourier(kernel: Any, n_features: int = 1, ax: Any = None, peaks: float = 4.0) -> Any:
    """S(ω) = ∫ k(t) e^{−iωt} dt: a translation-invariant k is a kernel iff S is nowhere negative.

    What dips below zero is filled. `kernel` may be a `FourierCheck`, which is then drawn. `peaks`
    is how far the picture reaches, in widths of the first bump of S.

    Parameters
    ----------
    kernel : Kernel, str or FourierCheck
        A translation-invariant kernel, or what `fourier_check` found.
    n_features : int, default 1
        The dimension.
    ax : matplotlib Axes or None
        Where to draw; None makes a new figure.
    peaks : float, default 4.0
        How far the picture reaches, in widths of the first bump.

    Returns
    -------
    matplotlib Axes
        With the picture.

    Examples
    --------
    >>> from mercer import plot
    >>> ax = plot.fourier("bspline(3)")
    """
    from mercer.proof import FourierCheck, fourier_check

    found = kernel if isinstance(kernel, FourierCheck) else fourier_check(kernel, n_features)
    w, S = found.frequencies, found.spectrum
    ax = axes(ax)
    negative = -found.tolerance > S
    first = np.flatnonzero((0.05 * S.max() > S) | negative)
    shown = w <= (peaks * w[first[0]] if len(first) else w[-1])
    ax.axhline(0, color=QUIET, linewidth=0.8)
    ax.plot(w[shown], S[shown], color=color_of(0), label="S(ω) ≥ 0" if found.passes else "S(ω)")
    if (negative & shown).any():
        below = np.where(negative, S, 0.0)[shown]
        ax.fill_between(w[shown], below, 0, color=color_of(1), alpha=0.6,
                        label=f"S < 0 from ω = {found.negative_at[0]:.3g}")  # fmt: skip
    legend(ax, frameon=False)
    name = kernel_title(found.kernel) if isinstance(found.kernel, Kernel) else "k"
    return tidy(ax, name, "ω", "S(ω)")


def eigenfunctions(
    kernel: Any, interval: tuple[float, float] = (0.0, 1.0), count: int = 4, ax: Any = None
) -> Any:
    """k(x, z) = Σ λᵢ φᵢ(x) φᵢ(z): Mercer's first eigenfunctions on an interval, with their λᵢ.

    Found on 400 evenly spread points by `NystromMap`; ∫ φᵢ² = 1 under the uniform distribution.

    Parameters
    ----------
    kernel : Kernel or str
        A kernel, or an expression such as "gaussian(2)".
    interval : (low, high)
        Where k lives.
    count : int, default 4
        How many functions to draw.
    ax : matplotlib Axes or None
        Where to draw; None makes a new figure.

    Returns
    -------
    matplotlib Axes
        With the picture.

    Examples
    --------
    >>> from mercer import plot
    >>> ax = plot.eigenfunctions("gaussian(0.2)")
    """
    from mercer.maps import NystromMap

    k = as_kernel(kernel)
    line = np.linspace(*interval, 400)
    phi = NystromMap(k, n_components=None).fit(line[:, None])
    values = phi.eigenvalues_ / len(line)
    functions = phi.eigenfunctions(line[:, None]) * np.sqrt(len(line))
    ax = axes(ax)
    ax.axhline(0, color=QUIET, linewidth=0.8)
    for i in range(min(count, len(values))):
        f = functions[:, i] * (1.0 if functions[np.abs(functions[:, i]).argmax(), i] > 0 else -1.0)
        ax.plot(line, f, color=color_of(i), label=f"λ$_{{{i + 1}}}$ = {values[i]:.3g}")
    ax.set_ylim(None, 1.45 * ax.get_ylim()[1])
    legend(ax, frameon=False, ncols=2, loc="upper center")
    return tidy(ax, kernel_title(k), "x", "φᵢ(x)")


def taylor_truncations(
    sigma: float = 1.0, orders: Sequence[int] = (0, 1, 2, 4, 8), at: float = 1.5, ax: Any = None
) -> Any:
    """exp(−(x−z)²/2σ²) and Σ_{n ≤ N} of its Taylor series, for several N: ever closer.

    The series of "Lecture 09: Kernel Methods" (J. Abernethy), by `TaylorGaussianMap` at x = `at`.

    Parameters
    ----------
    sigma : float, default 1.0
        Width of the Gaussian.
    orders : list of int
        Where the series is cut; one curve each.
    at : float, default 1.5
        The point x.
    ax : matplotlib Axes or None
        Where to draw; None makes a new figure.

    Returns
    -------
    matplotlib Axes
        With the picture.

    Examples
    --------
    >>> from mercer import plot
    >>> ax = plot.taylor_truncations(orders=(1, 4))
    """
    from mercer.maps import TaylorGaussianMap

    ax = axes(ax)
    z = np.linspace(at - 4 * sigma, at + 3 * sigma, 300)
    ax.plot(z, Gaussian(sigma)([[at]], z[:, None])[0], color=INK, linewidth=3, alpha=0.35,
            label="Gaussian")  # fmt: skip
    for i, order in enumerate(orders):
        phi = TaylorGaussianMap(sigma, order).fit([[at]])
        values = phi.transform(z[:, None]) @ phi.transform([[at]])[0]
        ax.plot(z, values, color=color_of(i), linewidth=1.3, label=f"N = {order}")
    legend(ax, frameon=False)
    return tidy(ax, f"Taylor series, σ = {sigma:g}", "z", f"k({at:g}, z)")


def monomial_growth(
    inputs: Sequence[int] = range(2, 41), degrees: Sequence[int] = (2, 3, 4), ax: Any = None
) -> Any:
    """C(d + m − 1, d): the number of monomials of degree d over the number m of inputs.

    The curves of "Kernels and Kernelized Perceptron" (A. Ritter), one per degree.

    Parameters
    ----------
    inputs : list of int
        Numbers m of inputs.
    degrees : list of int
        One curve per degree d.
    ax : matplotlib Axes or None
        Where to draw; None makes a new figure.

    Returns
    -------
    matplotlib Axes
        With the picture.

    Examples
    --------
    >>> from mercer import plot
    >>> ax = plot.monomial_growth()
    """
    ax = axes(ax)
    inputs = list(inputs)
    for i, d in enumerate(degrees):
        counts = [math.comb(d + m - 1, d) for m in inputs]
        ax.plot(inputs, counts, color=color_of(i), label=f"d = {d}")
        ax.annotate(f"{counts[-1]:,}", (inputs[-1], counts[-1]), (0, 4), ha="right",
                    textcoords="offset points", color=color_of(i), fontsize="small")  # fmt: skip
    ax.set_yscale("log")
    legend(ax, frameon=False, title="degree", loc="upper left")
    return tidy(ax, "number of terms", "m, input features", "number of monomials")
