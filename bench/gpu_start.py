"""First calls on a GPU: in a process that compiles, and in one that finds the cache.

    [MERCER_DATA=…] PYTHONPATH=src python bench/gpu_start.py

Each process imports PyTorch, Triton and mercer and makes its data first; what is timed is what a
first call takes more than a second one. The caches are empty ones in a temporary folder, that of
Python's byte code included, which an installed package has.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile

from _gpu import Report

SCRIPT = """
import time, warnings, torch, triton, mercer
from mercer.learners import KernelPerceptron, KernelRidgeClassifier, KernelSVC
warnings.simplefilter("ignore")
n = 20_000
X = torch.randint(256, (n, 784), device="cuda").float() / 255
y = (X[:, 0] > 0.5).long() + 2 * (X[:, 1] > 0.5).long()
v = torch.randn(n, device="cuda")
runs = {
    "product": lambda: mercer.Gaussian(4.0).gram(X) @ v,
    "perceptron": lambda: KernelPerceptron("polynomial(4, offset=1)", epochs=2).fit(X, y),
    "exact ridge": lambda: KernelRidgeClassifier("gaussian(10)", solver="cholesky").fit(X, y),
    "SVC": lambda: KernelSVC("gaussian(10)", C=5).fit(X, y),
}
torch.cuda.synchronize()
times = []
for _ in range(2):
    start = time.perf_counter()
    runs[NAME]()
    torch.cuda.synchronize()
    times.append(time.perf_counter() - start)
print(times[0] - times[1])
"""
NAMES = ("product", "perceptron", "exact ridge", "SVC")


def main() -> None:
    report = Report("gpu_start")
    code = tempfile.TemporaryDirectory()
    for name in NAMES:
        with tempfile.TemporaryDirectory() as folder:
            places = {"MERCER_CACHE": f"{folder}/mercer", "TRITON_CACHE_DIR": f"{folder}/triton"}
            places["PYTHONPYCACHEPREFIX"] = code.name
            for what, target in (("empty cache", 3.0), ("second process", 0.5)):
                run = subprocess.run(
                    [sys.executable, "-c", SCRIPT.replace("NAME", repr(name))],
                    env=os.environ | places,
                    capture_output=True,
                    text=True,
                    check=True,
                )
                took = float(run.stdout.split()[-1])
                report.row(f"first {name}, {what}: more than a second call", took, "s", target)
    code.cleanup()
    report.keep()


if __name__ == "__main__":
    main()
