"""Parameters, names and LaTeX; kernels as scikit-learn sees them."""

from __future__ import annotations

import copy
import dataclasses
import pickle

import numpy as np
import pytest
from sklearn.base import clone

import mercer
from mercer import Gaussian, Linear, Polynomial
from mercer.kernels import Bilinear, Kernel, parse
from mercer.kernels.catalog import KERNELS, examples, leaves


def test_parameters_have_nested_names() -> None:
    k = 0.5 * Gaussian(2.0) + Polynomial(3).on([0])
    params = k.get_params()
    assert params["left__factor"] == 0.5
    assert params["left__kernel__sigma"] == 2.0
    assert params["right__kernel__degree"] == 3
    assert params["right__columns"] == (0,)
    assert set(k.get_params(deep=False)) == {"left", "right"}


def test_set_params_gives_a_new_kernel() -> None:
    k = Gaussian(2.0) + Linear()
    changed = k.set_params(left__sigma=3.0)
    assert changed == Gaussian(3.0) + Linear()
    assert k == Gaussian(2.0) + Linear()
    assert k.set_params() is k
    assert k.set_params(left=Polynomial(2), left__offset=1.0) == Polynomial(2, 1.0) + Linear()


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"sigma": 1.0}, "Sum has no parameter 'sigma'; it has ['left', 'right']"),
        ({"left__width": 1.0}, "Gaussian has no parameter 'width'"),
        ({"left__sigma__x": 1.0}, "'sigma' of Gaussian has no parts"),
        ({"left__sigma": -1.0}, "Gaussian: sigma must be a positive number"),
    ],
)
def test_set_params_says_what_there_is(params, message) -> None:
    with pytest.raises(ValueError) as told:
        (Gaussian() + Linear()).set_params(**params)
    assert message in str(told.value)


def test_arrays_are_read_only_everywhere() -> None:
    given = np.array([1.0, 2.0])
    k = Gaussian(given)
    given[0] = 9.0
    assert k == Gaussian([1.0, 2.0])
    for other in (k, copy.deepcopy(k), pickle.loads(pickle.dumps(k)), clone(k)):
        with pytest.raises(ValueError, match="read-only"):
            other.sigma[0] = 5.0
    with pytest.raises(ValueError, match="read-only"):
        Bilinear(np.eye(2)).A[0, 0] = 5.0


def test_hashes_are_stable_and_equal_after_a_round_trip() -> None:
    k = 0.5 * Gaussian([1.0, 2.0]).on(["a", "b"]) + Bilinear(np.eye(2)).normalized()
    again = pickle.loads(pickle.dumps(k))
    assert again is not k
    assert again == k
    assert hash(again) == hash(k)
    assert {k: 1}[again] == 1


def declared() -> list[tuple[Kernel, str, object]]:
    """Every bad value that the declarations of all kernels name."""
    everyone = [k for cls in leaves() for k in examples(cls)[:1]]
    everyone += [parse(text) for text in BLOCKS]
    cases = []
    for k in everyone:
        for name, check in k.parameters.items():
            cases += [(k, name, value) for value in check.bad()]
    return cases


BLOCKS = (
    "linear() + linear()",
    "linear() * linear()",
    "2*linear()",
    "linear() ** 2",
    "linear().exp()",
    "linear().normalized()",
    "linear().polynomial([1])",
    "linear().warp('tanh')",
    "linear().reweight('norm')",
    "linear().on(0)",
)


def test_bad_values_are_refused_by_class_parameter_rule_and_value() -> None:
    cases = declared()
    assert len(cases) > 300
    for k, name, value in cases:
        with pytest.raises((TypeError, ValueError)) as told:
            dataclasses.replace(k, **{name: value})
        start = f"{type(k).__name__}: {name} must be {k.parameters[name].words}, got {value!r}"
        if isinstance(value, int) and abs(value) >= 2**63:
            start += ", which has more than 64 bits"
        why = getattr(k.parameters[name], "why", "")
        reason = f" ({why})" if why and told.type is ValueError else ""
        assert str(told.value) == start + reason, (k, name, value)


