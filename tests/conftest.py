"""What several tests share."""

import json
import os
import runpy
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
#: Tests that run the same code many times with other numbers. To trace them would take longer and
#: show nothing more: other tests run this code, too.
UNTRACED = (
    "gram/test_trees.py",
    "kernels/test_extremes.py",
    "proof/test_black_box.py",
    "selection/test_golden.py",
    "tests/test_examples.py",
)


def pytest_configure(config):
    """Where coverage is measured, the compiler of Numba is not traced: it took a third longer."""
    if config.getoption("cov_source", None):
        from numba.core.dispatcher import _FunctionCompiler

        untraced = runpy.run_path(str(HERE / "tracing.py"))["untraced"]
        _FunctionCompiler.compile = untraced(_FunctionCompiler.compile)


def pytest_collection_modifyitems(items):
    for item in items:
        if item.path.as_posix().endswith(UNTRACED):
            item.add_marker("no_cover")


def pytest_runtest_setup(item):
    """Skip what this system cannot run, by marker (pyproject.toml)."""
    if os.name != "posix" and item.get_closest_marker("posix"):
        pytest.skip("needs a POSIX system")
    if not os.path.exists("/proc/self/statm") and item.get_closest_marker("linux"):
        pytest.skip("needs /proc")


@pytest.fixture(scope="session")
def device_server(tmp_path_factory, pytestconfig):
    """A process with Triton's interpreter (which must be chosen before Triton is imported), or with
    Triton itself where there is a GPU. It serves all device tests of this session."""
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    pytest.importorskip("triton", reason="Triton is not installed")
    environment = os.environ | {
        "MERCER_CACHE": str(tmp_path_factory.mktemp("cache")),
        "PYTHONPATH": os.pathsep.join(os.path.abspath(path) for path in sys.path),
    }
    environment.pop("TRITON_INTERPRET", None)
    if not torch.cuda.is_available():
        environment["TRITON_INTERPRET"] = "1"
    if pytestconfig.getoption("cov_source", None):
        environment["MEASURE_COVERAGE"] = str(HERE.parent / "pyproject.toml")
    with subprocess.Popen(
        [sys.executable, str(HERE / "device_server.py")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=environment,
        cwd=HERE.parent,
    ) as server:
        yield server
        server.stdin.close()


@pytest.fixture
def run_on_device(device_server, tmp_path):
    """Run a script with the device engine, in its own process; it ends with print("checked")."""

    def run(script):
        output = tmp_path / "output of the script"
        task = {
            "script": textwrap.dedent(script),
            "folder": str(tmp_path),
            "output": str(output),
        }
        device_server.stdin.write(json.dumps(task) + "\n")
        device_server.stdin.flush()
        code = device_server.stdout.readline().strip()
        printed = output.read_text(encoding="utf-8")
        assert code == "0", printed[-3000:]
        assert "checked" in printed

    return run
