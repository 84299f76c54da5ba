"""Compiled loops without what they use of Numba and llvmlite beyond their documentation."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest

from mercer._machine.jit import compiles

pytestmark = pytest.mark.skipif(not compiles(), reason="needs Numba")

#: What is fitted: every loop over vectors is in it.
FITS = """
import json, sys, warnings
import numba, numpy as np
{without}
import mercer
from scipy import sparse
warnings.simplefilter("error", RuntimeWarning)
rng = np.random.default_rng(0)
X, Z = rng.normal(size=(1500, 6)), rng.normal(size=(40, 6))
y = (X[:, 0] + X[:, 1] ** 2 > 0.5).astype(int)
found = {{"form": __import__("mercer._machine.lanes", fromlist=["FORM"]).FORM}}
found["svc"] = mercer.KernelSVC(C=30.0, tol=1e-6).fit(X, y).decision_function(Z)
found["svr"] = mercer.KernelSVR(tol=1e-6).fit(X, X[:, 0] ** 3).predict(Z)
three = mercer.KernelSVC(tol=1e-6).fit(X.astype(np.float32), y + (X[:, 2] > 1))
found["classes"] = three.decision_function(Z)
for k in (3, 20):
    model = mercer.KernelNeighborsRegressor(n_neighbors=k).fit(X, X[:, 0])
    found[f"near {{k}}"] = model.predict(X)
wide = rng.normal(size=(1500, 40))
model = mercer.KernelNeighborsRegressor(n_neighbors=4).fit(wide, X[:, 0])
found["far"] = model.predict(rng.normal(size=(300, 40)))
found["perceptron"] = mercer.KernelPerceptron(epochs=3).fit(X, y).decision_function(Z)
some = sparse.random(400, 60, 0.4, format="csr", random_state=0)
for dtype in (np.float32, np.float64):
    found[f"sparse {{dtype.__name__}}"] = mercer.Gaussian(2.0)(some.astype(dtype))[:3].ravel()
found = {{k: v if isinstance(v, str) else np.asarray(v, float).tolist() for k, v in found.items()}}
print(json.dumps(found))
"""
WITHOUT = {
    "vectors": "import llvmlite.ir; del llvmlite.ir.VectorType",
    "cache": """
from numba.core import caching, options
del caching._CacheLocator, options.DefaultOptions
""",
}


def fits(without, folder):
    """What a fresh process with an empty cache finds."""
    done = subprocess.run(
        [sys.executable, "-c", FITS.format(without=without)],
        env=os.environ | {"MERCER_CACHE": str(folder), "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def usual(tmp_path_factory):
    return fits("", tmp_path_factory.mktemp("usual"))


@pytest.mark.parametrize("what", WITHOUT)
def test_every_learner_fits_without_it(what, usual, tmp_path):
    found = fits(WITHOUT[what], tmp_path)
    assert found.pop("form") == ("plain" if what == "vectors" else "vectors")
    assert any(tmp_path.glob("machine-code/*/*.nbc")) == (what != "cache")
    for name, values in found.items():
        np.testing.assert_allclose(values, usual[name], rtol=1e-4, atol=1e-4, err_msg=name)
