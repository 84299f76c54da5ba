"""Solvers declare what they need, give and take; one function chooses, one sentence refuses."""

import importlib.util
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import mercer
from mercer import Gaussian, Linear
from mercer.kernels import NegativeSquaredDistance
from mercer.learners import KernelLogisticRegression, KernelRidge
from mercer.solvers import SOLVERS, Solver, register_solver, unregister_solver
from mercer.solvers.linear.problem import RidgeSolution
from mercer.solvers.requirements import (
    PROBLEMS,
    Request,
    Size,
    check,
    check_fits,
    choose,
    resident,
    solvers_for,
)

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 3))
y = np.sin(X[:, 0])


def request(n=100, *, problem="ridge", limit=10**12, resident=True, centers=50, **more):
    """A problem of which only the size is real."""
    gram = SimpleNamespace(
        kernel=Gaussian(),
        limit_bytes=limit,
        resident=resident,
        together=True,
        refuted=False,
        solver=lambda name, default: default,
    )
    features = more.get("features") or 0
    return Request(problem, gram, Size(n, 1, features, centers, 8), **more)


@pytest.fixture
def mine():
    """A ridge solver from outside, and what it was asked."""
    tasks = []

    def run(task):
        tasks.append(task)
        problem, K = task.problem, task.gram.dense()
        coef = np.linalg.solve(K + problem.alphas[0] * np.eye(len(K)), problem.targets)
        return RidgeSolution(coef, np.zeros(coef.shape[1]))

    register_solver("ridge", Solver("mine", run, needs=frozenset({"psd", "resident"})))
    yield tasks
    unregister_solver("ridge", "mine")


def test_docstrings_and_documents_say_what_the_tables_say():
    path = Path(__file__).resolve().parents[2] / "tools" / "solvers.py"
    spec = importlib.util.spec_from_file_location("solvers_tool", path)
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    for name, (old, new) in tool.texts().items():
        assert old == new, f"{name} is stale: run make format"
    assert tool.entry("ridge") in tool.texts()[tool.LEARNERS["ridge"]][0]
    assert tool.table("logistic") in tool.texts()[tool.DOCUMENT][0]


def test_every_entry_says_what_it_is():
    for problem in PROBLEMS:
        solvers = solvers_for(problem)
        assert solvers is SOLVERS[problem]
        for name, solver in solvers.items():
            assert solver.name == name
            assert solver.summary
            assert solver.memory
            assert callable(solver.run)
        assert any(s.pick(request(10**6, problem=problem)) for s in solvers.values())


@pytest.mark.parametrize(
    ("asked", "name", "why"),
    [
        (request(features=5), "primal", "5 features, fewer than the 100"),
        (request(features=500), "cholesky", "100 examples are no more than the 500"),
        (request(penalties=20), "eigh", "20 penalties"),
        (request(3000, penalties=7, path=True), "eigh", "7 penalties"),
        (request(3000, penalties=7), "pivoted", "3000 examples"),
        (request(3000, penalties=7, limit=10**8), "cholesky", "3000 examples"),
        (request(30_000), "nystrom", "30000 examples are more than 20000"),
        (request(10_000, limit=10**8), "nystrom", "does not fit"),
        (request(resident=False), "nystrom", "streamed"),
        (request(problem="logistic"), "newton", "at most 20000"),
        (request(30_000, problem="logistic"), "nystrom", "more than 20000"),
        (request(problem="logistic", resident=False), "nystrom", "streamed"),
    ],
)
def test_the_choice_has_a_reason(asked, name, why):
    solver, reason = choose(asked)
    assert solver.name == name
    assert why in reason


def test_models_say_why():
    assert "3 features, fewer than the 40" in KernelRidge(Linear()).fit(X, y).solver_reason_
    model = KernelRidge(Gaussian(), solver="eigh").fit(X, y)
    assert model.solver_reason_ == "solver='eigh' was asked for"
    assert "40 examples" in KernelLogisticRegression(Gaussian()).fit(X, y > 0).solver_reason_


