"""An installed package adds kernels, learners and formats; a model says where it came from."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest

import mercer
from mercer import extend
from mercer.extend import Kernel, kernel, sqdist
from mercer.testing import check_solver

RNG = np.random.default_rng(0)
ROOT = Path(__file__).parents[1]
EXAMPLE = ROOT / "examples" / "extension"

USES = """
import sys, pathlib
import numpy as np
import mercer
from mercer.learners import catalog

folder = pathlib.Path(sys.argv[1])
k = mercer.parse("2*cauchy(width=2)")
assert type(k.kernel).__module__ == "mercer_example.kernels"
assert mercer.prove(k)
rows = "\\n".join(f'{{"a": {i % 5}, "b": {i % 3}, "kind": "{"xy"[i % 5 > 2]}"}}' for i in range(40))
(folder / "rows.jsonl").write_text(rows)
data = mercer.data.load(folder / "rows.jsonl", target="kind")
assert data.task == "classification"
model = catalog.find("kernel-mean", "classification").estimator("classification")(k)
X = np.random.default_rng(0).normal(size=(30, 2))
model.fit(X, X[:, 0] > 0).save(folder / "model.mercer")
mercer.KernelSVC("cauchy(1)").fit(X, X[:, 0] > 0).save(folder / "svc.mercer")
board = mercer.compare(X, X[:, 0] > 0, kernels=["cauchy(1)"], learners=["kernel-mean"], cv=3)
assert board.rows[0].learner == "KernelMean"
"""
LOADS = """
import sys, pathlib, numpy as np, mercer
for name in ("model", "svc"):
    model = mercer.load(pathlib.Path(sys.argv[1]) / f"{name}.mercer")
    print(type(model).__name__, model.predict(np.array([[3.0, 0.0], [-3.0, 0.0]])).tolist())
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Path:
    """The example package as an installer leaves it: its modules, and what it announces."""
    folder = tmp_path_factory.mktemp("site")
    (folder / "mercer_example").symlink_to(EXAMPLE / "src" / "mercer_example")
    project = tomllib.loads((EXAMPLE / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    info = folder / "mercer_example-0.1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: mercer-example\nVersion: 0.1.0\n")
    (info / "top_level.txt").write_text("mercer_example\n")
    lines = []
    for group, entries in project["entry-points"].items():
        lines += [f"[{group}]", *(f"{name} = {value}" for name, value in entries.items())]
    (info / "entry_points.txt").write_text("\n".join(lines))
    return folder


def run(program: str, *arguments: str, site: Path | None) -> subprocess.CompletedProcess[str]:
    paths = [*([str(site)] if site else []), *filter(None, sys.path)]
    return subprocess.run(
        [sys.executable, "-c", program, *arguments],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(paths)},
        capture_output=True,
        text=True,
        check=False,
    )


def test_what_is_installed_is_found_by_name(site, tmp_path) -> None:
    done = run(USES, str(tmp_path), site=site)
    assert done.returncode == 0, done.stderr
    done = run(LOADS, str(tmp_path), site=site)
    assert done.stdout.split("\n")[:2] == ["KernelMean [True, False]", "KernelSVC [True, False]"]
    done = run(LOADS, str(tmp_path), site=None)
    said = done.stderr.splitlines()[-1]
    assert "holds a KernelMean of the module mercer_example.learners" in said
    assert "install the package mercer-example" in said
    assert "damaged" not in said
    asks = """
from mercer.lab.compute.kernels import kernel, proof
request = {"text": "2*cauchy(0.7)"}
print(proof(request).facts["answer"], len(kernel(request).facts["numbers"]))
"""
    done = run(asks, site=site)
    assert done.stdout.strip() == "kernel 2", done.stderr
    assert "there is no kernel named 'cauchy'" in run(asks, site=None).stderr
    command = "import sys; from mercer.cli import main; main(sys.argv[1:])"
    table, model = str(tmp_path / "rows.jsonl"), str(tmp_path / "cli.mercer")
    options = ["--target", "kind", "--learner", "kernel-mean", "--kernel", "cauchy(1)"]
    done = run(command, "fit", table, *options, "--model", model, site=site)
    assert done.returncode == 0, done.stderr
    done = run(command, "predict", model, table, site=site)
    assert done.returncode == 0, done.stderr
    assert set(done.stdout.split()) >= {"x", "y"}


