"""Dask arrays and frames: lazy in, lazy out."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import mercer
from mercer import KernelRidge

da = pytest.importorskip("dask.array", reason="Dask is not installed")
dd = pytest.importorskip("dask.dataframe", reason="Dask is not installed")

RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 3))
Y = np.sin(X[:, 0]) + X[:, 1]
MODEL = {"alpha": 0.1, "n_centers": 20, "random_state": 0}


@pytest.fixture(scope="module")
def whole():
    return KernelRidge("gaussian(2)", solver="nystrom", **MODEL).fit(X, Y)


def test_an_array_goes_in_and_lazy_answers_come_out(whole):
    rows = da.from_array(X, chunks=(70, 2))
    model = KernelRidge("gaussian(2)", **MODEL).fit(rows, da.from_array(Y, chunks=90))
    assert model.solver_ == "nystrom"
    answers = model.predict(rows)
    assert isinstance(answers, da.Array)
    assert answers.chunks == ((70, 70, 70, 70, 20),)
    np.testing.assert_allclose(answers.compute(), whole.predict(X), atol=1e-7)
    classes = mercer.KernelLogisticRegression().fit(X, np.digitize(Y, [-0.5, 0.5]))
    shares = classes.predict_proba(rows)
    assert shares.shape == (300, 3)
    np.testing.assert_allclose(shares.compute(), classes.predict_proba(X), atol=1e-9)
    with pytest.raises(ValueError, match="X has 2 features"):
        model.predict(rows[:, :2])


def test_frames_of_unknown_sizes_with_empty_parts_and_other_orders(whole):
    frame = pd.DataFrame(X, columns=list("abc")).assign(y=Y, row=np.arange(300))
    parts = dd.from_pandas(frame, npartitions=4)
    kept = parts[parts["row"] < 200]  # sizes are unknown, and the last part is empty
    model = KernelRidge("gaussian(2)", **MODEL).fit(kept[["a", "b", "c"]], kept["y"])
    again = KernelRidge("gaussian(2)", solver="nystrom", **MODEL).fit(X[:200], Y[:200])
    np.testing.assert_allclose(model.predict(frame[["a", "b", "c"]]), again.predict(X), atol=1e-7)
    other = model.predict(parts[["c", "a", "b"]])
    np.testing.assert_allclose(other.compute(), again.predict(X), atol=1e-7)
    with pytest.raises(ValueError, match="no column 'b'"):
        model.predict(parts[["a", "c"]])
