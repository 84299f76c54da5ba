"""What theory says of a perceptron, next to what happened: radius, margin, separability, bounds.

Throughout, ρ = min yᵢ f*(xᵢ) / ‖w*‖ is the half width of the gap between the classes; the full
width δ = 2ρ is reported beside it, because one of the lectures means that one by "margin".
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._deprecated import warn_of
from mercer.expansion import KernelExpansion
from mercer.gram.host import HostGram
from mercer.kernels import Kernel, as_kernel

#: A gap below this share of the radius cannot be told from rounding.
RESOLUTION = 1e-7


def radius(kernel: Kernel | str, X: Any) -> float:
    """R = max √k(x, x): the largest length in feature space.

    Parameters
    ----------
    kernel : Kernel or str
        A kernel, or an expression such as "gaussian(2)".
    X : array or list
        The examples.

    Returns
    -------
    float
        The length R.

    Examples
    --------
    >>> from mercer import Linear, theory
    >>> theory.radius(Linear(), [[3.0, 4.0], [1.0, 0.0]])
    5.0
    """
    diagonal = as_kernel(kernel).diag(X)
    if diagonal.min() < 0:
        raise ValueError("k(x, x) is negative for some row: there is no length in feature space")
    return float(np.sqrt(diagonal.max(), dtype=np.float64))


def margin(separator: KernelExpansion, X: Any, y: Any) -> float:
    """ρ = min yᵢ f(xᵢ) / ‖w‖, labels ±1; negative where f does not separate the classes.

    Parameters
    ----------
    separator : KernelExpansion
        The function f.
    X : array or list
        The examples.
    y : array of shape (n,)
        Two classes.

    Returns
    -------
    float
        The distance ρ of the closest example, with its sign.

    Examples
    --------
    >>> from mercer import data, theory
    >>> X, y = data.blobs(40)
    >>> found = theory.separability("linear()", X, y)
    >>> round(theory.margin(found.separator, X, y) / found.margin, 3)
    1.0
    """
    return float(separator.margins(X, signs(y)).min())


def mistake_bound(
    separator: KernelExpansion, X: Any, y: Any, fit_intercept: bool | None = None
) -> float:
    """(R/ρ)² without a bias, (b*² + 1)(R² + 1)/ρ² with one, for ‖w*‖ = 1.

    The most updates a perceptron can make on data that `separator` separates, in any order, over
    any number of passes. `fit_intercept` says which perceptron; by default the one whose
    hypotheses contain the separator. Infinite where the separator does not separate.

    Parameters
    ----------
    separator : KernelExpansion
        That separates the examples.
    X : array or list
        The examples.
    y : array of shape (n,)
        Two classes.
    fit_intercept : bool or None
        Whether the perceptron has a bias; None: if the separator has.

    Returns
    -------
    float
        The most updates.

    Examples
    --------
    >>> from mercer import data, theory
    >>> X, y = data.blobs(40)
    >>> separator = theory.separability("linear()", X, y).separator
    >>> theory.mistake_bound(separator, X, y) > 1
    True
    """
    intercept = float(separator.intercept)
    if fit_intercept is None:
        fit_intercept = intercept != 0.0
    if not fit_intercept and intercept != 0.0:
        raise ValueError("a separator with an intercept bounds only a perceptron that has one")
    rho = margin(separator, X, y)
    if rho <= 0:
        return math.inf
    R = radius(separator.kernel, X)
    if not fit_intercept:
        return (R / rho) ** 2
    b = intercept / math.sqrt(float(separator.squared_norm))
    return (b**2 + 1) * (R**2 + 1) / rho**2


def compression_bound(n_examples: int, n_stored: int, confidence: float = 0.95) -> float:
    """(ln C(n, m) + ln n + ln 1/δ) / (n − m): error of a model rebuilt from m of n examples.

    For a classifier without error on the n − m examples it did not store; holds with probability
    1 − δ = `confidence` over the draw of the data. At most 1, which says nothing.

    Parameters
    ----------
    n_examples : int
        Training examples n.
    n_stored : int
        Examples m from which the model can be rebuilt.
    confidence : float, default 0.95
        How sure the bound is.

    Returns
    -------
    float
        The bound on the error of new examples.

    Examples
    --------
    >>> from mercer import theory
    >>> round(theory.compression_bound(10_000, 50), 4)
    0.0326
    """
    n, m = int(n_examples), int(n_stored)
    if not 0 <= m <= n or n < 1:
        raise ValueError(f"{m} stored of {n} examples is not possible")
    if not 0 < confidence < 1:
        raise ValueError(f"confidence lies between 0 and 1, got {confidence!r}")
    if m == n:
        return 1.0
    subsets = math.lgamma(n + 1) - math.lgamma(m + 1) - math.lgamma(n - m + 1)
    return min(1.0, (subsets + math.log(n) - math.log1p(-confidence)) / (n - m))


def margin_bound(
    n_examples: int, radius: float, margin: float, misses: int = 0, confidence: float = 0.95
) -> float:
    """m/n + 2R/(ρ√n) + 3√(ln(2/δ)/2n): error of a separator of margin ρ, dimension left out.

    The bound by Rademacher averages (Bartlett and Mendelson 2002) on the error on new examples, for
    a margin ρ chosen beforehand; m of the n training examples have a smaller one. It is why a
    maximum margin is good "according to PAC theory" (D. Klein). At most 1, which says nothing.

    Parameters
    ----------
    n_examples : int
        Training examples n.
    radius : float
        The largest length R in feature space.
    margin : float
        The distance ρ.
    misses : int, default 0
        Training examples m that are closer than that.
    confidence : float, default 0.95
        How sure the bound is.

    Returns
    -------
    float
        The bound on the error of new examples.

    Examples
    --------
    >>> from mercer import theory
    >>> round(theory.margin_bound(10_000, radius=1.0, margin=0.5), 4)
    0.0807
    """
    if n_examples < 1 or not 0 <= misses <= n_examples:
        raise ValueError(f"{misses} of {n_examples} examples is not possible")
    if not (radius >= 0 and margin > 0 and 0 < confidence < 1):
        raise ValueError("radius must be ≥ 0, margin > 0 and confidence between 0 and 1")
    n = float(n_examples)
    spread = 3 * math.sqrt(math.log(2 / (1 - confidence)) / (2 * n))
    return min(1.0, misses / n + 2 * radius / (margin * math.sqrt(n)) + spread)


def deviation_bound(
    separator: KernelExpansion, X: Any, y: Any, gamma: float | None = None
) -> tuple[float, float]:
    """((R + D)/γ)², D² = Σ max(0, γ − yᵢ f(xᵢ)/‖w‖)²: Freund and Schapire, any data, one pass.

    Gives the bound and its γ; by default the γ that makes it smallest. The separator has no
    intercept: the theorem speaks of u·φ(x).

    Parameters
    ----------
    separator : KernelExpansion
        To compare with.
    X : array or list
        The examples of one pass.
    y : array of shape (n,)
        Two classes.
    gamma : float or None
        The margin γ aimed at; None takes the best.

    Returns
    -------
    tuple of float
        The bound on the mistakes, and its γ.

    Examples
    --------
    >>> from mercer import data, theory
    >>> X, y = data.blobs(40)
    >>> separator = theory.separability("linear()", X, y).separator
    >>> bound, gamma = theory.deviation_bound(separator, X, y)
    >>> bound > 1
    True
    """
    if float(separator.intercept) != 0.0:
        raise ValueError("the theorem needs a separator through the origin (intercept 0)")
    gaps = separator.margins(X, signs(y))
    R = radius(separator.kernel, X)

    def bound(g: float) -> float:
        D = math.sqrt(float((np.maximum(0.0, g - gaps) ** 2).sum()))
        return ((R + D) / g) ** 2

    if gamma is not None:
        if not gamma > 0:
            raise ValueError(f"gamma must be positive, got {gamma!r}")
        return bound(float(gamma)), float(gamma)
    from scipy.optimize import minimize_scalar

    # The bound has several dips where gaps are spread out: a grid first, then a closer look.
    top = max(float(gaps.max()), R * 1e-6) * 2
    grid = np.geomspace(top * 1e-6, top, 200)
    best = int(np.argmin([bound(g) for g in grid]))
    low, high = grid[max(best - 1, 0)], grid[min(best + 1, len(grid) - 1)]
    found = minimize_scalar(bound, bounds=(low, high), method="bounded")
    at = float(found.x) if found.fun < bound(grid[best]) else float(grid[best])
    return bound(at), at


def regret(comparator: Any, X: Any, y: Any, losses: Any) -> float:
    """Σ losses − Σ max(0, 1 − yᵢ f(xᵢ)): what was lost beyond the comparator's hinge loss.

    Parameters
    ----------
    comparator : callable
        A function f of examples, such as a KernelExpansion.
    X : array or list
        The examples.
    y : array of shape (n,)
        Two classes.
    losses : array of shape (n,)
        What the learner lost on each, before learning it.

    Returns
    -------
    float
        Above 0 where the comparator would have lost less.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import theory
    >>> theory.regret(lambda X: np.ravel(X), [[2.0], [-2.0]], [1, -1], [0.5, 0.25])
    0.75
    """
    if not callable(comparator):
        warn_of("regret(losses, comparator, X, y)", "regret(comparator, X, y, losses)")
        comparator, X, y, losses = X, y, losses, comparator
    hinge = np.maximum(0.0, 1.0 - signs(y) * comparator(X))
    return float(np.sum(losses) - hinge.sum())


@dataclass(frozen=True)
class Separation:
    """Whether two classes can be told apart by a function of the kernel's space.

    Separable: `separator` has the widest gap there is, `margin` is its half width. Not separable:
    `certificate` holds μ ≥ 0, Σμ = 1, with Σ μᵢ yᵢ φ(xᵢ) = 0 (and Σ μᵢ yᵢ = 0 with an intercept):
    a mixture of one class that is a mixture of the other. `residual` is the length of that sum.

    Parameters
    ----------
    separable : bool
        Whether there is a separator.
    separator : KernelExpansion or None
        The widest one.
    margin : float
        Half the width of its gap.
    certificate : ndarray or None
        Weights μ that show that there is none.
    residual : float
        Length of the sum that should be zero.

    Examples
    --------
    >>> from mercer import data, theory
    >>> theory.separability("polynomial(2)", *data.xor()).separable
    True
    """

    separable: bool
    separator: KernelExpansion | None
    margin: float
    certificate: np.ndarray | None
    residual: float

    @property
    def width(self) -> float:
        """δ = 2ρ, the full width of the gap."""
        return 2 * self.margin

    def __bool__(self) -> bool:
        return self.separable

    def __str__(self) -> str:
        if self.separable:
            assert self.separator is not None
            return (
                f"separable: half width ρ = {self.margin:.6g}, full width δ = {self.width:.6g}, "
                f"{len(self.separator)} support vectors"
            )
        assert self.certificate is not None
        used = int((self.certificate > 0).sum())
        return f"not separable: a mixture of {used} examples, ‖Σ μᵢ yᵢ φ(xᵢ)‖ = {self.residual:.3g}"


def separability(kernel: Kernel | str, X: Any, y: Any, fit_intercept: bool = False) -> Separation:
    """The widest separator min ‖w‖, yᵢ (w·φ(xᵢ) + b) ≥ 1, or a certificate that none exists.

    Solved exactly, as a least-distance problem by non-negative least squares on the features
    that the eigenvectors of K give.

    Parameters
    ----------
    kernel : Kernel or str
        A kernel, or an expression such as "gaussian(2)".
    X : array or list
        The examples.
    y : array of shape (n,)
        Two classes.
    fit_intercept : bool, default False
        Whether the separator may have a bias b.

    Returns
    -------
    Separation
        True in an ``if`` where the classes are separable.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import Linear, Polynomial, theory
    >>> X, y = np.array([[1.0, 1], [-1, 1], [-1, -1], [1, -1]]), [1, -1, 1, -1]
    >>> bool(theory.separability(Linear(), X, y))
    False
    >>> print(theory.separability(Polynomial(2), X, y))
    separable: half width ρ = 1.41421, full width δ = 2.82843, 2 support vectors
    """
    kernel = as_kernel(kernel)
    y = signs(y)
    K = HostGram(kernel, X).dense().astype(np.float64)
    if len(K) != len(y):
        raise ValueError(f"X has {len(K)} rows and y has {len(y)} labels")
    values, vectors = np.linalg.eigh((K + K.T) / 2)
    scale = float(np.abs(values).max())
    if values.min() < -1e-8 * max(scale, 1e-300):
        raise ValueError(
            "the kernel matrix has a negative eigenvalue: separability is a question about "
            "valid kernels (see mercer.prove and mercer.repair)"
        )
    keep = values > len(K) * np.finfo(float).eps * scale
    features = vectors[:, keep] * np.sqrt(values[keep])
    length = math.sqrt(float(np.diag(K).max())) or 1.0
    rows = [(y[:, None] * features / length).T]
    if fit_intercept:
        # A bias that costs next to nothing: its feature is long, so that its weight stays small.
        rows.append(1e4 * y[None, :])
    system = np.vstack([*rows, np.ones((1, len(y)))])
    target = np.zeros(len(system))
    target[-1] = 1.0
    for least_squares in (_by_nnls, _by_bounds):
        mixture = least_squares(system, target)
        mu = mixture / float(mixture.sum())
        gap = float(np.linalg.norm(features.T @ (mu * y)))
        balance = abs(float(mu @ y)) * length if fit_intercept else 0.0
        if max(gap, balance) <= RESOLUTION * length:
            break
        coef = mu * y / gap**2
        scores = K @ coef
        intercept = 0.0
        if fit_intercept:
            up, down = scores[y > 0].min(), scores[y < 0].max()
            intercept = -float(up + down) / 2
        norm = math.sqrt(float(coef @ scores))
        rho = float((y * (scores + intercept)).min()) / norm
        # Half the distance of the mixtures is at least the half width of any gap between the
        # classes; where both are equal, neither can be improved.
        if rho >= (1 - 1e-6) * gap:
            break
    if max(gap, balance) <= RESOLUTION * length or rho <= RESOLUTION * length:
        return Separation(False, None, 0.0, mu, max(gap, balance))
    separator = KernelExpansion(kernel, X, coef, intercept).pruned()
    return Separation(True, separator, rho, None, 0.0)


def _by_nnls(system: np.ndarray, target: np.ndarray) -> np.ndarray:
    from scipy.optimize import nnls

    return np.asarray(nnls(system, target, maxiter=30 * system.shape[1] + 1000)[0])


def _by_bounds(system: np.ndarray, target: np.ndarray) -> np.ndarray:
    """The same by another algorithm: SciPy 1.15 ends its `nnls` too early at times."""
    from scipy.optimize import lsq_linear

    found = lsq_linear(system, target, bounds=(0, np.inf), method="bvls", tol=1e-15)
    return np.asarray(found.x)


@dataclass(frozen=True)
class Report:
    """Bounds next to facts, printable as a table.

    Parameters
    ----------
    rows : tuple of (str, float, float or None)
        What is counted, what happened, and its bound.

    Examples
    --------
    >>> from mercer import KernelPerceptron, data, theory
    >>> X, y = data.blobs(20)
    >>> model = KernelPerceptron("linear()", shuffle=False).fit(X, y)
    >>> theory.report(model, X, y).rows[0][0]
    'radius R'
    """

    rows: tuple[tuple[str, float, float | None], ...]

    def __str__(self) -> str:
        width = max(len(name) for name, _, _ in self.rows)
        lines = [f"{'':{width}}  {'theory':>12}  {'fact':>12}"]
        for name, bound, fact in self.rows:
            shown = "" if fact is None else f"{fact:.6g}"
            lines.append(f"{name:{width}}  {bound:>12.6g}  {shown:>12}")
        return "\n".join(lines)

    def __getitem__(self, name: str) -> tuple[float, float | None]:
        for row, bound, fact in self.rows:
            if row == name:
                return bound, fact
        raise KeyError(f"{name!r} is not in the report; it has {[r[0] for r in self.rows]}")


def report(model: Any, X: Any, y: Any, confidence: float = 0.95) -> Report:
    """Show bounds for a fitted binary `KernelPerceptron` on its training set, beside what it did.

    Parameters
    ----------
    model : KernelPerceptron
        Fitted, for two classes.
    X : array or list
        Its training examples.
    y : array of shape (n,)
        Two classes.
    confidence : float, default 0.95
        How sure the bound on new examples is.

    Returns
    -------
    Report
        That prints as a table.

    Examples
    --------
    >>> from mercer import KernelPerceptron, data, theory
    >>> X, y = data.blobs(20)
    >>> report = theory.report(KernelPerceptron("linear()", shuffle=False).fit(X, y), X, y)
    >>> len(report.rows) > 1
    True
    """
    kernel = model.expansion_.kernel
    y = np.asarray(y)
    positive = np.where(y == model.classes_[-1], 1, -1)
    separation = separability(kernel, X, positive, bool(model.fit_intercept))
    mistakes = float(model.n_mistakes_)
    rows: list[tuple[str, float, float | None]] = [("radius R", radius(kernel, X), None)]
    rows.append(("half width ρ", separation.margin, None))
    rows.append(("full width δ = 2ρ", separation.width, None))
    if separation.separator is not None:
        bound = mistake_bound(separation.separator, X, positive, bool(model.fit_intercept))
        rows.append(("mistakes", bound, mistakes))
        centered = separation.separator
    else:
        rows.append(("mistakes", math.inf, mistakes))
        centered = model.expansion_
    if float(centered.intercept) == 0.0 and centered.coef.ndim == 1 and len(centered):
        bound, _ = deviation_bound(centered, X, positive)
        first = getattr(model, "history_", None)
        rows.append(("mistakes in one pass", bound, _first_pass(first, mistakes)))
    wrong = float(np.mean(model.predict(X) != y))
    stored = len(model.expansion_)
    bound = compression_bound(len(y), stored, confidence) if wrong == 0 else 1.0
    rows.append((f"test error (confidence {confidence:g})", bound, None))
    return Report(tuple(rows))


def _first_pass(history: Any, mistakes: float) -> float:
    """Mistakes of the first epoch, from a model's history; all of them where there is none."""
    try:
        first = history[0]
        return float(first["mistakes"] if isinstance(first, dict) else first)
    except (TypeError, KeyError, IndexError):
        return mistakes


def signs(y: Any) -> np.ndarray:
    """Write labels as ±1; the larger of two other labels becomes 1.

    Parameters
    ----------
    y : array of shape (n,)
        Two classes.

    Returns
    -------
    ndarray of float
        With −1 and 1.

    Examples
    --------
    >>> from mercer import theory
    >>> theory.signs(["ham", "spam", "ham"])
    array([-1.,  1., -1.])
    """
    y = np.asarray(y)
    kinds = np.unique(y)
    if len(kinds) > 2:
        raise ValueError(f"two classes are needed, got {len(kinds)}: {kinds[:5].tolist()}…")
    if np.isin(kinds, (-1, 1)).all():
        return y.astype(np.float64)
    if len(kinds) < 2:
        raise ValueError(f"two classes are needed, got only {kinds.tolist()}")
    return np.where(y == kinds[1], 1.0, -1.0)
