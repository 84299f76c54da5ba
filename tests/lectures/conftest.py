"""What every lecture test needs: a linear separator, explicit features, columns up to order."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from scipy.optimize import linprog

import mercer


def _separable(features: np.ndarray, labels: np.ndarray, *, bias: bool = True) -> bool:
    """Is there (w, b) with yᵢ(w·φᵢ + b) ≥ 1 for every i?  A linear program decides it.

    Given a Gram matrix K for `features`, w runs over α, so the answer is about the feature
    space of the kernel: w = Σ αᵢ φ(xᵢ) gives w·φ(xⱼ) = (Kα)ⱼ.
    """
    features = np.asarray(features, dtype=float)
    labels = np.asarray(labels, dtype=float)
    assert set(labels) == {-1.0, 1.0}
    columns = np.column_stack([features, np.ones(len(features))]) if bias else features
    answer = linprog(
        np.zeros(columns.shape[1]),
        A_ub=-labels[:, None] * columns,
        b_ub=-np.ones(len(labels)),
        bounds=(None, None),
        method="highs",
    )
    assert answer.status in (0, 2), answer.message
    return answer.status == 0


def _features(kernel: mercer.kernels.Kernel, X: np.ndarray) -> np.ndarray:
    """Φ: the kernel's own explicit map on the rows of X."""
    return np.asarray(kernel.feature_map(X.shape[1]).fit_transform(X))


def _same_columns(left: np.ndarray, right: np.ndarray) -> bool:
    """Equal as sets of columns: lectures and library need not agree on the order of monomials."""
    if left.shape != right.shape:
        return False
    rest = list(range(right.shape[1]))
    for column in left.T:
        match = next((j for j in rest if np.allclose(column, right[:, j], rtol=1e-12)), None)
        if match is None:
            return False
        rest.remove(match)
    return True


def _smallest_eigenvalue(K: np.ndarray) -> float:
    """The smallest eigenvalue of K, relative to the largest."""
    values = np.linalg.eigvalsh(K)
    return float(values[0] / max(values[-1], 1.0))


@pytest.fixture
def separable() -> Callable[..., bool]:
    return _separable


@pytest.fixture
def features() -> Callable[..., np.ndarray]:
    return _features


@pytest.fixture
def same_columns() -> Callable[..., bool]:
    return _same_columns


@pytest.fixture
def smallest_eigenvalue() -> Callable[..., float]:
    return _smallest_eigenvalue


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(20060302)


@pytest.fixture
def integers(rng: np.random.Generator) -> np.ndarray:
    """Twelve points of ℤ²: polynomial kernels on them are exact in float64."""
    return rng.integers(-4, 5, size=(12, 2)).astype(float)


@pytest.fixture
def circles() -> tuple[np.ndarray, np.ndarray]:
    """Lecture 001's picture: one class on an inner circle, the other on a circle around it."""
    angle = np.linspace(0.0, 2 * np.pi, 20, endpoint=False)
    ring = np.column_stack([np.cos(angle), np.sin(angle)])
    return np.vstack([ring, 2.0 * ring]), np.repeat([1.0, -1.0], 20)


@pytest.fixture
def signed_alpha() -> Callable[..., np.ndarray]:
    """Signed α, one row a training example, from what a fitted kernel learner stores."""

    def alpha(model: object, n: int) -> np.ndarray:
        coef = np.atleast_2d(model.dual_coef_)  # type: ignore[attr-defined]
        full = np.zeros((n, len(coef)))
        full[model.support_] = coef.T  # type: ignore[attr-defined]
        return full[:, 0] if len(coef) == 1 else full

    return alpha
