"""Pictures of a perceptron at work: its mistakes, the proof that they end, and its wavering."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer import theory
from mercer._figures import INK, axes, color_of, legend, require_fitted, short, tidy


def _separator(model: Any, X: Any, y: Any) -> tuple[Any, np.ndarray, bool]:
    """The widest separator of the training set in the model's space, ±1 labels, with a bias?"""
    expansion = require_fitted(model).expansion_
    signs = np.where(np.asarray(y) == model.classes_[-1], 1.0, -1.0)
    bias = bool(getattr(model, "fit_intercept", False))
    return theory.separability(expansion.kernel, X, signs, bias), signs, bias


#: jρ, √j R and the bound in R and ρ of the data; with a bias each example has one coordinate more.
_FORMULAS = {
    False: ("jρ", "√j R", "(R/ρ)²"),
    True: ("jρ/√(b*² + 1)", "√(j (R² + 1))", "(b*² + 1)(R² + 1)/ρ²"),
}


def mistakes_against_bound(model: Any, X: Any, y: Any, ax: Any = None, visits: Any = None) -> Any:
    """Draw mistakes so far over examples seen, below (R/ρ)² where the classes are separable.

    With a bias the bound is (b*² + 1)(R² + 1)/ρ², as in G. Gordon and A. Smola's theorem.

    Parameters
    ----------
    model : KernelPerceptron
        Fitted, for two classes.
    X : array or list
        Its training examples.
    y : array of shape (n,)
        Two classes.
    ax : matplotlib Axes or None
        Where to draw; None makes a new figure.
    visits : list of visits, optional
        From ``model.steps(X, y)``, to spare making them again, or to draw the first ones only.

    Returns
    -------
    matplotlib Axes
        With the picture.

    Examples
    --------
    >>> from mercer import KernelPerceptron, data, plot
    >>> X, y = data.moons(60, noise=0.05)
    >>> model = KernelPerceptron("gaussian(0.4)", epochs=30, random_state=0).fit(X, y)
    >>> ax = plot.mistakes_against_bound(model, X, y)
    """
    ax = axes(ax)
    found, signs, bias = _separator(model, X, y)
    made = np.cumsum([0, *(v.updated for v in (model.steps(X, y) if visits is None else visits))])
    ax.plot(np.arange(len(made)), made, color=color_of(0), drawstyle="steps-post",
            label=f"{int(made[-1])} mistakes")  # fmt: skip
    if found.separator is not None:
        bound = theory.mistake_bound(found.separator, X, signs, bias)
        ax.axhline(bound, color=color_of(1), linestyle="--",
                   label=f"{_FORMULAS[bias][2]} = {short(bound)}")  # fmt: skip
        if bound > 20 * max(made[-1], 1):  # far above: both are seen on a logarithmic axis only
            ax.set_yscale("symlog", linthresh=1)
    ax.set_ylim(0, None)
    legend(ax, frameon=False)
    return tidy(ax, "mistakes and their bound", "examples seen", "mistakes so far")


@dataclass(frozen=True)
class ProofCurves:
    """What the convergence proof compares, after j = 0, 1, … updates.

    jρ ≤ `alignment` ≤ `norm` ≤ √j R: the two outer curves meet at (R/ρ)², so j ends before. With a
    bias w, w* and the examples have one coordinate more, and ρ and R are those of these.

    Parameters
    ----------
    updates : ndarray
        The numbers j = 0, 1, …
    alignment : ndarray
        The product ⟨w, w*⟩ after each.
    norm : ndarray
        The length ‖w‖ after each.
    rho : float
        The margin ρ of w*.
    R : float
        The largest length of an example.
    formulas : tuple of str
        jρ, √j R and the bound, in the R and ρ of the examples as they are.

    Examples
    --------
    >>> from mercer import KernelPerceptron, data, plot
    >>> X, y = data.blobs(20)
    >>> curves = plot.proof_curves(KernelPerceptron("linear()", shuffle=False).fit(X, y), X, y)
    >>> bool((curves.alignment <= curves.norm + 1e-9).all())
    True
    """

    updates: np.ndarray
    alignment: np.ndarray
    norm: np.ndarray
    rho: float
    R: float
    formulas: tuple[str, str, str] = _FORMULAS[False]

    @property
    def bound(self) -> float:
        return (self.R / self.rho) ** 2


def proof_curves(model: Any, X: Any, y: Any) -> ProofCurves:
    """⟨w, w*⟩ and ‖w‖ after every update of a perceptron, w* the widest separator, ‖w*‖ = 1.

    A bias is one more coordinate 1 of every example, as in the proof.

    Parameters
    ----------
    model : KernelPerceptron or Perceptron
        Fitted, for two separable classes.
    X : array or list
        Its training examples.
    y : array of shape (n,)
        Two classes.

    Returns
    -------
    ProofCurves
        What `convergence_proof` draws.

    Examples
    --------
    >>> from mercer import KernelPerceptron, data, plot
    >>> X, y = data.blobs(20)
    >>> curves = plot.proof_curves(KernelPerceptron("linear()", shuffle=False).fit(X, y), X, y)
    >>> int(curves.updates[0])
    0
    """
    found, _, bias = _separator(model, X, y)
    if found.separator is None:
        raise ValueError("these classes are not separable: the proof has no w* to speak of")
    visits = [v for v in model.steps(X, y, separator=found.separator) if v.updated]
    square = float(found.separator.squared_norm)
    b = float(found.separator.intercept)
    length = np.sqrt(square + b**2) if bias else np.sqrt(square)
    own = [np.sqrt(max(v.squared_norm + (v.intercept**2 if bias else 0.0), 0.0)) for v in visits]
    along = [(v.alignment + (b * v.intercept if bias else 0.0)) / length for v in visits]
    R = theory.radius(found.separator.kernel, X)
    return ProofCurves(
        np.arange(len(visits) + 1),
        np.array([0.0, *along]),
        np.array([0.0, *own]),
        found.margin * np.sqrt(square) / length,
        float(np.sqrt(R**2 + 1)) if bias else R,
        _FORMULAS[bias],
    )


