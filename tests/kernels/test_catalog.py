"""The catalog: a kernel enters itself, and everything that lists kernels follows it."""

from __future__ import annotations

import importlib.util
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import mercer
from mercer._parameters import declare
from mercer.formula.nodes import Formula, Input, sqdist
from mercer.kernels import Kernel, Rule, Width, kernel, parse
from mercer.kernels.catalog import KERNELS, LEAVES, examples
from mercer.testing import check_kernel
from mercer.testing.examples import DATA

ROOT = Path(__file__).resolve().parents[2]


@kernel
class Lorentz(Kernel):
    """k(x, z) = 1 / (1 + ‖x − z‖² / width²), as a user would write it."""

    width: float = 1.0
    examples = "lorentz()", "lorentz(width=0.5)"
    proof = Rule(True, "Lorentz", "a mixture of Gaussians")

    parameters = declare(width=Width())

    def lower(self, rows: Input, path: str = "") -> Formula:
        return (1.0 + sqdist(rows).over(self._named(path, "width") ** 2)) ** -1


def test_a_kernel_of_a_user_keeps_the_contract() -> None:
    for one in examples(Lorentz):
        check_kernel(one)


def test_a_kernel_of_a_user_is_written_read_and_composed() -> None:
    k = 0.5 * Lorentz(2.0) + mercer.Linear()
    assert parse(repr(k)) == k
    assert parse("Lorentz(2)") == Lorentz(2.0)
    assert pickle.loads(pickle.dumps(k)) == k
    X = np.array([[0.0], [2.0]])
    model = mercer.KernelRidge("lorentz(width=2)", alpha=0.1).fit(X, [0.0, 1.0])
    assert model.kernel_ == Lorentz(2.0)
    assert model.kernel_.claim().holds
    assert model.kernel_.claim().kernel is model.kernel_


def test_a_kernel_of_a_user_is_saved(tmp_path: Path) -> None:
    X = np.array([[0.0], [2.0]])
    model = mercer.KernelRidge(Lorentz(2.0), alpha=0.1).fit(X, [0.0, 1.0])
    mercer.save(model, tmp_path / "model")
    assert mercer.load(tmp_path / "model").kernel_ == Lorentz(2.0)


def test_a_kernel_of_a_user_is_exported(tmp_path: Path) -> None:
    onnxruntime = pytest.importorskip("onnxruntime")
    X = np.random.default_rng(0).normal(size=(9, 2))
    model = mercer.KernelRidge(Lorentz(), alpha=0.1).fit(X, X[:, 0])
    mercer.onnx.export(model, tmp_path / "model.onnx", dtype="float64")
    session = onnxruntime.InferenceSession(tmp_path / "model.onnx")
    np.testing.assert_allclose(session.run(None, {"X": X})[0], model.predict(X), rtol=1e-10)


def test_a_name_belongs_to_one_class() -> None:
    with pytest.raises(ValueError, match="there is a kernel named 'gaussian' already, mercer"):

        @kernel
        class Gaussian(Kernel):
            """Another one."""

    assert LEAVES["gaussian"] is mercer.Gaussian


def test_a_class_that_is_written_again_takes_its_own_place() -> None:
    def write() -> type[Kernel]:
        @kernel
        class Rewritten(Kernel):
            """As in a notebook, where a cell is run twice."""

        return Rewritten

    try:
        assert write() is not write()
        assert LEAVES["rewritten"] is not write()
    finally:
        del LEAVES["rewritten"]


def test_every_class_has_examples_of_a_known_kind() -> None:
    for cls in KERNELS.values():
        assert cls.takes in DATA, cls
        assert all(type(one) is cls for one in examples(cls)), cls


def test_what_type_checkers_and_the_documents_read_is_current() -> None:
    spec = importlib.util.spec_from_file_location("catalog", ROOT / "tools" / "catalog.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    for path in module.TEXTS:
        assert module.stale(path) is None, f"{path} is stale: run make format"
    names = [line for line in module.imports().splitlines() if line.startswith("from ")]
    assert len(names) == len(KERNELS)


def test_kernels_say_what_they_take() -> None:
    words, columns = parse("hamming() * gaussian()"), parse("gaussian().on([0]) + linear()")
    strings, matrix = parse("0.5*spectrum(2)"), parse("2*precomputed() + 1")
    assert [k.takes_words for k in (words, columns, strings, matrix)] == [True, False, False, False]
    assert [k.picks_columns for k in (words, columns, strings)] == [False, True, False]
    assert [k.takes_objects for k in (words, strings, matrix)] == [False, True, False]
    assert [k.takes_matrix for k in (words, strings, matrix)] == [False, False, True]


def test_a_given_matrix_works_inside_a_composite() -> None:
    X = np.random.default_rng(0).normal(size=(12, 3))
    K = X @ X.T
    given = mercer.KernelRidge(2 * mercer.Precomputed() + 1, alpha=0.1).fit(K, X[:, 0])
    plain = mercer.KernelRidge(2 * mercer.Linear() + 1, alpha=0.1, solver="cholesky")
    plain.fit(X, X[:, 0])
    np.testing.assert_allclose(given.predict(K[:5]), plain.predict(X[:5]), rtol=1e-8)
    with pytest.raises(ValueError, match="expecting 12"):
        given.predict(K[:5, :7])


NOT_YET_IMPORTED = """
import sys, mercer
from mercer.kernels import Kernel, kernel, parse

parse("gaussian(2) + linear()"), mercer.Gaussian, mercer.KernelLogisticRegression
assert not any(name.startswith("mercer.kernels.strings") for name in sys.modules)
try:
    kernel(type("Spectrum", (Kernel,), {"__module__": "mine"}))
except ValueError as error:
    print(error)
assert parse("bagofwords()") == mercer.kernels.BagOfWords()
assert mercer.kernels.images.Jittered in mercer.kernels.catalog.leaves()
"""


def test_kernels_that_are_imported_later_are_there_when_they_are_asked_for() -> None:
    run = subprocess.run(
        [sys.executable, "-c", NOT_YET_IMPORTED], capture_output=True, text=True, timeout=120
    )
    assert "there is a kernel named 'spectrum' already" in run.stdout, run.stderr
    assert run.returncode == 0, run.stderr
