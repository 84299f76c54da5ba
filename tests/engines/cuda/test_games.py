"""Reasons of a model whose points are on a device: the same values, computed there."""

import pytest

SCRIPT = """
import numpy as np, torch, mercer
from mercer.engines.cuda.solvers import games

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
played = []
real = games.product_games
games.product_games = lambda *a: played.append(len(a[0])) or real(*a)
there = lambda rows: torch.tensor(rows, device=DEVICE)
random = np.random.default_rng(0)
for kernel, d, outputs in (
    ("gaussian(1.5)", 5, 1),
    ("gaussian(3)", 8, 2),
    ("linear() + laplacian(0.3, norm=1)", 4, 1),
    ("anova(2)", 5, 2),
    ("bspline(1)", 9, 1),
):
    Z, X, rest = (random.uniform(0.1, 2.0, (n, d)) for n in (13, 3, 7))
    X[0] += 10.0 * (kernel == "bspline(1)")  # out of the support of every point: factors of 0
    coef, b = random.normal(size=(13, outputs)), random.normal(size=outputs)
    for reading in ("interventional", "independent"):
        want, got = (
            mercer.explain_rows(mercer.KernelExpansion(mercer.parse(kernel), points, coef, b),
                                rows, rest, reading=reading, method="exact")
            for points, rows in ((Z, X), (there(Z), there(X)))
        )
        assert np.abs(got.values - want.values).max() < 1e-12, (kernel, reading)
        assert np.abs(got.base_values - want.base_values).max() < 1e-12
assert {4, 5, 8, 9} <= set(played), played
model = mercer.KernelSVC("gaussian(2)").fit(there(X := random.normal(size=(40, 4))), X[:, 0] > 0)
found = mercer.explain_rows(model, there(X[:5]))
assert found.method == "exact" and found.error < 1e-6, found
with mercer.config(memory="1MB"):
    assert np.abs(mercer.explain_rows(model, there(X[:5])).values - found.values).max() < 1e-12
print("checked")
"""


def test_reasons_are_played_where_the_points_are(run_on_device):
    pytest.importorskip("torch", reason="PyTorch is not installed")
    run_on_device(SCRIPT)
