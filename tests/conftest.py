"""What several tests share."""

import os
import subprocess
import sys
import textwrap

import pytest


@pytest.fixture
def run_on_device(tmp_path):
    """Run a script with the device engine: on a GPU, or under Triton's interpreter without one.

    The interpreter must be chosen before Triton is imported, so the script has its own process. It
    must print "checked" when it is done.
    """
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    pytest.importorskip("triton", reason="Triton is not installed")

    def run(script):
        environment = os.environ | {
            "MERCER_CACHE": str(tmp_path),
            "PYTHONPATH": os.pathsep.join(os.path.abspath(path) for path in sys.path),
        }
        environment.pop("TRITON_INTERPRET", None)
        if not torch.cuda.is_available():
            environment["TRITON_INTERPRET"] = "1"
        done = subprocess.run(
            [sys.executable, "-c", textwrap.dedent(script)],
            capture_output=True,
            text=True,
            env=environment,
            check=False,
        )
        assert done.returncode == 0, done.stderr[-3000:]
        assert "checked" in done.stdout

    return run
