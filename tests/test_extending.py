"""The house can be added to from outside: nothing in here touches a file of the library.

A kernel, an operation of the formula, an engine, a learner and a file format are declared in this
file, as a package of its own would declare them, and used through the public API, the grammar, the
store, ONNX, `compare` and the command.
"""

from __future__ import annotations

import json

import numpy as np
import pytest
import scipy.optimize
from scipy.special import gammaln
from sklearn.base import BaseEstimator, ClassifierMixin

import mercer
from mercer.data import formats, register_format
from mercer.formula import Op, register_op
from mercer.formula.nodes import Formula, Input, dot, sqdist
from mercer.gram import Engine, Gram, register
from mercer.gram.dispatch import unregister
from mercer.gram.plan import Cost
from mercer.kernels import Kernel, kernel, parse
from mercer.learners import (
    KernelLogisticRegression,
    KernelNeighborsClassifier,
    KernelRidge,
    KernelSVC,
    catalog,
)
from mercer.learners.catalog import Grid, Learner
from mercer.solvers import Solver, register_solver, unregister_solver
from mercer.solvers.linear.problem import RidgeSolution
from mercer.solvers.smooth import SmoothLoss, minimize
from mercer.testing import check_engine, check_kernel

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3))
Z = RNG.normal(size=(25, 3))
t = np.sin(X[:, 0]) + X[:, 1]
y = (t > 0).astype(int)


# --- a kernel -------------------------------------------------------------------------------


@kernel
class Cauchy(Kernel):
    """k(x, z) = 1 / (1 + ‖x − z‖² / width²)."""

    width: float = 1.0
    examples = ("cauchy(0.7)",)

    def lower(self, rows: Input, path: str = "") -> Formula:
        return (1.0 + sqdist(rows).over(self._named(path, "width") ** 2)) ** -1


def by_hand(A, B, width):
    gaps = ((A[:, None] - B[None]) ** 2).sum(axis=2)
    return 1 / (1 + gaps / width**2)


def test_a_kernel_is_one_class():
    check_kernel(Cauchy(0.7))
    np.testing.assert_allclose(Cauchy(0.7)(X, Z), by_hand(X, Z, 0.7), rtol=1e-12)
    k = parse("2*cauchy(width=0.7) + linear()")
    assert k == 2 * Cauchy(0.7) + mercer.Linear()
    assert parse(repr(k)) == k
    np.testing.assert_allclose(
        k.gram(X).grad("left__kernel__width").dense(),
        2 * (by_hand(X, X, 0.7 + 1e-6) - by_hand(X, X, 0.7 - 1e-6)) / 2e-6,
        atol=1e-7,
    )


@pytest.mark.parametrize(
    "model",
    [
        KernelRidge("cauchy(0.7)"),
        KernelSVC("cauchy(0.7)"),
        KernelLogisticRegression("cauchy(0.7)"),
        KernelNeighborsClassifier("cauchy(0.7)"),
    ],
    ids=lambda model: type(model).__name__,
)
def test_a_kernel_runs_in_every_learner_and_is_saved_and_exported(model, tmp_path):
    model.fit(X, t if isinstance(model, KernelRidge) else y)
    model.save(tmp_path / "model.mercer")
    again = mercer.load(tmp_path / "model.mercer")
    assert again.kernel_ == Cauchy(0.7)
    np.testing.assert_array_equal(again.predict(Z), model.predict(Z))
    runtime = pytest.importorskip("onnxruntime")
    from mercer.onnx import export

    export(model, tmp_path / "model.onnx", dtype="float64")
    session = runtime.InferenceSession(str(tmp_path / "model.onnx"))
    (answers, *_) = session.run(None, {session.get_inputs()[0].name: Z.astype(np.float64)})
    np.testing.assert_allclose(np.ravel(answers), model.predict(Z), rtol=1e-5)


def test_a_kernel_that_another_one_is_called_like_is_refused():
    with pytest.raises(ValueError, match="there is a kernel named 'gaussian' already"):

        @kernel
        class Gaussian(Kernel):
            """Not that one."""


# --- an operation ---------------------------------------------------------------------------

register_op(
    Op(
        "cosh_of",
        np.cosh,
        derivative=lambda node: ((node.args[0].exp() - (-node.args[0]).exp()) * 0.5,),
    )
)


