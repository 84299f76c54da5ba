"""Records of operations: NumPy, many digits, slope and sign agree; targets say what they lack."""

from __future__ import annotations

import math
from collections.abc import Iterator

import mpmath
import numpy as np
import pytest

import mercer
from mercer.engines.cuda.triton_source import TRITON
from mercer.formula import ROOT, Formula, Op, evaluate, register_op
from mercer.formula.nodes import Input, const, dot, param, sqdist
from mercer.formula.ops import BUILT_IN, OPS, Sign, form_of, nonnegative
from mercer.formula.profile import never_negative, ordering, sign_of
from mercer.gram.cpu.compiled import can_compile
from mercer.gram.cpu.numba_source import NUMBA
from mercer.gram.dispatch import has_formula, make_gram
from mercer.kernels import Kernel, Rule, kernel
from mercer.onnx.operations import ONNX

#: What each target has no form for, and so leaves to NumPy or refuses; no more, no less.
LACKS = {
    "numba": {"exp", "tanh", "sin", "cos", "arccos", "arcsin"},
    "triton": {"exp", "arccos", "arcsin"},
    "torch": set(),
    "onnx": set(),
}
POINTS = (-2.0, -1.0 - 1e-12, -0.75, 0.0, 0.5, 1.0, 3.0)


def arguments(op: Op) -> list[tuple[float, ...]]:
    """Numbers of its domain, as many as it takes."""
    inside = [v for v in POINTS if op.domain[0] <= v < op.domain[1]]
    if op.name == "log":
        inside.remove(0.0)
    n = op.arity or 3
    return list(zip(*(inside[i:] + inside[:i] for i in range(n)), strict=True)) + [
        (v,) * n for v in inside
    ]


def extra(op: Op) -> tuple[int, ...]:
    return (3,) if op.name == "pow" else ()


@pytest.mark.parametrize("op", [OPS[name] for name in sorted(BUILT_IN)], ids=lambda op: op.name)
def test_numpy_and_mpmath_mean_the_same(op: Op) -> None:
    assert op.precise is not None
    for numbers in arguments(op):
        exact = float(op.precise(mpmath, *map(mpmath.mpf, numbers), *extra(op)))
        node = Formula(op.name, map(const, numbers), *extra(op))
        assert op.fold(node) == pytest.approx(exact, abs=1e-14)
        single = op.numpy(*map(np.float32, numbers), *extra(op))
        assert np.asarray(single).dtype == np.float32, "float32 stays float32"
        assert float(single) == pytest.approx(exact, abs=2e-6, rel=2e-6)


@pytest.mark.parametrize("op", [OPS[name] for name in sorted(BUILT_IN)], ids=lambda op: op.name)
def test_signs_and_slopes_are_true(op: Op) -> None:
    for numbers in arguments(op):
        node = Formula(op.name, map(const, numbers), *extra(op))
        value, sign = op.fold(node), sign_of(node)
        assert value >= 0 or not sign & Sign.NEVER_NEGATIVE
        assert value <= 0 or not sign & Sign.NEVER_POSITIVE
    if op.slope:
        values = [op.fold(Formula(op.name, map(const, v))) for v in sorted(arguments(op))]
        assert (op.slope * np.diff(values) >= 0).all()


def test_signs_of_composites() -> None:
    far, any_ = sqdist(ROOT), dot(ROOT)
    assert sign_of(-2.0 * far) == Sign.NEVER_POSITIVE
    assert sign_of(-2.0 * (far * -1.0)) == Sign.NEVER_NEGATIVE
    assert sign_of(far - any_) == Sign.UNKNOWN
    assert sign_of(far * any_) == Sign.UNKNOWN
    assert sign_of(any_.apply("min", -1.0)) == Sign.NEVER_POSITIVE
    assert sign_of(any_.apply("max", -1.0)) == Sign.UNKNOWN
    assert sign_of(any_**3) == Sign.UNKNOWN
    assert sign_of(any_**2) == Sign.NEVER_NEGATIVE
    assert sign_of(const(0.0)) == Sign.NEVER_NEGATIVE | Sign.NEVER_POSITIVE


