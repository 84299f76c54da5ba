"""Deformable templates: an ideal image of each class, bent until it fits, at a price."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted, validate_data

from mercer._arrays import winners
from mercer._bases import BaseEstimator, ClassifierMixin
from mercer._parameters import Count, Maybe, NonNegative, Pair, check_parameters
from mercer.kernels.estimators import estimator, parameter
from mercer.learners._base import Savable, classes_of, encode, targets
from mercer.learners._options import log_weights
from mercer.solvers.warping import Warps, fit_warps, splat, warped


@estimator
class DeformableTemplateClassifier(Savable, ClassifierMixin, BaseEstimator):
    """ŷ(x) = argmin over classes c of min over warps u of ‖x − T_c(p + u(p))‖²/s² + λ·bending(u).

    T_c is the ideal image of class c and u a smooth displacement of its points p: a few cosines in
    each direction. Two costs (Klein): image points that are far from the distorted template,
    in units of the spread s² of the training images about theirs, and distortion itself. λ = ∞
    would be the nearest mean; λ = 0 lets every template become anything.

    Parameters
    ----------
    shape : (height, width) or None
        Of an image; None takes 1 × n_features.
    stiffness : float
        λ, the price of a displacement by one pixel; bends cost more than shifts, by the square of
        their frequency and one.
    max_frequency : int
        Cosines up to this frequency in each direction; 0 allows shifts only.
    rounds : int
        How often the templates are made anew from the images pulled back onto them, which makes
        them sharper than a mean.
    max_iter : int
        Gauss-Newton steps for each fit at most.
    class_weight : dict, "balanced" or None
        Takes 2 log w_c off the price of class c, as P(c) ∝ w_c does where a price is −2 log p(x|c).
        None counts all classes alike, however many images they have.

    Attributes
    ----------
    classes_, templates_ : the classes and an image for each, (classes, height, width)
    scale_ : float
        s², the mean square of a pixel's residual.
    n_iter_ : int
        How often the templates were made: as means, and once a round.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import DeformableTemplateClassifier
    >>> bump = lambda center, width: np.exp(-np.square((np.arange(20) - center) / width))
    >>> X = np.array([bump(9, 2), bump(10, 2), bump(9, 5), bump(10, 5)])
    >>> model = DeformableTemplateClassifier().fit(X, ["thin", "thin", "thick", "thick"])
    >>> model.predict([bump(12, 2), bump(7, 5)])
    array(['thin', 'thick'], dtype='<U5')
    """

    shape: Any = parameter(Maybe(Pair(Count())), default=None)
    _: KW_ONLY
    stiffness: float = parameter(NonNegative(), default=10.0)
    max_frequency: int = parameter(Count(0), default=2, name_was="order")
    rounds: int = parameter(Count(0), default=2)
    max_iter: int = parameter(Count(0), default=8, name_was="iterations")
    class_weight: Any = None

    def fit(self, X: Any, y: Any) -> Self:
        """The templates: means, then means of what is pulled back onto them."""
        check_parameters(self, self._parameters)
        X = validate_data(self, X, reset=True, dtype=np.float64)
        y = targets(X, y, type(self).__name__, labels=True)
        self.classes_: np.ndarray = classes_of(y, type(self).__name__)
        codes = encode(y, self.classes_)
        self._log_weight = log_weights(self.classes_, codes, None, self.class_weight)
        height, width = self._shape()
        self.scale_: float = 1.0
        self._warps = Warps.cosines((height, width), int(self.max_frequency), float(self.stiffness))
        members = [X[codes == c] for c in range(len(self.classes_))]
        templates = [rows.mean(axis=0) for rows in members]
        self.scale_ = self._spread(members, templates)
        for _ in range(self.rounds):
            for c, rows in enumerate(members):
                steps = self._fit(rows, templates[c])[0]
                templates[c] = splat(self._warps, rows, steps, templates[c])
            fitted = [self._best(rows, templates[c]) for c, rows in enumerate(members)]
            self.scale_ = self._spread(members, fitted)
        self.n_iter_: int = 1 + int(self.rounds)
        self.templates_: np.ndarray = np.stack(templates).reshape(-1, height, width)
        return self

    def _shape(self) -> tuple[int, int]:
        if self.shape is None:
            return 1, int(self.n_features_in_)
        height, width = self.shape
        if height * width != self.n_features_in_:
            raise ValueError(
                f"X has {self.n_features_in_} features, which are no images of {height} × {width}"
            )
        return height, width

    def _spread(self, members: list[np.ndarray], fitted: list[np.ndarray]) -> float:
        """s², from residuals; never below rounding, where all images of a class are one."""
        both = zip(members, fitted, strict=True)
        squares = [np.square(rows - fit).mean() * len(rows) for rows, fit in both]
        size = sum(len(rows) for rows in members)
        largest = max(float(np.square(rows).max()) for rows in members)
        return max(float(sum(squares)) / size, 1e-6 * largest, 1e-300)

    def _fit(self, X: np.ndarray, template: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return fit_warps(self._warps, X, template, self.scale_, int(self.max_iter))

    def _best(self, X: np.ndarray, template: np.ndarray) -> np.ndarray:
        return warped(self._warps, template, self._fit(X, template)[0])

    def energies(self, X: Any) -> np.ndarray:
        """The price of the best fit of every template to every image."""
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, dtype=np.float64)
        flat = self.templates_.reshape(len(self.classes_), -1)
        return np.column_stack([self._fit(X, template)[1] for template in flat])

    def deform(self, X: Any, label: Any) -> np.ndarray:
        """The template of one class bent to fit each image: (n, height, width)."""
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, dtype=np.float64)
        template = self.templates_[encode(np.array([label]), self.classes_)[0]]
        return self._best(X, template.ravel()).reshape(-1, *template.shape)

    def displacements(self, X: Any, label: Any) -> np.ndarray:
        """u(p) of the best fit of one class's template to each image: (n, 2, height, width).

        A pixel at row r and column c shows what the template has at r + u[0], c + u[1].
        """
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, dtype=np.float64)
        template = self.templates_[encode(np.array([label]), self.classes_)[0]]
        at = self._warps.positions(self._fit(X, template.ravel())[0])
        return np.stack(at, axis=1).reshape(-1, 2, *template.shape) - np.indices(template.shape)

    def decision_function(self, X: Any) -> np.ndarray:
        """Minus the price of each class; for two classes, the first's less the second's."""
        # A model from a file of an earlier version has no weights of classes.
        scores = 2.0 * getattr(self, "_log_weight", 0.0) - self.energies(X)
        return scores[:, 1] - scores[:, 0] if len(self.classes_) == 2 else scores

    def predict(self, X: Any) -> np.ndarray:
        """The class whose template fits at the lowest price."""
        best = winners(self.decision_function(X))
        return np.asarray(self.classes_[best])
