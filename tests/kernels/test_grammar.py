"""`parse`: the language of kernels, and everything that is not in it."""

from __future__ import annotations

import math

import pytest

from mercer import Gaussian, Laplacian, Linear, Polynomial
from mercer.kernels import Constant, Kernel, as_kernel, parse, register
from mercer.kernels.catalog import leaves
from mercer.kernels.grammar import MAX_DEPTH, MAX_LENGTH

GOOD = {
    "gaussian()": Gaussian(),
    " gaussian( 2 ) ": Gaussian(2.0),
    "Gaussian(sigma=2)": Gaussian(2.0),
    "gaussian(sigma=[1, 2.5])": Gaussian([1.0, 2.5]),
    "gaussian((1, 2))": Gaussian([1.0, 2.0]),
    "gaussian.from_gamma(0.5)": Gaussian(1.0),
    "polynomial(3, offset=1)": Polynomial(3, 1.0),
    "polynomial(3, offset=-1)": Polynomial(3, -1.0),
    "polynomial(3, +1)": Polynomial(3, 1.0),
    "laplacian(norm=inf)": Laplacian(norm="inf"),
    "laplacian(norm=infinity)": Laplacian(norm="inf"),
    "laplacian(norm='inf')": Laplacian(norm="inf"),
    "-linear()": -Linear(),
    "+linear()": Linear(),
    "--linear()": -1.0 * (-1.0 * Linear()),
    "2*linear() + 1": 2 * Linear() + 1.0,
    "1 - linear()": 1.0 - Linear(),
    "linear()/4": Linear() / 4,
    "linear()**2 * gaussian()": Linear() ** 2 * Gaussian(),
    "(linear() + gaussian())**2": (Linear() + Gaussian()) ** 2,
    "0.5*gaussian(2).on(['age']) + polynomial(3, offset=1).normalized()": (
        0.5 * Gaussian(2.0).on(["age"]) + Polynomial(3, 1.0).normalized()
    ),
    "linear().polynomial([1, 0, -2])": Linear().polynomial([1, 0, -2]),
    "linear().exp().normalized().on(0).on([0])": Linear().exp().normalized().on(0).on([0]),
    "linear().warp('tanh').reweight('norm')": Linear().warp("tanh").reweight("norm"),
    "constant(1e-300)": Constant(1e-300),
    "squared_distance() + squareddistance()": parse("SquaredDistance() + squared_distance()"),
    "bspline(3)": parse("BSpline(degree=3)"),
}


@pytest.mark.parametrize("text", GOOD)
def test_reads(text: str) -> None:
    assert parse(text) == GOOD[text]


BAD = {
    "": "not a kernel expression",
    "   ": "not a kernel expression",
    "1": "not a kernel",
    "1 + 2": "arithmetic on bare numbers",
    "'gaussian()'": "not a kernel",
    "[gaussian()]": "not a kernel",
    "bspline": "bspline needs its degree: write bspline(degree=…)",
    "gausian": "Did you mean 'gaussian'",
    "linear() + unknown_thing": "no kernel named 'unknown_thing'",
    "gauss()": "Did you mean 'gaussian'",
    "gausian(2) + linear()": "Did you mean 'gaussian'",
    "qqqqqq()": "There are: ",
    "__import__('os').system('true')": "building block 'system'",
    "__import__('os')": "no kernel named '__import__'",
    "eval('1')": "no kernel named 'eval'",
    "lambda x, z: 1": "not part of the language",
    "(lambda: gaussian())()": "not a call of a kernel",
    "gaussian().__class__": "not part of the language",
    "gaussian().__class__()": "building block '__class__'",
    "gaussian().gram([[1]])": "building block 'gram'",
    "gaussian().set_params(sigma=2)": "building block 'set_params'",
    "gaussian().normalised()": "did you mean 'normalized'",
    "os.system('true')": "building block 'system'",
    "gaussian(**{'sigma': 2})": "not part of the language",
    "gaussian(**x)": "not part of the language",
    "gaussian(*[1])": "not part of the language",
    "[k for k in [gaussian()]]": "not part of the language",
    "gaussian() if 1 else linear()": "not part of the language",
    "gaussian() @ linear()": "operator other than",
    "gaussian() // 2": "operator other than",
    "gaussian() % 2": "operator other than",
    "gaussian() and linear()": "not part of the language",
    "gaussian() < linear()": "not part of the language",
    "~gaussian()": "not part of the language",
    "not gaussian()": "not part of the language",
    "gaussian()[0]": "not part of the language",
    "f'{1}'": "not part of the language",
    "(k := gaussian())": "not part of the language",
    "gaussian(1j)": "is not a number, a string or a list",
    "gaussian(b'1')": "is not a number, a string or a list",
    "gaussian(None)": "is not a number, a string or a list",
    "gaussian(...)": "is not a number, a string or a list",
    "gaussian(1e301)": "too large a number",
    "gaussian(" + "9" * 400 + ")": "too large a number",
    "gaussian() ** 1001": "up to 1000",
    "gaussian() ** linear()": "up to 1000",
    "2 ** gaussian()": "up to 1000",
    "gaussian() + 'a'": "mixes kernels or numbers",
    "gaussian() * [1]": "mixes kernels or numbers",
    "gaussian() + True": "does not make a kernel",
    "1 / gaussian()": "does not make a kernel",
    "gaussian() / 0": "divided by 0",
    "linear.from_gamma(1)": "does not exist",
    "nothing.from_gamma(1)": "no kernel named",
    "gaussian().from_gamma(1)": "building block 'from_gamma'",
    "(1).exp()": "not a building block of a kernel",
    "linear().warp('nothing')": "no function is registered as 'nothing'",
    "linear().warp('tanhh')": "Did you mean 'tanh'",
    "gaussian(": "not a kernel expression",
    "gaussian())": "not a kernel expression",
    "gaussian() linear()": "not a kernel expression",
    "gaussian(); linear()": "not a kernel expression",
    "gaussian()\nlinear()": "not a kernel expression",
    "import os": "not a kernel expression",
    "x = gaussian()": "not a kernel expression",
    "gaussian(\0)": "not a kernel expression",
    "gaussian(sigma=1, sigma=2)": "gives sigma twice",
    "gaussian(sigma=-1)": "sigma must be a positive number",
    "gaussian(sigma=0)": "sigma must be a positive number",
    "polynomial(0)": "degree must be a whole number of at least 1",
    "polynomial(2.5)": "degree must be a whole number of at least 1",
    "linear() ** 0": "degree must be a whole number of at least 1",
    "linear() ** 2.5": "degree must be a whole number of at least 1",
    "linear().on([])": "selects no column",
    "(" * 61 + "gaussian()" + ")" * 61: "nested more than 60 deep",
    "(" * 4000 + "gaussian()" + ")" * 4000: "nested more than 60 deep",
    "[" * 4990: "nested more than 60 deep",
    "-" * 9000 + "gaussian()": "",
    "not " * 2400 + "gaussian()": "",
    "gaussian()" + ".exp()" * 300: "nested more than 60 deep",
    "gaussian()" + ".exp()" * 1600: "",
    "+".join(["gaussian()"] * 200): "nested more than 60 deep",
    "(" * 10_000 + "gaussian()" + ")" * 10_000: "at most 10000 are read",
    "gaussian()" + " " * 10_000: "at most 10000 are read",
}