def test_every_number_of_a_kernel_is_declared() -> None:
    for cls in KERNELS.values():
        for name, value in examples(cls)[0].get_params(deep=False).items():
            if isinstance(value, (int, float, Kernel)):
                assert name in cls.parameters, (cls, name)


BAD_VALUES = [
    (lambda: Gaussian.from_gamma(0), ValueError, "gamma must be a number, positive"),
    (
        lambda: Gaussian.from_gamma(np.inf),
        ValueError,
        "gamma must be a number, positive and finite",
    ),
    (lambda: Gaussian.from_gamma("a"), TypeError, "gamma must be a number"),
    (lambda: Bilinear([[1, 2], [3, 4]]), ValueError, "symmetric matrix"),
    (lambda: Bilinear([[1, 2]]), ValueError, "square matrix, got shape (1, 2)"),
    (lambda: Bilinear([1, 2]), ValueError, "square matrix, got shape (2,)"),
    (lambda: Bilinear(np.empty((0, 0))), ValueError, "square matrix"),
    (lambda: Bilinear([[np.nan]]), ValueError, "NaN or infinite"),
    (lambda: Bilinear([["a"]]), TypeError, "real numbers"),
    (lambda: Bilinear([[1j]]), TypeError, "real numbers"),
    (lambda: 2 * "a" * Linear(), TypeError, ""),
    (lambda: Linear() / 0, ValueError, "divided by 0"),
    (lambda: Linear().polynomial([]), ValueError, "at least one coefficient"),
    (lambda: Linear().polynomial(3), TypeError, "a list of coefficients"),
    (lambda: Linear().polynomial("12"), TypeError, "a list of coefficients"),
    (lambda: Linear().polynomial([1, np.nan]), ValueError, "finite numbers"),
    (lambda: Linear().polynomial([1, "a"]), ValueError, "finite numbers"),
    (lambda: Linear().warp(3), TypeError, "a function of rows, a transformer or a registered name"),
    (lambda: Linear().warp("nothing"), ValueError, "no function is registered as 'nothing'"),
    (lambda: Linear().reweight(3), TypeError, "reweight takes a function of rows"),
    (lambda: Linear().on([]), ValueError, "selects no column"),
    (lambda: Linear().on(slice(2)), TypeError, "an index, a name or a list of them"),
    (lambda: Linear().on(None), TypeError, "an index, a name or a list of them"),
    (lambda: Linear().on([0.5]), TypeError, "a column is an index or a name, got 0.5"),
    (lambda: Linear().on([np.nan]), TypeError, "a column is an index or a name"),
    (lambda: Linear().on([True]), TypeError, "a column is an index or a name"),
    (lambda: mercer.kernels.Similarity(3), TypeError, "Similarity takes a function"),
    (lambda: mercer.kernels.FromFeatures(3), TypeError, "FromFeatures takes a function"),
]


@pytest.mark.parametrize(("make", "kind", "message"), BAD_VALUES, ids=range(len(BAD_VALUES)))
def test_impossible_values_are_refused(make, kind, message) -> None:
    with pytest.raises(kind) as told:
        make()
    assert message in str(told.value)


def test_text_shows_what_differs_from_the_defaults() -> None:
    assert repr(Gaussian()) == "Gaussian()"
    assert repr(Gaussian(2)) == "Gaussian(sigma=2.0)"
    assert repr(Gaussian([1, 2])) == "Gaussian(sigma=[1.0, 2.0])"
    assert repr(Polynomial(3)) == "Polynomial(degree=3)"
    assert repr(Linear() - 2 * Gaussian()) == "Linear() - 2.0 * Gaussian()"
    assert repr(Linear() - (Gaussian() + 1)) == "Linear() - (Gaussian() + Constant())"
    assert repr(Linear() + (Gaussian() + 1)) == "Linear() + (Gaussian() + Constant())"
    assert repr((Linear() + Gaussian()) + 1) == "Linear() + Gaussian() + Constant()"
    assert repr(Linear() * (Gaussian() * Linear())) == "Linear() * (Gaussian() * Linear())"
    assert repr((2 * Linear()) ** 2) == "(2.0 * Linear()) ** 2"
    assert repr((Linear() ** 2) ** 3) == "(Linear() ** 2) ** 3"
    assert repr((-Linear()).exp()) == "(-1.0 * Linear()).exp()"
    assert repr((Linear() + 1) ** 2 * Gaussian()) == "(Linear() + Constant()) ** 2 * Gaussian()"
    assert repr(2 * (Linear() * Gaussian())) == "2.0 * (Linear() * Gaussian())"
    assert repr(Linear().warp(np.tanh)) == "Linear().warp(tanh)"
    assert repr(Linear().warp("tanh").on("age")) == "Linear().warp('tanh').on('age')"
    assert repr(mercer.kernels.Similarity(max, blocks=True)) == "Similarity(max, blocks=True)"
    assert repr(mercer.kernels.FromFeatures("square")) == "FromFeatures('square')"


