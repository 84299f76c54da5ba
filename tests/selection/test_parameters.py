"""Parameters learned by descent: slopes against differences, and data with known parameters."""

import numpy as np
import pytest

import mercer
from mercer.kernels import Gaussian, Laplacian, Periodic, Polynomial
from mercer.selection.parameters import criterion, learn_parameters, scalar_parameters

KERNEL = 0.7 * Gaussian(1.3) + Laplacian(0.4) * Polynomial(2, 1.0)


def value(kernel, alpha, by):
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(25, 2)), rng.normal(size=(25, 2))
    return criterion(kernel, X, Y, alpha, list(scalar_parameters(kernel)), by)


@pytest.mark.parametrize("by", ["evidence", "loo"])
@pytest.mark.parametrize("name", [*scalar_parameters(KERNEL), "alpha"])
def test_slopes_are_those_of_the_value(by, name):
    step, slope = 1e-5, value(KERNEL, 0.3, by)[1][name]

    def moved(by_how_much):
        if name == "alpha":
            return value(KERNEL, 0.3 + by_how_much, by)[0]
        at = scalar_parameters(KERNEL)[name] + by_how_much
        return value(KERNEL.set_params(**{name: at}), 0.3, by)[0]

    assert slope == pytest.approx((moved(step) - moved(-step)) / (2 * step), rel=1e-5)


def test_the_evidence_is_that_of_scikit_learn():
    gp = pytest.importorskip("sklearn.gaussian_process")
    rng = np.random.default_rng(1)
    X, t = rng.normal(size=(20, 2)), rng.normal(size=20)
    model = gp.GaussianProcessRegressor(gp.kernels.RBF(1.5), alpha=0.2, optimizer=None).fit(X, t)
    ours = criterion(Gaussian(1.5), X, t, 0.2, [])[0]
    assert -ours == pytest.approx(model.log_marginal_likelihood_value_)


def test_the_leave_one_out_error_is_that_of_ridge():
    rng = np.random.default_rng(2)
    X, t = rng.normal(size=(30, 2)), rng.normal(size=30)
    model = mercer.KernelRidge(Gaussian(1.1), alphas=[0.3], fit_intercept=False).fit(X, t)
    assert criterion(Gaussian(1.1), X, t, 0.3, [], "loo")[0] == pytest.approx(model.loo_errors_[0])


def test_a_sample_of_a_process_gives_its_parameters_back():
    rng = np.random.default_rng(3)
    X = rng.uniform(0, 30, size=(200, 1))
    K = Gaussian(2.0)(X) + 0.01 * np.eye(200)
    t = np.linalg.cholesky(K) @ rng.normal(size=200)
    found = learn_parameters(Gaussian(0.5), X, t, alpha=1.0)
    assert found.kernel.sigma == pytest.approx(2.0, rel=0.25)
    assert found.alpha == pytest.approx(0.01, rel=0.5)
    assert found.history[-1] == pytest.approx(found.value)
    assert found.value < criterion(Gaussian(0.5), X, t, 1.0, [])[0]


def test_the_slope_that_descent_sees_is_that_of_the_value_it_sees(monkeypatch):
    from scipy.optimize import approx_fprime

    seen = []
    monkeypatch.setattr(
        "mercer.selection.parameters.minimize", lambda f, u, **_: seen.append((f, u)) or 1 / 0
    )
    rng = np.random.default_rng(4)
    X, t = rng.normal(size=(20, 2)), rng.normal(size=20)
    # Logarithms of the positive ones, the others as they are.
    kernel = 0.7 * Gaussian(3.0) + Polynomial(2, 0.0)
    for by in ("evidence", "loo"):
        with pytest.raises(ZeroDivisionError):
            learn_parameters(kernel, X, t, alpha=0.3, by=by)
        ((f, u),) = seen
        seen.clear()
        wanted = [scalar_parameters(kernel)[name] for name in scalar_parameters(kernel)] + [0.3]
        assert np.allclose(u, [np.log(v) if v > 0 else v for v in wanted])
        u = u + 0.1
        numeric = approx_fprime(u, lambda v, f=f: f(v)[0], 1e-7)
        np.testing.assert_allclose(f(u)[1], numeric, rtol=1e-4, atol=1e-5)


def test_as_many_steps_as_allowed():
    x = np.linspace(0, 6, 40)[:, None]
    options = {"alpha": 0.1}
    first, more = (
        learn_parameters("gaussian(0.1)", x, np.sin(x[:, 0]), max_iter=n, **options) for n in (1, 4)
    )
    assert len(first.history) == 1
    assert len(more.history) == 4
    start = criterion("gaussian(0.1)", x, np.sin(x[:, 0]), 0.1, [])[0]
    assert start > first.value > more.value
    assert list(more.history) == sorted(more.history, reverse=True)


def test_only_what_was_asked_for_moves():
    x = np.linspace(0, 6, 50)[:, None]
    kernel = Periodic(2.0, 1.0) + Gaussian(1.0)
    names = ["right__sigma"]
    found = learn_parameters(
        kernel, x, np.sin(x[:, 0]), alpha=0.01, names=names, by="loo", learn_alpha=False
    )
    assert found.kernel.left == kernel.left
    assert found.kernel.right.sigma != 1.0
    assert found.alpha == 0.01


def test_bad_input():
    X, t = np.zeros((3, 1)), np.zeros(3)
    with pytest.raises(ValueError, match="evidence"):
        learn_parameters("gaussian(1)", X, t, by="chance")
    with pytest.raises(ValueError, match="positive"):
        learn_parameters("gaussian(1)", X, t, alpha=0.0)
    with pytest.raises(ValueError, match="sigma"):
        learn_parameters("gaussian(1)", X, t, names=["width"])
    with mercer.config(memory="1kB"), pytest.raises(MemoryError, match="sample of"):
        learn_parameters("gaussian(1)", np.zeros((50, 1)), np.zeros(50))


def test_on_a_device(run_on_device):
    run_on_device("""
        import numpy as np, torch
        from mercer import Gaussian
        from mercer.selection.parameters import criterion, learn_parameters
        device = "cuda" if torch.cuda.is_available() else "cpu"
        rng = np.random.default_rng(0)
        X, t = rng.normal(size=(40, 2)), rng.normal(size=40)
        there = torch.tensor(X, device=device), torch.tensor(t, device=device)
        for by in ("evidence", "loo"):
            a, slopes = criterion(Gaussian(1.2), *there, 0.3, ["sigma"], by)
            b, wanted = criterion(Gaussian(1.2), X, t, 0.3, ["sigma"], by)
            assert abs(a - b) < 1e-9 and abs(slopes["sigma"] - wanted["sigma"]) < 1e-9
        found = learn_parameters(Gaussian(0.3), *there)
        wanted = learn_parameters(Gaussian(0.3), X, t)
        assert abs(found.kernel.sigma / wanted.kernel.sigma - 1) < 1e-3
        print("checked")
    """)
