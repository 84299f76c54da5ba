"""Warnings have classes of their own and point at the user's line; the log says what was chosen."""

from __future__ import annotations

import io
import logging
import re
import subprocess
import sys
import warnings

import numpy as np
import pytest
from scipy.linalg import LinAlgWarning
from scipy.sparse.linalg import LinearOperator
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import mercer
from mercer import _progress
from mercer._progress import progress

X = np.random.default_rng(0).normal(size=(30, 2))
Y = (X[:, 0] > 0).astype(int)
NOISE = np.roll(Y, 1)
SVM = mercer.KernelSVC(mercer.Gaussian(1.0), max_iter=1)


def smoother() -> mercer.NadarayaWatsonRegressor:
    return mercer.NadarayaWatsonRegressor(bandwidth=0.1).fit(X, Y)


@pytest.mark.parametrize(
    ("act", "kind", "also"),
    [
        (lambda: mercer.KernelRidge(mercer.Sigmoid(1.0, -1.0)).fit(X, Y), "Kernel", UserWarning),
        (lambda: mercer.KernelRidge(mercer.Gaussian(1e-9)).fit(X, Y), "Kernel", UserWarning),
        (lambda: SVM.fit(X, Y), "Numerical", ConvergenceWarning),
        (lambda: make_pipeline(StandardScaler(), SVM).fit(X, Y), "Numerical", ConvergenceWarning),
        (lambda: mercer.KernelPerceptron("linear").fit(X, NOISE), "Numerical", ConvergenceWarning),
        (
            lambda: mercer.KernelRidge(mercer.Gaussian(1e5), alpha=1e-18).fit(X, Y),
            "Numerical",
            LinAlgWarning,
        ),
        (lambda: smoother().predict(X + 1e6), "Data", UserWarning),
        # SciPy calls predict here, in a file of its own
        (
            lambda: LinearOperator((2, 2), None, None, smoother().predict, float) @ (X[:2] + 1e6),
            "Data",
            UserWarning,
        ),
    ],
)
def test_a_warning_names_its_kind_and_the_users_line(act, kind, also) -> None:
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        act()
    (one,) = [w for w in told if issubclass(w.category, getattr(mercer, f"{kind}Warning"))]
    assert issubclass(one.category, also)
    assert issubclass(one.category, mercer.MercerWarning)
    assert one.filename == __file__
    assert one.lineno == act.__code__.co_firstlineno


def test_the_log_says_what_was_chosen_and_why(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, logger="mercer"):
        mercer.KernelRidge("gaussian(1)", alpha=0.1).fit(X, Y)
        mercer.KernelSVC("gaussian(scale)").fit(X, NOISE)
        mercer.RFMClassifier().fit(X, Y)
        mercer.compare(X, Y, kernels=["linear()"], learners=["ridge"], cv=3)
    assert {record.name for record in caplog.records} == {"mercer"}
    said = [record.getMessage() for record in caplog.records]
    for words in (
        "KernelRidge: 30 examples, Gaussian()",
        "ridge: solver 'cholesky' takes .*B .*30 examples are at most",
        r"KernelSVC: 30 examples, Gaussian\(sigma=\d\.\d+",  # the width the data chose
        "RFMClassifier: .*'metric'.*'rounds'",
        r"compare: Kernel\w+ after \d+\.\d s; ",
    ):
        assert any(re.match(words, line) for line in said), words


def test_the_log_tells_tiles_threads_and_memory_to_who_asks(caplog) -> None:
    rows = np.random.default_rng(0).normal(size=(2000, 2))
    with caplog.at_level(logging.INFO, logger="mercer"):
        mercer.Gaussian(1.0).gram(rows) @ rows
    assert "tiles" not in caplog.text
    labels = rows[:, 0] * rows[:, 1] > 0
    with caplog.at_level(logging.DEBUG, logger="mercer"), mercer.config(memory="30MB", threads=2):
        mercer.Laplacian(1.0).gram(rows) @ rows
        mercer.KernelSVC().fit(rows, labels)
    assert re.search(r"K: 2000 × 2000 in tiles of \d+ × \d+, \d thread.*scratch \d", caplog.text)
    assert re.search(r"KernelSVC: 1 problem\(s\) of up to 2000 examples.* MB each", caplog.text)


def test_the_log_is_quiet_and_costs_no_import() -> None:
    program = (
        "import mercer; mercer.KernelRidge('gaussian(1)', alpha=1.0).fit([[0.0], [1.0]], [0, 1])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    assert done.stderr == b""


def test_lines_of_progress_where_there_is_no_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_progress, "BAR_SECONDS", 0.0)
    monkeypatch.setattr(_progress, "EVERY", 0.0)
    for setting, expected in (
        (True, ""),
        ("lines", "fit: 25% after 0 s\nfit half: 75% after 0 s\n"),
    ):
        stream = io.StringIO()
        monkeypatch.setattr(sys, "stderr", stream)
        with mercer.config(progress=setting), progress("fit", 4) as bar:
            bar.advance()
            bar.advance(2, note="half")
        assert stream.getvalue() == expected


def test_lines_come_now_and_then(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_progress, "BAR_SECONDS", 0.0)
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    with mercer.config(progress="lines"), progress("fit", 100) as bar:
        for _ in range(100):
            bar.advance()
    assert stream.getvalue() == ""