LATEX = {
    "linear()": r"x \cdot z",
    "polynomial(3, offset=1)": r"\left(x \cdot z + 1\right)^{3}",
    "gaussian(2)": r"\exp\left(-\|x - z\|^2 / 8\right)",
    "gaussian([1, 2])": r"\exp\left(-\sum_j (x_j - z_j)^2 / (2\sigma_j^2)\right)",
    "laplacian(norm=1)": r"\exp\left(-1 \|x - z\|_1\right)",
    "2*linear()": r"2 \, x \cdot z",
    "linear()*(linear() + 1)": r"x \cdot z \cdot \left(x \cdot z + 1\right)",
    "linear().on(['a'])": r"x_{a} \cdot z_{a}",
    "linear().warp('tanh')": r"\varphi(x) \cdot \varphi(z)",
    "epanechnikov(2)": r"\left(1 - \left(\tfrac{\|x - z\|}{2}\right)^2\right)_+",
    "wendland(1)": r"\left(1 - \|x - z\|\right)_+^4 \left(4 \|x - z\| + 1\right)",
    "matern(1.5, 2)": (
        r"\left(1 + \sqrt{3} \tfrac{\|x - z\|}{2}\right) "
        r"\exp\left(-\sqrt{3} \tfrac{\|x - z\|}{2}\right)"
    ),
}


@pytest.mark.parametrize("text", LATEX)
def test_latex(text: str) -> None:
    assert parse(text).latex() == LATEX[text]


def test_a_notebook_shows_the_formula() -> None:
    assert (Linear() + 1)._repr_latex_() == r"$k(x, z) = x \cdot z + 1$"


def test_every_leaf_is_a_read_only_dataclass_of_the_package() -> None:
    for cls in leaves():
        assert issubclass(cls, Kernel)
        k = examples(cls)[0]
        for name in [*(f.name for f in dataclasses.fields(k)), "anything"]:  # type: ignore[arg-type]
            with pytest.raises(dataclasses.FrozenInstanceError):
                setattr(k, name, 1.0)
        assert cls.__doc__
        assert not cls.__dataclass_params__.eq, f"{cls}: equality is by parameters, in Kernel"


def test_kernels_know_when_they_depend_on_the_difference_only() -> None:
    for text in ("gaussian()", "gaussian([1, 2])", "laplacian(norm=1)", "bspline(3)", "periodic()"):
        assert parse(text).stationary(), text
    for text in ("linear()", "gaussian() + linear()", "chi_squared()", "gaussian().warp('tanh')"):
        assert not parse(text).stationary(), text
    for text in ("gaussian()", "matern() + 2*wendland()", "rational_quadratic()"):
        assert parse(text).radial(), text
    for text in ("gaussian([1, 2])", "gaussian().on(0)", "laplacian(norm=1)", "linear()"):
        assert not parse(text).radial(), text
    assert not mercer.kernels.Similarity(max).stationary()
    assert not mercer.kernels.Similarity(max).radial()


@pytest.mark.parametrize(
    "make",
    [Gaussian, mercer.kernels.Constant, lambda v: v * Linear(), lambda v: Linear().polynomial([v])],
)
def test_an_integer_beyond_all_floats_is_refused_without_its_digits(make) -> None:
    with pytest.raises(ValueError, match=r"finite numbers|larger than every float"):
        make(10**400)