@pytest.mark.parametrize(
    ("name", "asked", "error", "said"),
    [
        (
            "cg",
            request(asks={"loo": "alphas="}),
            ValueError,
            r"solver='cg' gives no leave-one-out errors, which alphas= asks for; "
            r"'primal', 'eigh', 'cholesky' and 'nystrom' do",
        ),
        (
            "primal",
            request(),
            ValueError,
            r"needs a finite feature map, and none is known for Gaussian\(\); "
            r"'eigh', 'pivoted', 'cholesky', 'nystrom', 'cg' and 'gradient' work without",
        ),
        (
            "cholesky",
            request(resident=False),
            MemoryError,
            r"solver='cholesky' needs all rows, and 100 rows do not fit the device\. Rows are "
            r"streamed by ridge regression with solver='primal', 'eigh', 'nystrom', 'cg' or "
            r"'gradient' and by logistic regression with solver='nystrom' or 'gradient'; .* parts "
            r"of the data",
        ),
        (
            "cholesky",
            request(20_000, limit=10**7),
            MemoryError,
            r"needs 3\.2 GB for N = 20000, but the memory limit is 10 MB; 'nystrom' and 'cg' fit",
        ),
        (
            "cholesky",
            request(20_000, limit=10**7, asks={"loo": "alphas="}),
            MemoryError,
            "solver='nystrom' fits within it",
        ),
        ("eigh", request(20_000, limit=10), MemoryError, "no other solver fits"),
    ],
)
def test_a_refusal_names_what_would_work(name, asked, error, said):
    with pytest.raises(error, match=said):
        choose(asked, name)


def test_auto_refuses_where_not_even_the_smallest_fits():
    with pytest.raises(MemoryError, match="solver='nystrom' needs"):
        choose(request(10_000, limit=10))
    check_fits(solvers_for("ridge")["cg"], request())


def test_what_needs_all_rows_without_a_table_says_the_same():
    assert resident(request().gram)
    gram = SimpleNamespace(resident=False, together=True, shape=(7, 7))
    with pytest.raises(MemoryError, match=r"7 rows do not fit .*ridge regression with solver="):
        resident(gram)


def test_a_solver_from_outside(mine):
    model = KernelRidge(Gaussian(), alpha=0.5, solver="mine", fit_intercept=False).fit(X, y)
    exact = KernelRidge(Gaussian(), alpha=0.5, solver="cholesky", fit_intercept=False).fit(X, y)
    assert model.solver_ == "mine"
    assert mine[0].gram.shape == (40, 40)
    np.testing.assert_allclose(model.predict(X), exact.predict(X), atol=1e-10)
    with pytest.raises(ValueError, match=r"'mine' gives no leave-one-out errors, which alphas="):
        KernelRidge(Gaussian(), alphas=[1.0, 2.0], solver="mine", fit_intercept=False).fit(X, y)
    with pytest.raises(ValueError, match=r"'mine' gives no standard deviations, which return_std"):
        model.predict(X, return_std=True)
    with (
        pytest.warns(UserWarning, match="not a positive semi-definite"),
        pytest.raises(
            ValueError, match=r"needs a positive semi-definite kernel.*'gradient' work without"
        ),
    ):
        KernelRidge(NegativeSquaredDistance(), solver="mine", fit_intercept=False).fit(X, y)


def test_a_solver_that_is_gone_and_one_that_declares_nonsense(mine):
    unregister_solver("ridge", "mine")
    with pytest.raises(ValueError, match="solver must be one of"):
        KernelRidge(solver="mine").fit(X, y)
    with pytest.raises(ValueError, match=r"declares \['magic'\], which nobody knows"):
        register_solver("ridge", Solver("other", print, needs=frozenset({"magic"})))


def test_memory_decides_for_the_learners():
    with mercer.config(memory="50kB", threads=1):
        model = KernelRidge(Gaussian(), n_centers=10).fit(np.tile(X, (4, 1)), np.tile(y, 4))
    assert model.solver_ == "nystrom"
    assert "does not fit" in model.solver_reason_
    check(solvers_for("ridge")["cholesky"], request())
