"""Where a claim holds travels with the inputs: what is asked of x is asked of what k sees."""

import numpy as np
import pytest

import mercer.kernels as mk
from mercer.proof import prove

WITH_DOMAIN = [mk.Intersection(), mk.ChiSquared()]


def halve(X):
    return np.asarray(X) / 2


@pytest.mark.parametrize("k", WITH_DOMAIN, ids=repr)
@pytest.mark.parametrize(
    ("build", "domain"),
    [
        (lambda k: k.warp(np.negative), "negative(x) ≥ 0"),
        (lambda k: k.warp("log1p"), "log1p(x) ≥ 0"),
        (lambda k: k.warp(lambda X: -X), "φ(x) ≥ 0"),
        (lambda k: k.warp(np.negative).warp(halve), "negative(halve(x)) ≥ 0"),
        (lambda k: k.on(1), "x[1] ≥ 0"),
        (lambda k: k.on(["age", "x"]), "x[['age', 'x']] ≥ 0"),
        (lambda k: k.on([0, 1]).warp(np.exp), "exp(x)[[0, 1]] ≥ 0"),
        (lambda k: k.reweight("norm"), "x ≥ 0"),
        (lambda k: 2 * k, "x ≥ 0"),
        (lambda k: k**2, "x ≥ 0"),
        (lambda k: k.exp(), "x ≥ 0"),
        (lambda k: k.normalized(), "x ≥ 0"),
        (lambda k: k.polynomial([0, 1, 2]), "x ≥ 0"),
        (lambda k: k + mk.Gaussian(), "x ≥ 0"),
        (lambda k: k * k.warp(np.exp), "x ≥ 0 and exp(x) ≥ 0"),
    ],
)
def test_the_domain_travels(k, build, domain):
    assert prove(build(k)).domain == domain


def test_every_kernel_that_refuses_rows_names_its_domain():
    """The class of the defect: a kernel that is only defined somewhere must say so."""
    for entry in mk.catalog.leaves():
        for example in entry.examples if hasattr(entry, "examples") else ():
            kernel = mk.parse(example) if isinstance(example, str) else example()
            if kernel.is_opaque:
                continue
            try:
                kernel(np.array([[-1.0, -2.0, -0.5]]))
            except ValueError as error:
                if "≥ 0" in str(error):
                    assert kernel.claim().domain, repr(kernel)
