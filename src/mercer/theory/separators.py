"""Separators of small data sets: Hebb's, all of them, and those that err least."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.theory.separation import signs

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
