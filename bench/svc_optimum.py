"""The optimum of KernelSVC, KernelSVR and KernelOneClass against LIBSVM's, at tol = 1e-5.

Each row is the largest difference over its problems: of the dual objective, relative to it, and of
the decision values on the training rows. a9a's objective is LIBSVM 3's own, computed once through
scikit-learn 1.9.1 on all 32561 rows (C = 8, γ = 2⁻⁵): −81728.635106, accuracy 85.1115 %.
"""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
from _harness import Row, all_cores, below, claim, main, no_data, skipped
from _svc import a9a, error, machine, mnist
from sklearn import svm
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits

from mercer.kernels import Gaussian, Kernel, Linear, Polynomial
from mercer.learners import KernelOneClass, KernelSVC, KernelSVR

TOL = 1e-5
OBJECTIVE, VALUES = below(1e-6, "relative"), below(1e-3, "")
A9A = -81728.635106

KERNELS: list[tuple[str, Kernel, dict[str, Any]]] = [
    ("RBF", Gaussian.from_gamma(0.05), {"kernel": "rbf", "gamma": 0.05}),
    ("polynomial", Polynomial(3, offset=1.0),
     {"kernel": "poly", "degree": 3, "gamma": 1.0, "coef0": 1.0}),
    ("linear", Linear(), {"kernel": "linear"}),
]  # fmt: skip


def pair_objectives(model: Any, K: np.ndarray, kind: np.ndarray) -> np.ndarray:
    """½ aᵀKa − Σ|a| of every pair of classes, in float64."""
    place = kind[model.support_]
    values = []
    for i, j in combinations(range(len(model.classes_)), 2):
        a = np.where(place == i, model.dual_coef_[j - 1], 0.0)
        a += np.where(place == j, model.dual_coef_[i], 0.0)
        used = np.flatnonzero(a)
        rows = model.support_[used]
        values.append(0.5 * a[used] @ K[np.ix_(rows, rows)] @ a[used] - np.abs(a).sum())
    return np.array(values)


def classification(name: str, X: np.ndarray, y: np.ndarray, scale: float = 1.0) -> list[Row]:
    rows = []
    for label, kernel, theirs in KERNELS:
        options = {"tol": TOL, "decision_function_shape": "ovo"}
        ours = KernelSVC(kernel, C=1.0, **options).fit(X, y)  # type: ignore[arg-type]
        peer = svm.SVC(C=1.0, **options, **theirs).fit(X, y)
        K, kind = kernel(X), np.searchsorted(ours.classes_, y)
        mine, other = pair_objectives(ours, K, kind), pair_objectives(peer, K, kind)
        worst = float(np.abs((mine - other) / other).max())
        apart = float(np.abs(ours.decision_function(X) - peer.decision_function(X)).max())
        support = len(np.setxor1d(ours.support_, peer.support_))
        note = f"{len(mine)} problems; {len(ours.support_)} support vectors, {support} differ"
        rows.append(claim(f"SVC {name}, {label}: dual objective", worst, None, OBJECTIVE, note))
        rows.append(claim(f"SVC {name}, {label}: decision values", apart, None, VALUES))
    return rows


def others() -> list[Row]:
    data = load_diabetes()
    X, y = data.data * 10, (data.target - data.target.mean()) / data.target.std()
    kernel, rows = Gaussian.from_gamma(0.3), []
    K = kernel(X)
    for label, ours, peer in (
        ("SVR", KernelSVR(kernel, C=5.0, tol=TOL), svm.SVR(C=5.0, gamma=0.3, tol=TOL)),
        ("ν-SVR", KernelSVR(kernel, C=5.0, nu=0.4, tol=TOL),
         svm.NuSVR(C=5.0, nu=0.4, gamma=0.3, tol=TOL)),
        ("one class", KernelOneClass(kernel, nu=0.2, tol=TOL),
         svm.OneClassSVM(nu=0.2, gamma=0.3, tol=TOL)),
    ):  # fmt: skip
        values = []
        for model in (ours.fit(X, y), peer.fit(X, y)):
            a = np.zeros(len(X))
            a[model.support_] = model.dual_coef_[0]
            linear = {"SVR": 0.1 * np.abs(a).sum() - y @ a, "ν-SVR": -y @ a}.get(label, 0.0)
            values.append(0.5 * a @ K @ a + linear)
        worst = abs((values[0] - values[1]) / values[1])
        decide = "predict" if label != "one class" else "decision_function"
        apart = float(np.abs(getattr(ours, decide)(X) - getattr(peer, decide)(X)).max())
        rows.append(claim(f"{label} diabetes: dual objective", worst, None, OBJECTIVE))
        rows.append(claim(f"{label} diabetes: values", apart, None, VALUES))
    return rows


def large() -> list[Row]:
    name = "SVC a9a, RBF (C 8, γ 2⁻⁵): dual objective"
    data = a9a()
    if data is None:
        return [skipped(name, OBJECTIVE, no_data("a9a.npz"))]
    X, Z = (rows.astype(np.float64) for rows in (data[0], data[2]))
    y, t = data[1], data[3]
    ours = machine(8.0, 2.0**-5, TOL).fit(X, y)
    peer = svm.SVC(C=8.0, gamma=2.0**-5, tol=TOL).fit(X, y)
    some = Z[:2000]
    apart = float(np.abs(ours.decision_function(some) - peer.decision_function(some)).max())
    worst = abs((float(ours.dual_objective_[0]) - A9A) / A9A)
    note = (
        f"{ours.dual_objective_[0]:.6f}; {len(ours.support_)} support vectors (11518), "
        f"accuracy {100 - error(ours, Z, t):.4f} % (85.1115 %)"
    )
    return [
        claim(name, worst, None, OBJECTIVE, note),
        claim("SVC a9a, RBF: decision values", apart, None, VALUES, "on 2000 test rows"),
    ]


def measure() -> list[Row]:
    digits, cancer = load_digits(), load_breast_cancer()
    with all_cores():
        rows = classification("digits", digits.data / 16, digits.target)
        scaled = (cancer.data - cancer.data.mean(axis=0)) / cancer.data.std(axis=0)
        rows += classification("breast cancer", scaled, cancer.target)
        data = mnist(5000)
        if data is None:
            rows.append(skipped("SVC MNIST 5k", OBJECTIVE, no_data("mnist.npz")))
        else:
            rows += classification("MNIST 5k", data[0].astype(np.float64), data[1])
        return rows + others() + large()


if __name__ == "__main__":
    main(measure)
