"""Local regression on real data: a local line beats the weighted mean beats a constant.

California housing (columns to normal scores; 6000 to learn from, 3000 to be judged on) and kin8nm
(its first standard split). Bandwidths by leave-one-out, one for all columns; scikit-learn's k-NN,
with k by cross-validation, stands beside. Figures are root mean squared errors.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from _harness import Row, below, claim, data_file, main, no_data, skipped
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsRegressor
from sklearn.preprocessing import QuantileTransformer

from mercer import LocalLinearRegressor, NadarayaWatsonRegressor

Split = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]


def california() -> Split:
    path = data_file("california_housing.npz")
    assert path is not None
    with np.load(path, allow_pickle=False) as file:
        X, y = file["X"].astype(float), file["y"].astype(float)
    order = np.random.default_rng(0).permutation(len(X))
    train, test = order[:6000], order[6000:9000]
    scores = QuantileTransformer(output_distribution="normal", random_state=0).fit(X[train])
    return scores.transform(X[train]), y[train], scores.transform(X[test]), y[test]


def kin8nm() -> Split:
    path = data_file("uci_kin8nm.npz")
    assert path is not None
    with np.load(path, allow_pickle=False) as file:
        X, y, test = file["X"].astype(float), file["y"].astype(float), file["test_mask"][0] == 1
    return X[~test], y[~test], X[test], y[test]


def error(model: Any, split: Split) -> tuple[float, float]:
    """Root mean squared error on new examples, and the seconds it took."""
    X, y, Q, t = split
    start = time.perf_counter()
    found = model.fit(X, y).predict(Q)
    return float(np.sqrt(np.mean((found - t) ** 2))), time.perf_counter() - start


def rows(name: str, split: Split) -> list[Row]:
    constant = float(np.sqrt(np.mean((split[3] - split[1].mean()) ** 2)))
    mean, mean_time = error(NadarayaWatsonRegressor(), split)
    line, line_time = error(LocalLinearRegressor(), split)
    search = GridSearchCV(
        KNeighborsRegressor(weights="distance"), {"n_neighbors": [3, 5, 8, 12, 20, 30]}, cv=5
    )
    neighbors, _ = error(search, split)
    beside = f"k-NN {neighbors:.4f}; fit and predict"
    return [
        claim(
            f"{name}: local line better than the weighted mean",
            line,
            None,
            below(mean, "RMSE"),
            f"{beside} {line_time:.0f} s",
        ),
        claim(
            f"{name}: weighted mean better than a constant",
            mean,
            None,
            below(constant, "RMSE"),
            f"{beside} {mean_time:.0f} s",
        ),
    ]


def measure() -> list[Row]:
    found: list[Row] = []
    for name, file, load in (
        ("California housing", "california_housing.npz", california),
        ("kin8nm", "uci_kin8nm.npz", kin8nm),
    ):
        if data_file(file) is None:
            found.append(skipped(f"{name}: local regression", below(1, "RMSE"), no_data(file)))
        else:
            found += rows(name, load())
    return found


if __name__ == "__main__":
    main(measure)