@pytest.mark.parametrize("text", BAD, ids=lambda t: t[:40].encode("unicode_escape").decode())
def test_refuses_with_a_reason(text: str) -> None:
    with pytest.raises(ValueError) as told:
        parse(text)
    assert BAD[text] in str(told.value)
    assert len(str(told.value)) < 900


BAD_TYPES = {
    "gaussian(1, 2, 3)": "in 'gaussian(1, 2, 3)'",
    "gaussian(width=2)": "width",
    "polynomial()": "degree",
    "gaussian('a')": "sigma must be a positive number between 1e-150 and 1e+150, or one per column",
    "linear().exp(2)": "in 'linear().exp(2)'",
    "linear().on(gaussian())": "an index, a name or a list of them",
    "linear().polynomial(2)": "list of coefficients",
}


@pytest.mark.parametrize("text", BAD_TYPES)
def test_wrong_arguments_are_type_errors_that_quote_the_call(text: str) -> None:
    with pytest.raises(TypeError) as told:
        parse(text)
    assert BAD_TYPES[text] in str(told.value)


@pytest.mark.parametrize("given", [None, 3, b"gaussian()", ["gaussian()"]])
def test_only_text_is_parsed(given) -> None:
    with pytest.raises(TypeError, match="an expression is a string"):
        parse(given)


def test_nothing_is_ever_called(tmp_path) -> None:
    mark = tmp_path / "mark"
    for text in (
        f"open('{mark}', 'w')",
        f"__import__('pathlib').Path('{mark}').touch()",
        f"linear().warp(open('{mark}', 'w'))",
        f"gaussian(open('{mark}', 'w'))",
    ):
        with pytest.raises((ValueError, TypeError)):
            parse(text)
    assert not mark.exists()


def test_limits_leave_room_for_real_expressions() -> None:
    assert isinstance(parse("(" * (MAX_DEPTH - 2) + "gaussian()" + ")" * (MAX_DEPTH - 2)), Kernel)
    assert isinstance(parse(" + ".join(["gaussian(1)"] * 50)), Kernel)
    assert isinstance(parse("gaussian([" + "1.0, " * 1500 + "1.0])"), Kernel)
    assert MAX_LENGTH >= 10_000


@pytest.mark.parametrize("cls", leaves())
def test_every_leaf_has_its_name_in_two_spellings(cls) -> None:
    from mercer.kernels.grammar import find

    assert find(cls.__name__) is cls
    assert find(cls.__name__.lower()) is cls


def test_registered_functions_have_names() -> None:
    register("third", lambda X: X / 3)
    k = parse("linear().warp('third')")
    assert k([[3.0]], [[3.0]]) == [[1.0]]
    assert parse(repr(k)) == k
    with pytest.raises(ValueError, match="identifier"):
        register("no name", abs)
    with pytest.raises(TypeError, match="needs a function"):
        register("number", 3)


def test_as_kernel_takes_every_form() -> None:
    assert as_kernel(Gaussian()) == Gaussian()
    assert as_kernel("gaussian(2)") == Gaussian(2.0)
    assert repr(as_kernel("precomputed")) == "Precomputed()"
    assert as_kernel(math.dist)([[0.0]], [[3.0]]) == [[3.0]]
    with pytest.raises(TypeError, match="kernel must be a Kernel"):
        as_kernel(3)


def test_a_caret_is_a_power() -> None:
    assert parse("gaussian()^2") == parse("gaussian() ** 2")
