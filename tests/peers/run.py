"""Peers' own tests, from their installed wheels, on our classes: ``python tests/peers/run.py``.

Names of suites as arguments run only those. Every test that fails must be argued for in
`exceptions`, and every one that is listed there must fail; otherwise the exit status is 1. The list
is for scikit-learn 1.9 and statsmodels 0.15: other versions have other tests.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
CONTRACT = str(HERE / "contract.py")
#: What pytest is given, and what is added to the environment.
SUITES = {
    "svm": (["--pyargs", "sklearn.svm.tests.test_svm"], {}),
    "kernel_ridge": (["--pyargs", "sklearn.tests.test_kernel_ridge"], {}),
    "neighbors": (["--pyargs", "sklearn.neighbors.tests.test_neighbors"], {}),
    "kernel_pca": (["--pyargs", "sklearn.decomposition.tests.test_kernel_pca"], {}),
    "kernel_density": (["--pyargs", "sklearn.neighbors.tests.test_kde"], {}),
    "kernel_approximation": (["--pyargs", "sklearn.tests.test_kernel_approximation"], {}),
    "pairwise": (["--pyargs", "sklearn.metrics.tests.test_pairwise"], {}),
    "kernel_regression": (
        ["--pyargs", "statsmodels.nonparametric.tests.test_kernel_regression"],
        {},
    ),
    "contract": ([CONTRACT], {}),
    "contract_array_api": ([CONTRACT], {"SCIPY_ARRAY_API": "1", "PEER_SUITE": "contract"}),
}
KINDS = ("passed", "argued", "unexpected", "skipped", "of others")


def run(suite: str, folder: Path) -> tuple[int, dict[str, int]]:
    """The exit status of pytest, and how many tests ended how."""
    arguments, extra = SUITES[suite]
    counts = folder / f"{suite}.json"
    paths = [str(HERE), str(HERE.parents[1] / "src"), os.environ.get("PYTHONPATH", "")]
    environment = {
        "PEER_SUITE": suite,
        "PEER_COUNTS": str(counts),
        "PYTHONPATH": os.pathsep.join(filter(None, paths)),
    }
    # An empty configuration: neither ours nor the peer's options apply.
    (folder / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    options = ["-q", "-p", "plugin", "-p", "no:cacheprovider", "-c", str(folder / "pytest.ini")]
    options += ["-W", "ignore", "--tb=short", "-n", os.environ.get("WORKERS", "2")]
    command = [sys.executable, "-m", "pytest", *options, *arguments]
    done = subprocess.run(command, env=os.environ | environment | extra, check=False)
    found = json.loads(counts.read_text(encoding="utf-8")) if counts.exists() else {}
    return done.returncode, found


def main(names: list[str]) -> int:
    status, rows = 0, []
    with tempfile.TemporaryDirectory() as folder:
        for suite in names or SUITES:
            code, counts = run(suite, Path(folder))
            status |= bool(code)
            rows.append((suite, *(str(counts.get(kind, 0)) for kind in KINDS)))
    print(
        "\npassed: on our classes; argued: listed as an exception; of others: without our classes"
    )
    for row in (("suite", *KINDS), *rows):
        print(f"{row[0]:22}" + "".join(f"{cell:>12}" for cell in row[1:]))
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
