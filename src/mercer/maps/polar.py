"""Radius and angle of two columns, for the spirals of "Perceptron and Kernels" (A. Smola)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_array, check_is_fitted

from mercer._parameters import Anything, Flag, Maybe, Number, Pair
from mercer.kernels.estimators import estimator, parameter
from mercer.maps._base import FeatureMap, column_index, names_in


@estimator
class PolarMap(FeatureMap):
    """(x₁, x₂) = (r sin φ, r cos φ)  ↦  (r, φ), or (cos(φ − ωr), sin(φ − ωr)).

    The angle is the lecture's: φ = 0 along x₂ and φ = π/2 along x₁, in (−π, π], and 0 at the
    origin. Along a spiral that turns by ω radians per unit of radius φ − ωr is constant, so with
    ``winding=ω`` each arm of a set of spirals becomes one point of the unit circle, and arms
    become linearly separable.

    Parameters
    ----------
    columns : pair of int or str, default (0, 1)
        The columns taken as x₁ and x₂; names where X is a DataFrame. All others are passed
        through, after the two new ones.
    winding : float, optional
        ω. Without it the new columns are r and φ.
    unrolled : bool, default False
        With a winding, give r and φ − ωr in [−π/2, 3π/2) instead of its cosine and sine: each arm
        becomes a straight line of its own height, arms half a turn apart at 0 and π.

    Attributes
    ----------
    n_features_in_ : int
        Columns of the training rows. Nothing else is learned: `transform` works without `fit`.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.maps import PolarMap
    >>> PolarMap().fit_transform([[0.0, 2.0], [3.0, 0.0]])
    array([[2.        , 0.        ],
           [3.        , 1.57079633]])

    Two arms that turn by 2 radians a unit:

    >>> r = np.array([1.0, 2.0, 3.0])
    >>> arm = np.column_stack([r * np.sin(2 * r), r * np.cos(2 * r)])
    >>> phi = PolarMap(winding=2.0).fit(arm)
    >>> np.round(phi.transform(arm)[:, 0], 12), np.round(phi.transform(-arm)[:, 0], 12)
    (array([1., 1., 1.]), array([-1., -1., -1.]))
    """

    _min_features = 2

    columns: Any = parameter(Pair(Anything()), default=(0, 1))
    winding: float | None = parameter(Maybe(Number()), default=None)
    unrolled: bool = parameter(Flag(), default=False)

    def _fit(self, X: Any) -> None:
        self.split(X.shape[1])

    def split(self, n_features: int) -> tuple[tuple[int, int], list[int]]:
        """The two columns that are turned, and those passed through, of rows of this width."""
        names = list(getattr(self, "feature_names_in_", []))
        first, second = (column_index(c, names, n_features) for c in self.columns)
        if first == second:
            raise ValueError(f"columns must be two different columns, not {self.columns!r}")
        return (first, second), [j for j in range(n_features) if j not in (first, second)]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.requires_fit = False  # nothing is learned: warp(PolarMap()) works at once
        return tags

    def _transform(self, X: Any) -> NDArray[Any]:
        (first, second), rest = self.split(X.shape[1])
        x1, x2 = X[:, first], X[:, second]
        # arctan2 takes −0.0 for a side of the cut; adding 0.0 makes it the 0 it equals.
        r, angle = np.hypot(x1, x2), np.arctan2(x1 + 0.0, x2 + 0.0)
        out = np.empty_like(X, order="C")
        if self.winding is None:
            out[:, 0], out[:, 1] = r, angle
        else:
            turned = angle - X.dtype.type(self.winding) * r
            if self.unrolled:
                quarter = X.dtype.type(np.pi / 2)
                out[:, 0], out[:, 1] = r, (turned + quarter) % (4 * quarter) - quarter
            else:
                out[:, 0], out[:, 1] = np.cos(turned), np.sin(turned)
        out[:, 2:] = X[:, rest]
        return out

    def inverse_transform(self, X: Any) -> NDArray[Any]:
        """(r, φ) ↦ (r sin φ, r cos φ), each column back in its place. Needs ``winding=None``."""
        check_is_fitted(self, "n_features_in_")
        if self.winding is not None:
            raise ValueError("with a winding the radius is gone: the map cannot be inverted")
        X = check_array(X, dtype=(np.float64, np.float32))
        if X.shape[1] != self.n_features_in_:
            raise ValueError(f"X has {X.shape[1]} columns, and the map gives {self.n_features_in_}")
        out = np.empty_like(X, order="C")
        (first, second), rest = self.split(X.shape[1])
        out[:, first] = X[:, 0] * np.sin(X[:, 1])
        out[:, second] = X[:, 0] * np.cos(X[:, 1])
        out[:, rest] = X[:, 2:]
        return out

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """`r` and `phi`, or `cos(phi-2r)` and `sin(phi-2r)`; then the columns passed through."""
        names = names_in(self, input_features)
        if self.winding is None:
            new = ["r", "phi"]
        else:
            turned = f"phi{-self.winding:+g}r"
            new = ["r", turned] if self.unrolled else [f"cos({turned})", f"sin({turned})"]
        return np.asarray(new + [names[j] for j in self.split(len(names))[1]], dtype=object)
