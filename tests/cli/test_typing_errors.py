"""What was mistyped is named, with exit code 2; it is never called a fault of mercer."""

from __future__ import annotations

import pytest

#: A mistyped expression, and the words its error has: the kernel, and the parameter.
EXPRESSIONS = {
    "gausian(1)": ["gausian", "gaussian"],
    "gaussian(simga=2)": ["Gaussian", "'simga'", "Did you mean 'sigma'?"],
    "gaussian(1, 2)": ["Gaussian", "at most 1 (sigma)"],
    "gaussian('a')": ["Gaussian", "sigma", "'a'"],
    "gaussian(-1)": ["Gaussian", "sigma", "-1"],
    "gaussian(1, sigma=2)": ["Gaussian", "sigma twice"],
    "gaussian(sigma=1, sigma=2)": ["sigma twice"],
    "gaussian(σ=1)": ["Gaussian", "'σ'", "sigma"],
    "gaussian(sigma=)": ["gaussian(sigma=)"],
    "gaussian(1": ["gaussian(1"],
    "bspline": ["bspline needs its degree"],
    "gaussian(True)": ["Gaussian", "sigma"],
    "polynomial()": ["Polynomial", "degree"],
    "polynomial('3')": ["Polynomial", "degree", "whole number"],
    "polynomial(2.5)": ["Polynomial", "degree", "2.5"],
    "polynomial([3])": ["Polynomial", "degree"],
    "polynomial(3, offset='x')": ["Polynomial", "offset"],
    "polynomial(degree=gaussian())": ["Polynomial", "degree"],
    "linear(3)": ["Linear", "no parameters"],
    "anova('a')": ["Anova", "degree"],
    "bspline('x')": ["BSpline", "degree"],
    "spectrum(k=3)": ["Spectrum", "'k'", "p, blended"],
    "mismatch('a', 1)": ["Mismatch", "p must be"],
    "rational_quadratic(alpha=[1])": ["RationalQuadratic", "alpha"],
    "matern(nu='5/2')": ["Matern", "nu"],
    "periodic(period='x')": ["Periodic", "period"],
    "constant([1, 2])": ["Constant", "value"],
    "bilinear('a')": ["Bilinear", "matrix"],
    "bilinear([[1, 2], [3]])": ["bilinear([[1, 2], [3]])"],
    "precomputed(3)": ["Precomputed", "no parameters"],
    "tangent_distance(3)": ["TangentDistance", "width"],
    "fisher(3)": ["Fisher", "int"],
    "linear().on()": ["on", "columns"],
    "linear().on(0.5)": ["on(0.5)", "column"],
    "linear().warp(3)": ["warp", "int"],
    "linear().normalized(3)": ["normalized", "no parameters"],
    "linear().normalised()": ["normalised", "normalized"],
    "linear().exp('a')": ["exp", "no parameters"],
    "linear() + 'a'": ["linear() + 'a'"],
    "1 / linear()": ["1 / linear()"],
    "linear() ** 0.5": ["degree", "0.5"],
}


def check(done, words):
    assert done.exit_code == 2, done.stderr
    assert "fault of mercer" not in done.stderr
    assert "__init__" not in done.stderr
    for word in words:
        assert word in done.stderr


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_a_mistyped_expression_is_named_by_every_command(mercer, table, expression):
    words = EXPRESSIONS[expression]
    check(mercer("prove", expression), words)
    check(mercer("explain", expression), words)
    check(mercer("compare", table, "--target", "label", "--kernel", expression), words)
    fit = ["--kernel", expression, "--target", "label", "--model", table.with_name("not.mercer")]
    check(mercer("fit", table, *fit), words)
    assert not table.with_name("not.mercer").exists()


@pytest.mark.parametrize(
    ("kernel", "setting", "words"),
    [
        ("spectrum(3)", "C=1", ["KernelSVC with Spectrum(p=3)", "strings"]),
        ("gaussian([1, 2])", "C=1", ["2 of them", "columns"]),
        ("linear().on(99)", "C=1", ["no column 99"]),
        ("gaussian()", "C=ten", ["KernelSVC", "C must be a number", "'ten'"]),
        ("gaussian()", "C=none", ["KernelSVC", "C must be a number"]),
        ("gaussian()", "tol=a", ["KernelSVC", "tol must be a number"]),
        ("gaussian()", "tol=" + "9" * 400, ["KernelSVC", "tol must be", "larger than every float"]),
        ("gaussian()", "c=1", ["KernelSVC", "'c'", "Did you mean 'C'?"]),
    ],
)
def test_what_does_not_suit_the_data_or_the_learner_is_named(mercer, table, kernel, setting, words):
    fit = ["--kernel", kernel, "--set", setting, "--model", table.with_name("not.mercer")]
    check(mercer("fit", table, "--target", "label", *fit), words)