@kernel
class HyperbolicCosine(Kernel):
    """k(x, z) = cosh(scale x·z), a kernel because its Taylor series has no negative term."""

    scale: float = 1.0
    examples = ("hyperbolic_cosine(0.3)",)

    def lower(self, rows: Input, path: str = "") -> Formula:
        return (self._named(path, "scale") * dot(rows)).apply("cosh_of")


def test_an_operation_is_one_record(tmp_path):
    k = parse("hyperbolic_cosine(0.3)")
    np.testing.assert_allclose(k(X, Z), np.cosh(0.3 * X @ Z.T), rtol=1e-12)
    np.testing.assert_allclose(
        k.gram(X, Z).grad("scale").dense(), np.sinh(0.3 * X @ Z.T) * (X @ Z.T), rtol=1e-10
    )
    many = RNG.normal(size=(4000, 3))  # enough pairs that a loop would be compiled
    np.testing.assert_allclose(k.gram(many) @ np.ones(4000), k(many).sum(axis=1), rtol=1e-10)
    model = KernelRidge(k).fit(X, t)
    model.save(tmp_path / "model.mercer")
    np.testing.assert_array_equal(
        mercer.load(tmp_path / "model.mercer").predict(Z), model.predict(Z)
    )


# --- an engine ------------------------------------------------------------------------------


class PlainGram(Gram):
    """K by NumPy at once, with nothing clever: the whole of what a Gram must offer."""

    engine = "plain"
    symmetric = True
    xp = np
    limit_bytes = 1 << 30
    bytes_per_row = 64

    def __init__(self, kernel, A, B=None):
        self.kernel, self.formula = kernel, mercer.gram.base.simplified(kernel)
        self._a, self._b, self.square = (
            np.asarray(A),
            None if B is None else np.asarray(B),
            B is None,
        )
        self._K = mercer.testing.oracle(kernel, self._a, self._b).astype(self._a.dtype)
        self.shape, self.dtype = self._K.shape, self._K.dtype

    def asarray(self, values, dtype=None):
        return np.asarray(values, dtype=dtype)

    @property
    def cost(self):
        return Cost(float(self._K.size), float(self._K.size), 8.0 * self._K.size)

    @property
    def T(self):
        return self if self.square else PlainGram(self.kernel, self._b, self._a)

    def take(self, rows=None, columns=None):
        b = self._a if self._b is None else self._b
        rows = slice(None) if rows is None else rows
        columns = slice(None) if columns is None else columns
        return PlainGram(self.kernel, self._a[rows], b[columns])

    def points(self, index=None):
        return self._a if index is None else self._a[index]

    def others(self):
        return self._b

    def of(self, kernel):
        return PlainGram(kernel, self._a, self._b)

    def __matmul__(self, V):
        return (self._K @ np.asarray(V)).astype(self.dtype)

    def dense(self, out=None):
        if out is None:
            return self._K.copy()
        out[...] = self._K
        return out

    def block(self, rows, columns):
        return self._K[rows][:, columns]

    def diagonal(self):
        return self._K.diagonal().copy()

    def in_double(self, index=None):
        index = slice(None) if index is None else index
        return self._K[index][:, index].astype(np.float64)

    def tile(self, rows, columns, out=None, scratch=None):
        return self._K[rows, columns] if out is None else np.copyto(out, self._K[rows, columns])

    def sweep(self, body, *, out=None, **options):
        tile = self._K.copy()
        if out is not None:
            out[...] = tile
            tile = out
        body(slice(0, self.shape[0]), slice(0, self.shape[1]), tile, mercer.gram.base.Scratch(0))

    def describe(self):
        return "by NumPy at once", ""


@pytest.fixture
def plain_engine():
    """An engine for arrays under config(device="plain"), with a solver of its own."""
    used = []

    def factor(gram, scale=None, once=False):
        used.append(type(gram).__name__)
        from mercer.solvers.linear.factor import Shifted

        return Shifted(gram, scale, once)

    register(
        Engine(
            "plain",
            takes=lambda kernel, A, B: mercer.get_config().device == "plain",
            make=PlainGram,
            solvers={"factor": factor},
        )
    )
    yield used
    unregister("plain")
    with pytest.raises(ValueError, match="device must be one of"):
        mercer.set_config(device="plain")


