"""The contract suite can fail: each promise broken once, and found out by name."""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
import pytest

from mercer import Gaussian, Gram, Linear, Polynomial, Precomputed
from mercer.formula.nodes import Formula, Input, const, dot, row_function, sqdist
from mercer.gram.host import HostGram
from mercer.kernels import Claim, Kernel, OpaqueKernel, Similarity
from mercer.testing import check_engine, check_kernel, check_solver, oracle


@dataclass(frozen=True, eq=False, repr=False)
class Good(Kernel):
    """k(x, z) = (x·z)² · scale, a kernel of one's own."""

    scale: float = 1.0

    def lower(self, rows: Input, path: str = "") -> Formula:
        return dot(rows) ** 2 * self._named(path, "scale")

    def claim(self, n_features: int | None = None) -> Claim:
        return Claim(True, "square of x·z", self)


def test_a_kernel_of_ones_own_passes() -> None:
    check_kernel(Good(2.0))
    check_kernel(Good(2.0) + Gaussian())


class FalseClaim(Good):
    def lower(self, rows: Input, path: str = "") -> Formula:
        return -sqdist(rows) * self._named(path, "scale")


class Asymmetric(Good):
    def lower(self, rows: Input, path: str = "") -> Formula:
        first = row_function("x", lambda X: np.asarray(X)[:, 0] ** 2 + 1.0, rows)
        return dot(rows) * self._named(path, "scale") * first

    def claim(self, n_features: int | None = None) -> Claim:
        return Claim(None, "none", self)


class WrongDiagonal(Good):
    def diag(self, X) -> np.ndarray:
        return super().diag(X) + 1e-9


class WrongGradient(Good):
    def gradient(self, X, Z=None):
        return {name: 1.001 * slope for name, slope in super().gradient(X, Z).items()}


class NoText(Good):
    def latex(self, x: str = "x", z: str = "z") -> str:
        return ""


class WrongText(Good):
    def __repr__(self) -> str:
        return "Gaussian()"


class WrongHash(Good):
    def __hash__(self) -> int:
        return id(self)


class WrongCopy(Good):
    def __reduce__(self):
        return type(self), (self.scale + 1.0,)


class Deaf(Good):
    def set_params(self, **params) -> Kernel:
        return super().set_params(**{k: v for k, v in params.items() if k == "scale"})


class WrongViews(Good):
    def gram(self, X, Z=None) -> Gram:
        gram = super().gram(X, Z)
        if Z is not None:
            gram.block = lambda rows, columns: HostGram.block(gram, rows, columns) * 1.001  # type: ignore[method-assign]
        return gram


class Careless(Good):
    def __call__(self, X, Z=None) -> np.ndarray:
        single = getattr(X, "dtype", None) == np.float32
        return super().__call__(X * np.float32(1.0001) if single else X, Z)


class ForgetsDtype(Good):
    def __call__(self, X, Z=None) -> np.ndarray:
        return super().__call__(X, Z).astype(np.float64)


class DenseOnly(Good):
    def __call__(self, X, Z=None) -> np.ndarray:
        return super().__call__(X, Z) * (1.0 if isinstance(X, (np.ndarray, list)) else 2.0)


class TakesNothing(Good):
    def __call__(self, X, Z=None) -> np.ndarray:
        return np.zeros((0, 0)) if np.shape(X)[:1] == (0,) else super().__call__(X, Z)


BROKEN = {
    FalseClaim: ("semidefinite", "it claims to be a kernel"),
    Asymmetric: ("symmetry", "k(x, z) and k(z, x)"),
    WrongDiagonal: ("diagonal", "diag"),
    WrongGradient: ("gradient", "∂k/∂scale"),
    NoText: ("text", "its LaTeX is empty"),
    WrongText: ("text", "evaluating its text"),
    WrongHash: ("identity", "another hash"),
    WrongCopy: ("identity", "a copy is not equal"),
    Deaf: ("params", "a parameter that does not exist"),
    WrongViews: ("views", "block"),
    Careless: ("precision", "k(X, Z)"),
    ForgetsDtype: ("precision", "float32 gives float64"),
    DenseOnly: ("sparse", "sparse"),
    TakesNothing: ("edges", "an empty X gives no error"),
}


@pytest.mark.parametrize("kernel", BROKEN, ids=lambda cls: cls.__name__)
def test_a_broken_promise_is_found_and_named(kernel) -> None:
    promise, message = BROKEN[kernel]
    with pytest.raises(AssertionError) as told:
        check_kernel(kernel(2.0))
    assert f"broken promise: {promise} of" in "".join(told.value.__notes__)
    assert message in str(told.value)


def test_prove_must_not_claim_what_the_kernel_does_not(monkeypatch) -> None:
    import mercer.proof

    monkeypatch.setattr(mercer.proof, "prove", lambda *a, **n: SimpleNamespace(holds=True))
    with pytest.raises(AssertionError, match="no rule proves it, but prove says"):
        check_kernel(-Good(2.0))


class Lopsided(OpaqueKernel):
    """Its blocks and its diagonal disagree."""

    def block(self, state_x, state_z) -> np.ndarray:
        return np.array([[float(a == b) for b in state_z] for a in state_x])

    def diag_of(self, state) -> np.ndarray:
        return np.full(len(state), 2.0)


