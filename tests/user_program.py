"""A service as a user writes it: types, an extension, a pipeline, many requests."""

from __future__ import annotations

import logging
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
from numpy.typing import NDArray
from sklearn.compose import make_column_transformer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import PolynomialFeatures, QuantileTransformer, StandardScaler

import mercer
from mercer import KernelRidge, KernelSVC
from mercer.extend import SIZE, Formula, Input, Kernel, Rule, declare, kernel, sqdist
from mercer.kernels import Gaussian, Linear
from mercer.testing import check_kernel


@kernel
class Cusp(Kernel):
    """k(x, z) = 1 / (1 + ‖x − z‖² / width²)."""

    width: float = 1.0
    examples = ("cusp()", "cusp(0.7)")
    parameters = declare(width=SIZE)
    proof = Rule(True, "Cusp", "a mixture of Gaussians, weights ≥ 0")

    def lower(self, rows: Input, path: str = "") -> Formula:
        return (1.0 + sqdist(rows).over(self._named(path, "width") ** 2)) ** -1


def table(n: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Rows of three columns, and two classes of them."""
    rows = np.random.default_rng(0).normal(size=(n, 3))
    return rows, (rows[:, 0] * rows[:, 1] > 0).astype(np.int64)


def machine() -> Pipeline:
    """Columns of two kinds in front of a kernel machine."""
    columns = make_column_transformer(
        (QuantileTransformer(n_quantiles=20), [0]),
        (make_pipeline(StandardScaler(), PolynomialFeatures(2)), [1, 2]),
    )
    k: Kernel = 2.0 * Cusp(1.5) + Gaussian(3.0) * Linear()
    return make_pipeline(columns, KernelSVC(k, C=10.0, probability=True))


def serve(model: Any, rows: NDArray[np.float64]) -> list[int]:
    """One request per row, in four threads."""
    with ThreadPoolExecutor(4) as pool:
        answers = pool.map(model.predict, [rows[i : i + 1] for i in range(len(rows))])
        return [int(answer[0]) for answer in answers]


def learn_and_keep(folder: Path) -> None:
    """Fit, choose, save."""
    rows, labels = table(120)
    check_kernel(Cusp(0.8))
    assert mercer.prove(Cusp(0.8))
    fitted = machine().fit(rows, labels)
    assert fitted.score(rows, labels) > 0.9
    mercer.save(fitted, folder / "machine.mercer")
    search = GridSearchCV(KernelRidge("cusp(1)"), {"alpha": [0.1, 1.0]}, cv=3)
    search.fit(rows, rows[:, 0])
    mercer.save(search.best_estimator_, folder / "ridge.mercer")
    np.save(folder / "answers.npy", fitted.predict_proba(rows))


def load_and_serve(folder: Path) -> None:
    """Load, compare with what was kept, serve, export to where no Python is."""
    rows, _ = table(120)
    model = mercer.load(folder / "machine.mercer")
    np.testing.assert_array_equal(model.predict_proba(rows), np.load(folder / "answers.npy"))
    with mercer.config(threads=1):
        assert serve(model, rows) == model.predict(rows).tolist()
    mercer.onnx.export(model, folder / "machine.onnx", dtype="float64")
    elsewhere = onnxruntime.InferenceSession(folder / "machine.onnx")
    answers: Any = elsewhere.run(None, {"X": rows})
    labels, probabilities, *_ = answers
    assert labels.tolist() == model.predict(rows).tolist()
    np.testing.assert_allclose(probabilities, model.predict_proba(rows), atol=1e-6)
    ridge = mercer.load(folder / "ridge.mercer")
    values: NDArray[np.float64] = ridge.predict(rows)
    assert abs(float(np.corrcoef(values, rows[:, 0])[0, 1])) > 0.9


if __name__ == "__main__":
    target = Path(sys.argv[1])
    warnings.simplefilter("error", mercer.MercerWarning)
    logging.basicConfig(filename=target / "log", level=logging.INFO)
    learn_and_keep(target)
    load_and_serve(target)
    assert "solver" in (target / "log").read_text(encoding="utf-8")
    print("served")