def test_an_engine_registers_itself(plain_engine):
    check_engine(PlainGram, kernels=["gaussian(2)", "linear()"])
    expected = KernelRidge("gaussian(1)").fit(X, t).predict(Z)
    with mercer.config(device="plain"):
        assert type(mercer.Gaussian().gram(X)) is PlainGram
        answers = KernelRidge("gaussian(1)", solver="cholesky").fit(X, t).predict(Z)
        assert "by NumPy at once" in str(mercer.Gaussian().explain(X))
    np.testing.assert_allclose(answers, expected, rtol=1e-8)
    assert plain_engine == ["PlainGram"], "the engine's own solver was asked"
    assert type(mercer.Gaussian().gram(X)) is not PlainGram


def test_an_engine_that_is_not_there_is_named():
    with pytest.raises(ValueError, match=r"device must be one of .*'cpu', 'cuda'.* got 'moon'"):
        mercer.config(device="moon")


# --- a learner ------------------------------------------------------------------------------


class Nearest(ClassifierMixin, BaseEstimator):
    """The class of the most similar example, of those with at least some similarity."""

    def __init__(self, kernel="gaussian(1)", least=0.0):
        self.kernel = kernel
        self.least = least

    def fit(self, X, y):
        self.classes_, self.codes_ = np.unique(y, return_inverse=True)
        self.X_, self.n_features_in_ = X, np.shape(X)[1]
        return self

    def predict(self, X):
        given = isinstance(self.kernel, str) and self.kernel == "precomputed"
        K = np.asarray(X) if given else mercer.kernels.as_kernel(self.kernel)(X, self.X_)
        codes = np.where(K.max(axis=1) >= self.least, self.codes_[K.argmax(axis=1)], 0)
        return self.classes_[codes]


def export(model, table, out):
    raise NotImplementedError("asked to export it")


@pytest.fixture
def nearest():
    grid = Grid((0.0, 0.5, 0.9), lambda least, unit, spread: {"least": least * unit})
    catalog.register(
        Learner("nearest", classifier=Nearest, aliases=("1nn",), grid=grid, onnx=export)
    )
    yield
    catalog.unregister("nearest")


def test_a_learner_from_outside_is_known_everywhere(nearest, tmp_path):
    from click.testing import CliRunner

    from mercer.cli.fit import command

    X, y = mercer.data.moons(80)
    board = mercer.compare(X, y, kernels=["gaussian(1)"], cv=3, holdout=None)
    rows = {row.learner: row for row in board.rows}
    assert rows["Nearest"].mean > 0.9
    assert "KernelRidgeClassifier" in rows
    board = mercer.compare(X, y, kernels=["gaussian(1)"], learners=["1nn"], cv=3, holdout=None)
    assert "nearest" in str(board)
    assert board.best.predict(X).shape == (80,)
    options = ["--kernel", "gaussian(1)", "--learner", "nearest", "--set", "least=0.1"]
    done = CliRunner().invoke(command, ["moons", *options, "--model", str(tmp_path / "m")])
    assert done.exit_code == 0, done.output
    again = mercer.load(tmp_path / "m")
    learner = again.steps[-1][1] if hasattr(again, "steps") else again
    assert type(learner) is Nearest
    pytest.importorskip("onnx")
    with pytest.raises(NotImplementedError, match="asked to export"):
        mercer.onnx.export(Nearest().fit(X, y))


# --- a file format --------------------------------------------------------------------------


@pytest.fixture
def lines_of_json():
    import pandas as pd

    def read(path, target, columns):
        return pd.read_json(path, lines=True)

    register_format("jsonl", read, (".jsonl",), is_table=True)
    yield
    del formats.FORMATS["jsonl"]


