"""What a user without a library writes, as models with `fit` and `predict`: peers of benches."""

from __future__ import annotations

import warnings
from importlib.util import find_spec
from typing import Any, Self

import numpy as np
from sklearn.metrics.pairwise import pairwise_kernels

#: A score of 0 comes out as less than this.
ROUNDING = 1e-9


class Whole:
    """Predicts the matrix k(asked, X) itself; with `times`, its product with a vector."""

    def __init__(self, kernel: Any, times: bool = False) -> None:
        self.kernel, self.times = kernel, times

    def fit(self, X: Any, v: Any = None) -> Self:
        self.X, self.v = X, v
        return self

    def predict(self, asked: Any) -> np.ndarray:
        if not self.times:
            return np.asarray(self._values(asked))
        return np.asarray(self._product(asked))

    def _values(self, asked: Any) -> Any:
        return self.kernel(asked, self.X)

    def _product(self, asked: Any) -> Any:
        return self.kernel.gram(asked, self.X) @ self.v


class PeerWhole(Whole):
    """The same by scikit-learn's functions, in scikit-learn's words."""

    def _values(self, asked: Any) -> Any:
        words = dict(self.kernel)
        return pairwise_kernels(asked, self.X, metric=words.pop("kernel"), **words)

    def _product(self, asked: Any) -> Any:
        return self._values(asked) @ self.v


class WeightedMeans(PeerWhole):
    """Σ k y / Σ k, all of K at once."""

    def predict(self, asked: Any) -> np.ndarray:
        K = np.asarray(self._values(asked))
        return np.asarray(K @ self.v / np.maximum(K.sum(axis=1), 1e-300))


class KernelRegMeans:
    """The same by statsmodels' KernelReg: local constant, one given width for all columns."""

    #: Its weights are products over columns of densities of at most 0.4: with more they are 0.
    COLUMNS = 300

    def __init__(self, sigma: float) -> None:
        self.sigma = sigma

    @classmethod
    def serves(cls, X: Any, words: dict[str, Any]) -> bool:
        """Whether it is installed and takes this data (dense) and kernel (a Gaussian)."""
        dense = isinstance(X, np.ndarray) and X.shape[1] <= cls.COLUMNS
        return dense and words["kernel"] == "rbf" and cls.is_installed()

    @staticmethod
    def is_installed() -> bool:
        return find_spec("statsmodels") is not None

    def fit(self, X: Any, y: Any) -> Self:
        from statsmodels.nonparametric.kernel_regression import KernelReg

        width = np.full(X.shape[1], self.sigma)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)  # of its own random numbers, unused here
            self.model = KernelReg(y, X, "c" * X.shape[1], reg_type="lc", bw=width)
        return self

    def predict(self, asked: Any) -> np.ndarray:
        with np.errstate(all="ignore"):  # its slopes, which nobody asks for, may be 0 / 0
            return np.asarray(self.model.fit(asked)[0])


class LoopPerceptron(PeerWhole):
    """The dual perceptron as a loop over rows of K, for labels 0 and 1; one epoch."""

    def fit(self, X: Any, y: Any = None) -> Self:
        self.X, target = X, np.where(np.asarray(y) == 1, 1.0, -1.0)
        K, alpha = np.asarray(self._values(X)), np.zeros(len(target))
        for i in range(len(target)):
            if target[i] * (alpha @ K[i]) <= ROUNDING:
                alpha[i] += target[i]
        self.v = alpha
        return self

    def predict(self, asked: Any) -> np.ndarray:
        return (self.decision_function(asked) > 0).astype(int)

    def decision_function(self, asked: Any) -> np.ndarray:
        return np.asarray(self._product(asked))


class Transformer:
    """A feature map, whose features are what is predicted."""

    def __init__(self, map_: Any) -> None:
        self.map = map_

    def fit(self, X: Any, y: Any = None) -> Self:
        self.map.fit(X)
        return self

    def predict(self, asked: Any) -> np.ndarray:
        return np.asarray(self.map.transform(asked))