@pytest.mark.parametrize("target", LACKS)
def test_targets_say_what_they_lack(target: str) -> None:
    if target == "torch":
        pytest.importorskip("torch")
        from mercer.engines.cuda.ops import TORCH as table
    else:
        table = {"numba": NUMBA, "triton": TRITON, "onnx": ONNX}[target]
    written_out = {"pow"} if target in ("numba", "triton") else set()
    assert set(table) <= BUILT_IN
    assert BUILT_IN - set(table) - written_out == LACKS[target]
    assert all(op.derivative and op.precise for op in OPS.values() if op.name in BUILT_IN)


# --- an operation from outside -------------------------------------------------------------------

BUMP = Op(
    "bump",
    lambda u: np.exp(-np.square(u)),
    derivative=lambda n: [-2.0 * n.args[0] * n],
    precise=lambda mp, u: mp.exp(-u * u),
    sign=nonnegative,
)


@kernel
class Bumps(Kernel):
    """k(x, z) = exp(−(x·z/width)²), by an operation that formulas do not have."""

    width: float = 1.0
    proof = Rule(None, "bump", "nothing is known")

    def lower(self, rows: Input, path: str = "") -> Formula:
        return dot(rows).over(self._named(path, "width")).apply("bump")


@pytest.fixture
def bump() -> Iterator[type[Kernel]]:
    register_op(BUMP)
    try:
        yield Bumps
    finally:
        del OPS["bump"]


def test_an_operation_from_outside_serves_a_kernel(bump: type[Kernel]) -> None:
    X = np.random.default_rng(0).normal(size=(6, 3))
    k = mercer.parse("0.5*bumps(width=2)")
    np.testing.assert_allclose(k(X), 0.5 * np.exp(-np.square(X @ X.T / 2)), rtol=1e-12)
    mercer.testing.check_kernel(k)
    assert never_negative(k.formula())
    assert not can_compile(k.gram(X).program)


def test_an_operation_from_outside_is_refused_by_name_where_it_has_no_form(
    bump: type[Kernel],
) -> None:
    X = np.ones((3, 2))
    model = mercer.KernelExpansion(bump(), X, np.ones(3))
    with pytest.raises(mercer.onnx.NotExportable, match=r"operation 'bump' .* has no ONNX form"):
        mercer.onnx.export(model)
    with pytest.raises(TypeError, match="operation 'bump' has no form here"):
        evaluate(dot(ROOT).apply("bump"), {dot(ROOT): 1.0}, lambda op: form_of(op, "torch", {}))
    with pytest.warns(UserWarning, match="operation 'bump' has no form for torch"):
        assert not has_formula(bump(), "torch")
    assert has_formula(mercer.Gaussian(), "torch")


def test_an_operation_may_bring_its_forms() -> None:
    op = Op("twice", lambda u: 2 * u, slope=1, targets={"numba": lambda u: f"({u} + {u})"})
    register_op(op)
    try:
        register_op(op)
        with pytest.raises(ValueError, match="there is an operation 'twice' already"):
            register_op(Op("twice", np.square))
        f = (-sqdist(ROOT)).apply("twice").exp()
        X = np.random.default_rng(0).normal(size=(5, 2))
        gram = make_gram(f, X)
        assert can_compile(gram.program)
        np.testing.assert_allclose(gram.dense(), mercer.Gaussian(0.5)(X), rtol=1e-12)
        assert ordering(f) == (sqdist(ROOT), -1.0)
        with pytest.raises(NotImplementedError, match="'twice' has no derivative"):
            mercer.formula.derive(param("p", math.pi).apply("twice"), param("p", math.pi))
    finally:
        del OPS["twice"]
