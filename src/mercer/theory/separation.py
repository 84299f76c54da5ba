"""Whether two classes can be separated: the widest separator, or a certificate that none exists."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer._escape.terminal import printable
from mercer.expansion import KernelExpansion
from mercer.gram import host_gram
from mercer.kernels import Kernel, as_kernel

# Lengths in feature space: the radius of the data, the margin of a separator; labels as signs.
# Throughout, ρ = min yᵢ f*(xᵢ) / ‖w*‖ is the half width of the gap between the classes; the full
# width δ = 2ρ is reported beside it, because one of the lectures means that one by "margin".


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


#: A gap below this share of the radius cannot be told from rounding.
RESOLUTION = 1e-7


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

    @printable
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
    K = host_gram(kernel, X).dense().astype(np.float64)
    if len(K) != len(y):
        raise ValueError(f"X has {len(K)} rows and y has {len(y)} labels")
    features = _features(K)
    length = math.sqrt(float(np.diag(K).max())) or 1.0
    system = [(y[:, None] * features / length).T, np.ones((1, len(y)))]
    if fit_intercept:
        # A bias that costs next to nothing: its feature is long, so that its weight stays small.
        system.insert(1, 1e4 * y[None, :])
    target = np.zeros(sum(map(len, system)))
    target[-1] = 1.0
    for least_squares in (_by_nnls, _by_bounds):
        mixture = least_squares(np.vstack(system), target)
        mu = mixture / float(mixture.sum())
        gap = float(np.linalg.norm(features.T @ (mu * y)))
        balance = abs(float(mu @ y)) * length if fit_intercept else 0.0
        if max(gap, balance) <= RESOLUTION * length:
            rho = 0.0
            break
        coef = mu * y / gap**2
        intercept, rho = _intercept_and_margin(K, coef, y, fit_intercept)
        # Half the distance of the mixtures is at least the half width of any gap between the
        # classes; where both are equal, neither can be improved.
        if rho >= (1 - 1e-6) * gap:
            break
    if rho <= RESOLUTION * length:
        return Separation(False, None, 0.0, mu, max(gap, balance))
    separator = KernelExpansion(kernel, X, coef, intercept).pruned()
    return Separation(True, separator, rho, None, 0.0)


def _features(K: np.ndarray) -> np.ndarray:
    """Φ with ΦΦᵀ = K, from the eigenvectors of K."""
    values, vectors = np.linalg.eigh((K + K.T) / 2)
    scale = float(np.abs(values).max())
    if values.min() < -1e-8 * max(scale, 1e-300):
        raise ValueError(
            "the kernel matrix has a negative eigenvalue: separability is a question about "
            "valid kernels (see mercer.prove and mercer.repair)"
        )
    keep = values > len(K) * np.finfo(float).eps * scale
    return np.asarray(vectors[:, keep] * np.sqrt(values[keep]))


def _intercept_and_margin(
    K: np.ndarray, coef: np.ndarray, y: np.ndarray, fit_intercept: bool
) -> tuple[float, float]:
    """b in the middle between the classes, or 0, and ρ of the separator of these coefficients."""
    scores = K @ coef
    intercept = 0.0
    if fit_intercept:
        up, down = scores[y > 0].min(), scores[y < 0].max()
        intercept = -float(up + down) / 2
    norm = math.sqrt(float(coef @ scores))
    return intercept, float((y * (scores + intercept)).min()) / norm


def _by_nnls(system: np.ndarray, target: np.ndarray) -> np.ndarray:
    """The combination of columns with weights ≥ 0 that comes closest to the target."""
    from scipy.optimize import nnls

    return np.asarray(nnls(system, target, maxiter=30 * system.shape[1] + 1000)[0])


def _by_bounds(system: np.ndarray, target: np.ndarray) -> np.ndarray:
    """The same by another algorithm: SciPy 1.15 ends its `nnls` too early at times."""
    from scipy.optimize import lsq_linear

    found = lsq_linear(system, target, bounds=(0, np.inf), method="bvls", tol=1e-15)
    return np.asarray(found.x)


# --- Separators of small data sets: Hebb's, all of them, and those that err least -----------------


#: Lines through two points each are tried, so the work grows with the cube of the examples.
MOST = 400


def hebb(X: Any, y: Any) -> np.ndarray:
    """w = Σ yᵢ xᵢ over all examples: Hebb's rule, which adds without asking whether it was right.

    Parameters
    ----------
    X : array of shape (n, n_features)
        The examples.
    y : array of shape (n,)
        Two classes.

    Returns
    -------
    ndarray of shape (n_features,)
        The weights.

    Examples
    --------
    >>> from mercer import theory
    >>> theory.hebb([[1.0, 0.0], [0.0, 2.0]], [1, -1])
    array([ 1., -2.])
    """
    return np.asarray(signs(y) @ np.asarray(X, dtype=float))


@dataclass(frozen=True)
class VersionSpace:
    """All separators of two classes in the plane: unit normals by angle, and the offsets allowed.

    A line {x : w·x = t} with w at `angles[i]` (degrees) has the positive class on the side of w iff
    `lower[i]` < t < `upper[i]`; `open` says where there is such a t.

    Parameters
    ----------
    angles : ndarray
        Of the unit normal w, in degrees.
    lower, upper : ndarray
        Ends of the offsets allowed at each angle.

    Examples
    --------
    >>> from mercer import data, theory
    >>> bool(theory.version_space(*data.blobs(20)).open.any())
    True
    """

    angles: np.ndarray
    lower: np.ndarray
    upper: np.ndarray

    @property
    def open(self) -> np.ndarray:
        return self.lower < self.upper

    def __bool__(self) -> bool:
        return bool(self.open.any())


def version_space(X: Any, y: Any, n_angles: int = 721) -> VersionSpace:
    """{(w, t) : w·xᵢ > t for y = 1, w·xᵢ < t for y = −1}, ‖w‖ = 1, for examples in the plane.

    Parameters
    ----------
    X : array of shape (n, 2)
        Examples in the plane.
    y : array of shape (n,)
        Two classes.
    n_angles : int, default 721
        Directions of w that are looked at.

    Returns
    -------
    VersionSpace
        The offsets allowed for each direction.

    Examples
    --------
    >>> from mercer import theory
    >>> space = theory.version_space([[0.0, 0.0], [2.0, 0.0]], [-1, 1], n_angles=5)
    >>> space.angles.tolist(), space.open.tolist()
    ([-180.0, -90.0, 0.0, 90.0, 180.0], [False, False, True, False, False])
    """
    X, y = np.asarray(X, dtype=float), signs(y)
    if X.ndim != 2 or X.shape[1] != 2:
        raise ValueError(f"the version space is drawn for two columns, got shape {X.shape}")
    angles = np.linspace(-180.0, 180.0, n_angles)
    normals = np.stack([np.cos(np.radians(angles)), np.sin(np.radians(angles))])
    along = X @ normals
    # Rounding must not open a gap between points that lie on one line.
    rounding = 8 * np.finfo(float).eps * float(np.abs(X).max(initial=1.0))
    return VersionSpace(angles, along[y < 0].max(axis=0), along[y > 0].min(axis=0) - rounding)


def fewest_errors(X: Any, y: Any) -> tuple[np.ndarray, float, int]:
    """(w, b, errors): a line in the plane with the fewest errors there can be, by trying all.

    Some best line passes next to two of the examples, so lines through every pair, shifted a
    little to either side and turned a little either way, are enough: O(n³), for at most 400
    examples. In higher dimensions the problem is NP-hard (Minsky and Papert's caveat).

    Parameters
    ----------
    X : array of shape (n, 2)
        Examples in the plane.
    y : array of shape (n,)
        Two classes.

    Returns
    -------
    tuple of ndarray, float, int
        The weights w, the offset b, and the number of errors.

    Examples
    --------
    >>> from mercer import data, theory
    >>> theory.fewest_errors(*data.xor())[2]
    1
    """
    X, y = np.asarray(X, dtype=float), signs(y)
    n = len(X)
    if X.ndim != 2 or X.shape[1] != 2 or n > MOST:
        raise ValueError(f"at most {MOST} examples of two columns are tried, got {X.shape}")
    best: tuple[np.ndarray, float, int] = (np.array([1.0, 0.0]), np.inf, int((y < 0).sum()))
    best = min(best, (np.array([1.0, 0.0]), -np.inf, int((y > 0).sum())), key=lambda one: one[2])
    for i in range(n):
        ways = X - X[i]
        ways = ways[np.hypot(*ways.T) > 0]
        turn = np.arctan2(ways[:, 0], -ways[:, 1])
        # Normals between those of the pairs: turned past one point, not yet past the next.
        turn = np.unique(np.concatenate([turn, turn + np.pi]) % (2 * np.pi))
        if not len(turn):
            continue
        between = (turn + np.diff(turn, append=turn[0] + 2 * np.pi) / 2)[:, None]
        normals = np.hstack([np.cos(between), np.sin(between)])
        along = (X - X[i]) @ normals.T
        here = np.isclose(along, 0, atol=1e-12 * float(np.abs(X).max(initial=1.0)))
        for side in (-1.0, 1.0):  # the example itself on either side
            wrong = np.where(here, side, np.sign(along)) != y[:, None]
            errors = wrong.sum(axis=0)
            j = int(errors.argmin())
            if errors[j] < best[2]:
                gaps = np.abs(along[:, j])[~here[:, j]]
                shift = side * 0.5 * float(gaps.min(initial=np.inf)) if len(gaps) else side
                best = normals[j], shift - float(normals[j] @ X[i]), int(errors[j])
    return best
