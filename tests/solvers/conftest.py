"""What several tests of solvers compare with."""

import numpy as np
import pytest


@pytest.fixture
def textbook_ridge():
    """Ridge regression by one dense system: coefficients of all examples, and the intercept."""

    def solve(kernel, X, t, alpha, w, intercept):
        """(K + λW⁻¹)a + b = t, Σa = 0, on the examples that have weight."""
        on = w > 0
        n = int(on.sum())
        A = np.zeros((n + 1, n + 1))
        A[:n, :n] = kernel(X[on]) + np.diag(alpha / w[on])
        A[n, n] = 1.0
        if intercept:
            A[n], A[:, n], A[n, n] = 1.0, 1.0, 0.0
        solved = np.linalg.solve(A, np.vstack([t[on], np.zeros((1, t.shape[1]))]))
        coef = np.zeros(t.shape)
        coef[on] = solved[:n]
        return coef, solved[n]

    return solve


@pytest.fixture
def refitted(textbook_ridge):
    """What ridge regression says of each example after it learned from all others."""

    def predict(kernel, X, t, alpha, w, intercept):
        found = np.empty(t.shape)
        for i in range(len(X)):
            without = w.copy()
            without[i] = 0.0
            coef, b = textbook_ridge(kernel, X, t, alpha, without, intercept)
            found[i] = kernel(X[i : i + 1], X)[0] @ coef + b
        return found

    return predict