def convergence_proof(
    model: Any,
    X: Any,
    y: Any,
    ax: Any = None,
    curves: ProofCurves | None = None,
    upto: int | None = None,
) -> Any:
    """jρ ≤ ⟨w, w*⟩ ≤ ‖w‖ ≤ √j R: the two outer curves pinch, so the updates j must end.

    The proof of the convergence theorem in "Perceptron and Kernels" (G. Gordon, A. Smola), drawn
    from a perceptron's own updates. `curves` (from `proof_curves`) spares computing them again, and
    `upto` shows the first so many updates only, in the frame of all: a film.

    Parameters
    ----------
    model : KernelPerceptron or Perceptron
        Fitted, for two separable classes.
    X : array or list
        Its training examples.
    y : array of shape (n,)
        Two classes.
    ax : matplotlib Axes or None
        Where to draw; None makes a new figure.
    curves : ProofCurves or None
        From `proof_curves`, to spare computing them again.
    upto : int or None
        Show the first so many updates only.

    Returns
    -------
    matplotlib Axes
        With the picture.

    Examples
    --------
    >>> from mercer import KernelPerceptron, data, plot
    >>> X, y = data.blobs(40)
    >>> model = KernelPerceptron("linear()", fit_intercept=True, shuffle=False).fit(X, y)
    >>> ax = plot.convergence_proof(model, X, y)
    """
    found = proof_curves(model, X, y) if curves is None else curves
    ax = axes(ax)
    top = max(found.bound, len(found.updates)) * 1.1
    j = np.geomspace(0.5, top, 300)
    low, high = found.rho * j, found.R * np.sqrt(j)
    ax.fill_between(j, low, high, where=low <= high, color=color_of(0), alpha=0.1, linewidth=0)
    lower, upper, bound = found.formulas
    ax.plot(j, high, color=color_of(1), linewidth=1, label=upper)
    made = slice(None if upto is None else upto + 1)
    for values, color, name in ((found.norm, 1, "‖w‖"), (found.alignment, 0, "⟨w, w*⟩")):
        ax.plot(found.updates[made], values[made], ".-", color=color_of(color), markersize=4,
                label=name)  # fmt: skip
    ax.plot(j, low, color=color_of(0), linewidth=1, label=lower)
    ax.axvline(found.bound, color=INK, linestyle=":", linewidth=1)
    ax.annotate(f"{bound} = {short(found.bound)}", (found.bound, 0.02), (-4, 0), ha="right",
                xycoords=("data", "axes fraction"), textcoords="offset points",
                fontsize="small")  # fmt: skip
    if found.bound > 10 * len(found.updates):  # far above: both ends are seen on logarithms only
        ax.set(xscale="log", yscale="log")
    ax.set_xlim(0.5, top)
    legend(ax, frameon=False, loc="upper left")
    return tidy(ax, f"{len(found.updates) - 1} updates, pinched", "updates j", "length")


def accuracy_over_visits(model: Any, X: Any, y: Any, ax: Any = None) -> Any:
    """The share of training examples that are right after every visit: a perceptron wavers.

    One update can spoil many earlier answers ("can thrash around", D. Klein); updates are dots.

    Parameters
    ----------
    model : KernelPerceptron or Perceptron
        Fitted, for two classes.
    X : array or list
        Its training examples.
    y : array of shape (n,)
        Their classes.
    ax : matplotlib Axes or None
        Where to draw; None makes a new figure.

    Returns
    -------
    matplotlib Axes
        With the picture.

    Examples
    --------
    >>> from mercer import KernelPerceptron, data, plot
    >>> X, y = data.moons(40)
    >>> model = KernelPerceptron("gaussian(0.5)", shuffle=False, epochs=5).fit(X, y)
    >>> ax = plot.accuracy_over_visits(model, X, y)
    """
    K = np.asarray(require_fitted(model).expansion_.kernel(X), dtype=float)
    signs = np.where(np.asarray(y) == model.classes_[-1], 1.0, -1.0)
    share, updated = [], []
    for visit in model.steps(X, y):
        scores = K @ visit.alpha + visit.intercept
        share.append(float(np.mean(np.where(scores > 0, 1.0, -1.0) == signs)))
        updated.append(visit.updated)
    ax = axes(ax)
    seen, right, dots = np.arange(1, len(share) + 1), np.array(share), np.array(updated)
    ax.plot(seen, right, drawstyle="steps-post", color=color_of(0), linewidth=1, label="accuracy")
    ax.plot(seen[dots], right[dots], ".", color=color_of(1), markersize=5, label="updates")
    ax.set_ylim(0, 1.04)
    legend(ax, frameon=False, loc="lower right")
    return tidy(ax, "accuracy visit by visit", "visits", "share of training examples right")
