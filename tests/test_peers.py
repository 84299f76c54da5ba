"""`make test-peers` runs peers' own tests on our classes; here, that it runs and counts."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow
RUN = Path(__file__).parent / "peers" / "run.py"


def test_the_shortest_suite_passes():
    done = subprocess.run([sys.executable, RUN, "kernel_ridge"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-2000:]
    counts = re.search(r"kernel_ridge +(\d+) +(\d+) +(\d+)", done.stdout)
    assert int(counts[1]) >= 7
    assert (counts[2], counts[3]) == ("0", "0")