def test_opaque_kernels_are_held_to_it_too() -> None:
    cls = dataclass(frozen=True, eq=False, repr=False)(Lopsided)
    with pytest.raises(AssertionError, match="diag"):
        check_kernel(cls(), ["a", "b", "c", "d"])
    with pytest.raises(ValueError, match="needs examples"):
        check_kernel(Similarity(max))
    with pytest.raises(ValueError, match="at least 4 examples, got 2"):
        check_kernel(Similarity(max), ["a", "b"])


def test_the_oracle_has_no_opinion_on_black_boxes() -> None:
    with pytest.raises(TypeError, match="an opaque kernel has no oracle"):
        oracle(Similarity(max), [[1.0]])
    np.testing.assert_array_equal(oracle(const(3.0), np.zeros((2, 1))), np.full((2, 2), 3.0))


class Wrapped:
    """An engine that is wrong in one place."""

    def __init__(self, wrong: str, kernel, X, Z=None) -> None:
        self.gram, self.wrong = HostGram(kernel, X, Z), wrong

    def __getattr__(self, name: str):
        value = getattr(self.gram, name)
        if name != self.wrong:
            return value
        return lambda *given: value(*given) * 1.001

    @property
    def T(self):
        return self.gram if self.wrong == "T" else self.gram.T

    def __matmul__(self, V):
        return (self.gram @ V) * (1.001 if self.wrong == "@" else 1.0)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ("dense", "dense"),
        ("block", "block"),
        ("T", "T: shape"),
        ("diagonal", "diagonal"),
        ("@", "product"),
    ],
)
def test_an_engine_that_is_wrong_is_found_out(wrong: str, message: str) -> None:
    def make(kernel, X, Z=None):
        return Wrapped(wrong, kernel, X, Z)

    small = {"kernels": ["gaussian(2)"], "shapes": [(5, None, 2), (5, 4, 2)]}
    check_engine(HostGram, **small)
    with pytest.raises(AssertionError, match=message):
        check_engine(make, **small)


def test_an_engine_may_ask_for_more_room() -> None:
    def rough(kernel, X, Z=None):
        return Wrapped("dense", kernel, X, Z)

    small = {"kernels": [Gaussian(2.0)], "shapes": [(5, 4, 2)]}
    check_engine(rough, **small, tolerance={"float32": 1e-2, "float64": 1e-2})


def ridge(gram: Gram, targets: np.ndarray) -> SimpleNamespace:
    K = gram.dense().astype(float)
    return SimpleNamespace(coef=np.linalg.solve(K + 0.1 * np.eye(len(K)), targets))


def residual(K, targets, coef, intercept) -> float:
    return float(np.abs(K @ coef + 0.1 * coef - targets).max())


def test_a_solver_that_keeps_the_protocol() -> None:
    check_solver(ridge, residual=residual)
    check_solver(ridge, residual=residual, kernel=Polynomial(2, 1.0), classes=True)


def spoils_targets(gram, targets):
    solution = ridge(gram, targets)
    targets[0] = 7.0
    return solution


def random_start(gram, targets):
    return SimpleNamespace(
        coef=ridge(gram, targets).coef + 1e-3 * np.random.default_rng().normal(size=len(targets))
    )


def looks_at_rows(gram, targets):
    scale = 1.0 if isinstance(gram.kernel, Precomputed) else 2.0
    return SimpleNamespace(coef=scale * ridge(gram, targets).coef)


def minds_the_order(gram, targets):
    coef = ridge(gram, targets).coef
    coef[0] += 0.5
    return SimpleNamespace(coef=coef)


def breaks_in_single(gram, targets):
    return SimpleNamespace(
        coef=ridge(gram, targets).coef * (2.0 if gram.dtype == np.float32 else 1.0)
    )


@pytest.mark.parametrize(
    ("solve", "message"),
    [
        (spoils_targets, "the targets were changed"),
        (random_start, "differs the second time"),
        (looks_at_rows, "given the matrix itself"),
        (minds_the_order, "another order of examples"),
        (breaks_in_single, "float32 is off"),
        (lambda g, t: SimpleNamespace(coef=ridge(g, t).coef[:-1]), "coef has shape"),
        (lambda g, t: SimpleNamespace(coef=ridge(g, t).coef * np.nan), "coef is not finite"),
        (lambda g, t: SimpleNamespace(coef=ridge(g, t).coef, intercept=np.inf), "intercept"),
    ],
)
def test_a_solver_that_does_not_is_found_out(solve, message: str) -> None:
    with pytest.raises(AssertionError, match=message):
        check_solver(solve)


def test_a_solver_that_is_not_optimal_is_found_out() -> None:
    with pytest.raises(AssertionError, match="from optimal"):
        check_solver(lambda g, t: SimpleNamespace(coef=0.9 * ridge(g, t).coef), residual=residual)


def test_what_a_solver_may_ask_to_be_spared() -> None:
    check_solver(minds_the_order, ordered=True)
    check_solver(looks_at_rows, needs_rows=True)


def test_linear_passes_with_rows_given() -> None:
    check_kernel(Linear(), np.random.default_rng(0).normal(size=(6, 3)))
