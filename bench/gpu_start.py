"""How long a first product takes: in a process that compiles, and in one that finds the cache.

    PYTHONPATH=src python bench/gpu_start.py

Each process imports PyTorch, Triton and mercer and makes its data first; what is timed is the Gram
of 100000 × 16 and its first product. The caches are empty ones in a temporary folder.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile

SCRIPT = """
import time, torch, triton, mercer
import mercer.engines.cuda.gram
X = torch.randn(100_000, 16, device="cuda")
v = torch.randn(100_000, device="cuda")
torch.cuda.synchronize()
times = []
for _ in range(2):
    start = time.perf_counter()
    mercer.Gaussian(4.0).gram(X) @ v
    torch.cuda.synchronize()
    times.append(time.perf_counter() - start)
print(f"first product {times[0]:.3f} s, second {times[1] * 1e3:.1f} ms")
"""

if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        places = {"MERCER_CACHE": f"{folder}/mercer", "TRITON_CACHE_DIR": f"{folder}/triton"}
        for name, target in (("empty cache", "≤ 3 s"), ("second process", "≤ 0.5 s")):
            run = subprocess.run(
                [sys.executable, "-c", SCRIPT],
                env=os.environ | places,
                capture_output=True,
                text=True,
                check=False,
            )
            print(f"{name} (target {target}): {run.stdout.strip() or run.stderr[-500:]}")
