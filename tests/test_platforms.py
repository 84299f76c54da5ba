"""Systems that are not here: no threads, no Numba, no fork, Windows' encodings."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from mercer._escape.terminal import encodable

#: Fits every learner on a few rows where no thread can start and no compiler is installed.
ALONE = """
import sys, threading, warnings

class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("numba", "llvmlite", "resource", "fcntl", "multiprocessing"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

def refuse(self):
    raise RuntimeError("can't start new thread")

import joblib, numpy as np  # joblib looks for processes and threads when it is imported
sys.meta_path.insert(0, Blocker())
for name in ("resource", "fcntl"):
    sys.modules.pop(name, None)
threading.Thread.start = refuse
warnings.simplefilter("ignore")
import os
for name in ("fork", "forkpty", "register_at_fork", "sched_getaffinity", "geteuid"):
    if hasattr(os, name):
        delattr(os, name)

import mercer
from mercer import learners
rng = np.random.default_rng(0)
X = rng.normal(size=(30, 3))
with mercer.config(threads=4):
    for name in learners.__all__:
        model = getattr(learners, name)()
        regression = "Regressor" in name or name in ("KernelRidge", "KernelSVR")
        y = np.sin(X[:, 0]) if regression else (X[:, 0] * X[:, 1] > 0).astype(int)
        model.fit(X, y)
        how = next(h for h in ("predict", "transform", "score_samples") if hasattr(model, h))
        assert np.isfinite(np.asarray(getattr(model, how)(X[:4]), dtype=float)).all(), name
        print(name)
assert threading.active_count() == 1
"""

#: Prints what people print, to a pipe that has few characters.
PRINTS = """
import mercer
k = 0.5 * mercer.Gaussian(2.0) + mercer.Polynomial(2, offset=1.0)
print(mercer.prove(k))
print(mercer.prove(mercer.kernels.SquaredDistance()))
print(mercer.prove(mercer.kernels.Similarity(min)))
print(mercer.proof.fourier_check(mercer.Gaussian(1.0), 1))
print(k.explain([[1.0, 2.0], [2.0, 3.0]]))
print(mercer.stats.mmd_test([[0.0], [1.0], [2.0]], [[5.0], [6.0], [7.0]], permutations=20))
print(mercer.data.xor())
"""

#: What the package does with its dependencies alone, and what it says where more is needed.
BARE = """
import sys, tempfile

EXTRAS = ("pandas", "matplotlib", "click", "torch", "onnx", "dask", "pyarrow", "polars")

class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in EXTRAS:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Blocker())
import numpy as np
import scipy.sparse
import mercer

X, y = mercer.data.moons(60, noise=0.1)
options = {"kernels": ["gaussian(0.5)"], "learners": ["ridge"], "cv": 3}
for rows in (X, scipy.sparse.csr_matrix(X), X.tolist()):
    assert mercer.compare(rows, y, **options).best_row.learner
texts = ["a good day", "a bad night"] * 20
assert mercer.compare(texts, [0, 1] * 20, kernels=["spectrum(3)"], cv=3).best_row.learner
model = mercer.KernelSVC().fit(X, y)
assert mercer.explain_rows(model, X[:2], X[:9]).values.shape == (2, 2)
with tempfile.NamedTemporaryFile("w", suffix=".csv") as file:
    file.write("a,b\\n1,x\\n2,y\\n" * 9)
    file.flush()
    for needs in (
        lambda: mercer.data.load(file.name),
        lambda: mercer.compare([["a", 1.0], ["b", 2.0]] * 20, [0, 1] * 20),
        lambda: mercer.reasons.importances(model, X, y),
        lambda: mercer.plot.decision_regions(model, X, y),
        lambda: mercer.onnx.export(model),
    ):
        try:
            needs()
        except ImportError as error:
            print(error)
"""


def run(program: str, **variables: str) -> str:
    path = os.pathsep.join(filter(None, sys.path))
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=os.environ | {"PYTHONPATH": path} | variables,
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode(errors="replace")[-3000:]
    return done.stdout.decode("ascii" if "PYTHONIOENCODING" in variables else "utf-8", "replace")


def test_every_learner_without_threads_and_without_a_compiler() -> None:
    from mercer import learners

    assert run(ALONE).split() == learners.__all__


def test_the_dependencies_alone_are_enough_or_it_says_what_is_missing() -> None:
    said = run(BARE).splitlines()
    needed = ["tables need pandas"] * 3 + ["pictures need matplotlib", "ONNX export needs the onnx"]
    assert len(said) == len(needed)
    for line, words in zip(said, needed, strict=True):
        assert line.startswith(words)
        assert ": pip install " in line


@pytest.mark.parametrize("encoding", ["cp1252", "ascii", "cp437"])
def test_results_print_to_a_pipe_of_few_characters(encoding: str) -> None:
    said = run(PRINTS, PYTHONIOENCODING=encoding, PYTHONUTF8="0")
    assert "yes: a kernel" in said
    assert "no: not a kernel" in said


@pytest.mark.parametrize("encoding", ["cp1252", "ascii"])
def test_the_command_prints_to_a_pipe_of_few_characters(encoding: str, tmp_path) -> None:
    table = tmp_path / "größe.csv"
    rows = [f"{i % 7},{i % 3},{'ja' if i % 2 else 'nein'}" for i in range(40)]
    table.write_text("\n".join(["größe,β,kind", *rows]), encoding="utf-8")
    options = ["--target", "kind", "--learner", "ridge", "--kernel", "linear"]
    command = f"import sys; sys.argv[1:] = {['compare', str(table), *options]}"
    program = f"{command}\nfrom mercer.cli import main\nmain()"
    said = run(program, PYTHONIOENCODING=encoding, PYTHONUTF8="0")
    assert "accuracy" in said
    assert ("+-" in said) == (encoding == "ascii")


def test_characters_are_spelled_out_only_where_they_are_missing() -> None:
    assert encodable("σ ≥ 0", "utf-8") == "σ ≥ 0"
    assert encodable("σ ≥ 0", "no-such-encoding") == "σ ≥ 0"
    assert encodable("αᵢ ∈ ℝ", "ascii") == "alphai in R"


def test_a_model_travels_to_a_process_that_was_not_forked() -> None:
    program = """
import multiprocessing as mp
import mercer

if __name__ == "__main__":
    model = mercer.KernelSVC("gaussian(1)").fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1])
    with mp.get_context("spawn").Pool(1) as pool:
        assert pool.apply(model.predict, ([[3.0]],)) == [1]
    print("done")
"""
    assert run(program).strip() == "done"