def test_a_file_format_is_one_function(lines_of_json, tmp_path):
    from click.testing import CliRunner

    from mercer.cli.fit import command as fit
    from mercer.cli.predict import command as predict

    file, model = tmp_path / "t.jsonl", tmp_path / "m.mercer"
    rows = [{"n": i, "w": "uv"[i % 2], "y": "ab"[i > 30]} for i in range(60)]
    file.write_text("\n".join(map(json.dumps, rows)))
    found = mercer.data.load(file, "y")
    assert found.schema.types == ("number", "category")
    assert mercer.data.Dataset.of(file, target="y", columns="n").names == ("n",)
    options = ["--target", "y", "--kernel", "gaussian(1)", "--model", str(model)]
    done = CliRunner().invoke(fit, [str(file), *options])
    assert done.exit_code == 0, done.output
    new = tmp_path / "new.jsonl"
    new.write_text(json.dumps({"w": "u", "n": 59}))  # a single row: every column is constant
    assert CliRunner().invoke(predict, [str(model), str(new)]).stdout == "prediction\nb\n"
    file.write_text("{")
    with pytest.raises(mercer.data.DataError, match="cannot be read as jsonl"):
        mercer.data.load(file)
    with pytest.raises(ValueError, match="there is a format 'csv' already"):
        register_format("csv", print)


# --- a smooth loss --------------------------------------------------------------------------


class Poisson(SmoothLoss):
    """Counts y with mean eᶠ: ℓ = eᶠ − yf + log y!, which is never negative."""

    def values(self, scores):
        return (self.xp.exp(scores) - self.y * scores)[:, 0] + gammaln(self.y[:, 0] + 1)

    def link(self, scores):
        return self.xp.exp(scores)

    def diagonal(self, mean):
        return self.weights[:, None] * mean


def test_a_smooth_loss_is_one_class():
    counts = RNG.poisson(np.exp(0.5 * X[:, 0]))
    K, alpha = mercer.Gaussian()(X), 0.5
    found = minimize(mercer.Gaussian().gram(X), Poisson(counts), alpha, tol=1e-10)

    def objective(theta):
        f = K @ theta[:-1] + theta[-1]
        return (np.exp(f) - counts * f).sum() + alpha / 2 * theta[:-1] @ K @ theta[:-1]

    best = scipy.optimize.minimize(objective, np.zeros(len(X) + 1), method="BFGS")
    ours = np.append(found.coef[:, 0], found.intercept[0])
    assert objective(ours) <= best.fun + 1e-6
    f = K @ found.coef[:, 0] + found.intercept[0]
    slope = np.exp(f) - counts + alpha * found.coef[:, 0]  # ∂/∂a is K times this
    assert np.abs(K @ slope).max() < 1e-4
    few = minimize(
        mercer.Gaussian().gram(X), Poisson(counts), alpha, solver="nystrom", n_centers=40
    )
    assert few.centers.shape == (40,)


# --- a solver -------------------------------------------------------------------------------


@pytest.fixture
def by_inverse():
    """Ridge regression as on the blackboard, refused where k is known not to be a kernel."""

    def run(task):
        problem, K = task.problem, task.gram.in_double()
        coef = np.linalg.inv(K + problem.alphas[0] * np.eye(len(K))) @ problem.targets
        return RidgeSolution(coef, np.zeros(coef.shape[1]))

    solver = Solver("inverse", run, needs=frozenset({"psd"}), bytes=lambda s: 24.0 * s.n**2)
    register_solver("ridge", solver)
    yield
    unregister_solver("ridge", "inverse")


def test_a_solver_is_one_entry(by_inverse, tmp_path):
    model = KernelRidge("cauchy(0.7)", alpha=0.3, solver="inverse", fit_intercept=False).fit(X, t)
    expected = KernelRidge("cauchy(0.7)", alpha=0.3, solver="cholesky", fit_intercept=False).fit(
        X, t
    )
    np.testing.assert_allclose(model.predict(Z), expected.predict(Z), rtol=1e-8)
    assert model.solver_ == "inverse"
    model.save(tmp_path / "model.mercer")
    np.testing.assert_array_equal(
        mercer.load(tmp_path / "model.mercer").predict(Z), model.predict(Z)
    )
    with pytest.raises(ValueError, match=r"solver='inverse' needs a positive semi-definite kernel"):
        KernelRidge(
            mercer.kernels.NegativeSquaredDistance(), solver="inverse", fit_intercept=False
        ).fit(X, t)
    with pytest.raises(ValueError, match=r"solver='inverse' gives no leave-one-out errors"):
        KernelRidge("cauchy(0.7)", alphas=[0.1, 1.0], solver="inverse", fit_intercept=False).fit(
            X, t
        )
    with mercer.config(memory="60kB"), pytest.raises(MemoryError, match="solver='inverse' needs"):
        KernelRidge("cauchy(0.7)", solver="inverse", fit_intercept=False).fit(X, t)
