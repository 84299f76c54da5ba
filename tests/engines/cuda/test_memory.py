"""Learners on a device that has no room for all rows: what streams does, the rest says so."""

import pytest

BEGIN = """
import warnings
from contextlib import contextmanager
from dataclasses import replace
import numpy as np, torch, mercer
import mercer.engines.cuda as device
from mercer.gram import dispatch
from mercer.gram.dispatch import make_gram
from mercer.engines.cuda.streamed import StreamedGram, too_large
from mercer.kernels import *
from mercer.learners import *

warnings.simplefilter("ignore")
if torch.cuda.is_available():
    mercer.set_config(device="cuda")
else:
    # Arrays belong on a device, as if one were configured; under the interpreter that is the CPU.
    settings = device.get_config
    device.get_config = dispatch.get_config = lambda: replace(settings(), device="cuda")
    device.require_cuda = lambda: None

rng = np.random.default_rng(0)
# Wide rows: K of them fits the memory below, they themselves and their copies do not.
X, Q = rng.normal(size=(60, 200)), rng.normal(size=(40, 200))
y, c = np.sin(X[:, 0]), (X[:, 0] + X[:, 1] > 0).astype(int)
k = Gaussian(20.0)
small = lambda: mercer.config(memory="400kB")
with small():
    assert too_large(X) and isinstance(make_gram(k, X), StreamedGram)
assert not too_large(X)

@contextmanager
def on_the_host():
    kept = device.get_config
    device.get_config = dispatch.get_config = mercer.get_config
    with mercer.config(device="cpu"):
        yield
    device.get_config = dispatch.get_config = kept

"""

CASES = {
    "what needs all rows says what would work": """
for model in (
    KernelPerceptron(k),
    KernelPerceptron(k, averaging="average"),
    KernelRidge(k, solver="cholesky"),
    KernelRidge(k, alphas=[0.1, 1.0], solver="cholesky"),
    KernelRidgeClassifier(k, solver="cholesky"),
    KernelSVC(k),
    KernelSVR(k),
    KernelOneClass(k),
    KernelLogisticRegression(k, solver="newton"),
):
    with small():
        try:
            model.fit(X, c)
            raise AssertionError(f"{model} has fitted")
        except MemoryError as error:
            words = str(error)
    assert "60 rows do not fit the device" in words, (model, words)
    for advice in (
        "ridge regression with solver=",
        "'nystrom', 'cg' or 'gradient'",
        "parts of",
        "config(device='cpu')",
        "memory limit",
    ):
        assert advice in words, (model, words)
    model.fit(X, c)  # and it is only the memory
""",
    "what only multiplies by K streams": """
with on_the_host():
    exact = KernelRidge(k, alpha=1.0, solver="cholesky").fit(X, y).predict(Q)
with small():
    by_products = KernelRidge(k, alpha=1.0, solver="cg", tol=1e-8).fit(X, y)
    assert np.allclose(by_products.predict(Q), exact, atol=1e-6)
tall = rng.normal(size=(300, 3))
with mercer.config(memory="120kB"):
    try:
        KernelRidge(Gaussian(), alpha=0.1, solver="cholesky").fit(tall, tall[:, 0])
        raise AssertionError("K has room")
    except MemoryError as error:
        assert "'cg' fits" in str(error), error
    KernelRidge(Gaussian(), alpha=100.0, solver="cg", tol=0.01).fit(tall, tall[:, 0])
""",
    "centers stream, and so do gradients": """
some = {"solver": "nystrom", "n_centers": 20, "random_state": 0}
answers = lambda model: getattr(model, "predict_proba", model.predict)(Q)
for make, t in (
    (lambda: KernelRidge(k, alpha=0.1, fit_intercept=True, **some), y),
    (lambda: KernelRidge(k, alphas=[0.1, 1.0], **some), y),
    (lambda: KernelRidgeClassifier(k, alpha=0.1, **some), c),
    (lambda: KernelLogisticRegression(k, alpha=0.5, tol=1e-8, **some), c),
    (lambda: KernelLogisticRegression(k, alpha=0.5, solver="gradient"), c),
):
    with on_the_host():
        want = answers(make().fit(X, t))
    with small():
        got = answers(make().fit(X, t))
    assert np.allclose(got, want, atol=1e-5), (make(), np.abs(got - want).max())
for make, t in ((KernelRidge, y), (KernelLogisticRegression, c)):
    with small():
        chosen = make(k, n_centers=20).fit(X, t)
    assert chosen.solver_ == "nystrom", make  # by itself
""",
    "smoothers and neighbors stream": """
import mercer.solvers.local.bandwidth as search
# A short search: every bandwidth that is tried streams all rows.
search.BELOW = search.ABOVE = 1
search.FARTHEST_POWERS = 0
for make, t in (
    (lambda: NadarayaWatsonRegressor(k, bandwidth=0.8), y),
    (lambda: NadarayaWatsonRegressor(Gaussian(1.0), bandwidth=0.1), y),
    (lambda: NadarayaWatsonRegressor(Epanechnikov(20.0), bandwidth="auto"), y),
    (lambda: NadarayaWatsonClassifier(k, bandwidth=0.8), c),
    (lambda: KernelNeighborsRegressor(k, 3), y),
    (lambda: KernelNeighborsRegressor(Polynomial(2, 1.0), 3, weights="kernel"), y),
    (lambda: KernelNeighborsClassifier(Linear(), 3), c),
):
    with on_the_host():
        want = make().fit(X, t)
        expected = want.predict(Q), want.predict(X)
    with small():
        got = make().fit(X, t)
        found = got.predict(Q), got.predict(X)
    for a, b in zip(found, expected):
        assert np.allclose(a, b, atol=1e-7), make()
    if hasattr(got, "kneighbors"):
        with on_the_host():
            expected = want.kneighbors(), want.kneighbors(Q, 5)
        with small():
            found = got.kneighbors(), got.kneighbors(Q, 5)
        for (d, i), (e, j) in zip(found, expected):
            assert (i == j).all() and np.allclose(d, e)
""",
}


@pytest.mark.parametrize("name", list(CASES))
def test_rows_that_do_not_fit_the_device(name, run_on_device):
    run_on_device(BEGIN + CASES[name] + '\nprint("checked")\n')