def test_the_tests_of_the_example_pass(site) -> None:
    pytest_of_it = "import sys, pytest; sys.exit(pytest.main(sys.argv[1:]))"
    options = ["-q", "-p", "no:cacheprovider", "--rootdir", str(EXAMPLE), "-c", os.devnull]
    done = run(pytest_of_it, *options, str(EXAMPLE / "tests"), site=site)
    assert done.returncode == 0, done.stdout


def test_a_plug_in_that_fails_is_named_and_left_out(site, tmp_path) -> None:
    info = tmp_path / "broken-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: broken\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[mercer.kernels]\nbroken = no_such_module\n")
    done = run("import mercer; print(len(mercer.kernels.catalog.leaves()))", site=tmp_path)
    assert int(done.stdout) > 40
    assert "the plug-in 'no_such_module' cannot be imported" in done.stderr


def test_an_engine_is_found_by_its_entry_point(tmp_path) -> None:
    info = tmp_path / "moon-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: moon\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[mercer.engines]\nmoon = moon\n")
    (tmp_path / "moon.py").write_text(
        "from mercer.extend import Engine, register_engine\n"
        "from mercer.gram.host import HostGram\n"
        "def make(kernel, X, Z):\n"
        "    print('made on the moon')\n"
        "    return HostGram(kernel, X, Z)\n"
        "import mercer\n"
        "takes = lambda kernel, X, Z: mercer.get_config().device == 'moon'\n"
        "register_engine(Engine('moon', takes, make))\n"
    )
    program = "import mercer\nwith mercer.config(device='moon'): mercer.Gaussian()([[0.0]])"
    done = run(program, site=tmp_path)
    assert done.stdout.strip() == "made on the moon", done.stderr


def test_every_name_of_the_surface_is_there_and_described() -> None:
    for name in extend.__all__:
        assert getattr(extend, name) is not None
        assert f"`{name}`" in extend.__doc__
    contributing = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    for name in ("Kernel", "OpaqueKernel", "Op", "register_op", "Engine", "Gram", "KernelLearner"):
        assert f"`{name}`" in contributing or name in contributing
        assert name in extend.__all__


def test_numbers_without_a_declaration_are_checked_all_the_same() -> None:
    @kernel
    class Undeclared(Kernel):
        width: float = 1.0
        shift: float = 0.0

        def lower(self, rows, path=""):
            return sqdist(rows).over(self._named(path, "width")) + self._named(path, "shift")

    try:
        for bad in ("x", float("nan"), 0, -1.0, None):
            with pytest.raises((TypeError, ValueError), match="width must be"):
                Undeclared(bad)
        assert Undeclared(2, shift=-1)([[0.0]], [[2.0]]) == [[1.0]]
        with pytest.raises((TypeError, ValueError), match="shift must be"):
            Undeclared(2, shift="x")
    finally:
        del mercer.kernels.catalog.LEAVES["undeclared"]


def test_a_solver_is_checked_as_it_is_registered() -> None:
    def run_it(task):
        K = task.gram.in_double()
        coef = np.linalg.solve(K + task.problem.alphas[0] * np.eye(len(K)), task.problem.targets)
        return extend.RidgeSolution(coef, np.zeros(1))

    check_solver(extend.Solver("inverse", run_it))
    noise = RNG.normal(size=(40, 30, 1))
    random = extend.Solver("random", lambda task: extend.RidgeSolution(noise[RNG.integers(40)], 0))
    with pytest.raises(AssertionError):
        check_solver(random)
