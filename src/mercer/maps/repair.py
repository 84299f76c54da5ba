"""An indefinite matrix of similarities made usable, for training rows and new rows alike."""

from __future__ import annotations

from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer._bases import OneToOneFeatureMixin
from mercer._parameters import OneOf
from mercer.kernels.estimators import estimator, parameter
from mercer.maps._base import FeatureMap


@estimator
class SpectrumRepair(OneToOneFeatureMixin, FeatureMap):
    """K = UΛUᵀ ↦ K P with P = U[λ > 0]Uᵀ (clip) or U sign(λ)Uᵀ (flip), or K − min(λ) I (shift).

    X is a kernel matrix: the training rows K (n, n) in `fit`, and k(new, training) (m, n) in
    `transform`. Clip and flip are the same linear map P on training and new rows, so a new row
    that equals a training row is repaired to the same numbers; `mercer.repair(K)` is what becomes
    of K itself. The shift is a term δ that a point shares with nothing but itself: it goes on
    the diagonal of training rows, and new rows stay as they are. `transform` takes a row for the
    training row it is equal to, bit by bit.

    A matrix that is positive semi-definite up to rounding passes unchanged.

    Parameters
    ----------
    how : {"clip", "flip", "shift"}, default "clip"
        λ' = max(λ, 0), the nearest such matrix; λ' = |λ|; or λ' = λ − min(λ).

    Attributes
    ----------
    eigenvalues_ : ndarray of shape (n,)
        λ, before the repair, in increasing order.
    shift_ : float
        δ = −min(λ), or 0 where there is nothing to repair.

    Examples
    --------
    The counterexample of Gordon and Smola's lecture, k = 1 if |x − z| ≤ 1, at x = 1, 2, 3:

    >>> import numpy as np
    >>> from mercer.maps import SpectrumRepair
    >>> K = np.array([[1.0, 1.0, 0.0], [1.0, 1.0, 1.0], [0.0, 1.0, 1.0]])
    >>> fix = SpectrumRepair("shift").fit(K)
    >>> fix.eigenvalues_.round(4)
    array([-0.4142,  1.    ,  2.4142])
    >>> fix.transform(K).round(4)
    array([[1.4142, 1.    , 0.    ],
           [1.    , 1.4142, 1.    ],
           [0.    , 1.    , 1.4142]])
    >>> fix.transform([[1.0, 0.0, 0.0]])
    array([[1., 0., 0.]])
    """

    how: str = parameter(OneOf("clip", "flip", "shift"), default="clip")

    def _fit(self, X: Any) -> None:
        if X.shape[0] != X.shape[1]:
            raise ValueError(f"the training kernel matrix must be square, not of shape {X.shape}")
        K = X.astype(np.float64)
        rounding = np.finfo(X.dtype).eps * len(K) * np.abs(K).max()
        if np.abs(K - K.T).max() > 100 * rounding:
            raise ValueError("K is not symmetric; give (K + K.T) / 2 if that is what you mean")
        values, vectors = np.linalg.eigh((K + K.T) / 2)
        self.eigenvalues_ = values
        self._map: NDArray[np.float64] | None = None
        self._training: dict[bytes, list[int]] = {}
        self.shift_: float = float(-values[0]) if values[0] < -rounding else 0.0
        if not self.shift_:
            return
        if self.how == "shift":
            for i, row in enumerate(X):
                self._training.setdefault(_digest(row), []).append(i)
        else:
            kept = np.sign(values) if self.how == "flip" else (values > 0).astype(np.float64)
            self._map = (vectors * kept) @ vectors.T

    def _transform(self, X: Any) -> NDArray[Any]:
        if self._map is not None:
            return np.asarray((X.astype(np.float64) @ self._map).astype(X.dtype))
        X = X.copy()
        if self._training:
            # Two training points may have equal rows: the first to come is then the first of them.
            seen: dict[bytes, int] = {}
            for row in X:
                key = _digest(row)
                if key in self._training:
                    twins = self._training[key]
                    row[twins[seen.get(key, 0) % len(twins)]] += self.shift_
                    seen[key] = seen.get(key, 0) + 1
        return np.asarray(X)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = True
        return tags


def _digest(row: NDArray[Any]) -> bytes:
    """A name for the numbers of a row, the same in every process and for 0.0 and −0.0."""
    return blake2b((row.astype(np.float64) + 0.0).tobytes(), digest_size=16).digest()
