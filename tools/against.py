#!/usr/bin/env python3
"""against.py OLD NEW [ROUNDS]: two source trees side by side, for a change that must cost no time.

OLD and NEW are `src` folders of two checkouts. Each runs in a process of its own. They take turns
at every operation, and the minima are compared; the last line has the geometric mean of the ratios.
"""

from __future__ import annotations

import math
import os
import subprocess
import sys
import tempfile

WORKER = """
import sys, time, warnings
warnings.simplefilter("ignore")
import numpy as np
from mercer.kernels import Gaussian, Laplacian, Polynomial, Spectrum, Subsequence
from mercer.learners import *
rng = np.random.default_rng(0)
A, B = (rng.normal(size=(4096, 200)).astype("f4") for _ in range(2))
P, v = rng.normal(size=(12000, 4)), rng.normal(size=12000)
W = (rng.integers(0, 256, (6000, 400)) / 255).astype("f4")
w = (W[:, :40].sum(axis=1) * 3).astype(int) % 10
X = rng.normal(size=(3000, 20))
t = np.sin(X[:, 0]) + X[:, 1] ** 2
c = (t > 1).astype(int)
S = ["".join(rng.choice(list("abcd"), 60)) for _ in range(150)]
four = 0.5 * Gaussian(2.0) + Polynomial(2, offset=1.0).normalized() * Laplacian(0.5)
k = Gaussian(3.0)
TASKS = {
    "Gram, float32": lambda: Gaussian(10.0)(A, B),
    "Gram of bytes": lambda: Gaussian(5.0)(W),
    "K @ v, 4 columns": lambda: Gaussian(1.0).gram(P) @ v,
    "composite K @ v": lambda: four.gram(P[:6000]) @ v[:6000],
    "SVC": lambda: KernelSVC(k, C=10.0).fit(X, c),
    "SVR": lambda: KernelSVR(k, C=10.0).fit(X, t),
    "SVC, 20 times 100 rows": lambda: [KernelSVC(k).fit(X[:100], c[:100]) for _ in range(20)],
    "ridge": lambda: KernelRidge(k, alpha=0.1, solver="cholesky").fit(X, t),
    "ridge path": lambda: KernelRidge(k, alphas=np.logspace(-3, 2, 20)).fit(X[:2500], t[:2500]),
    "ridge, centers": lambda: KernelRidge(
        Gaussian(5.0), solver="nystrom", n_centers=800, random_state=0
    ).fit(W, w.astype(float)),
    "logistic": lambda: KernelLogisticRegression(k, alpha=1.0).fit(X, c),
    "perceptron": lambda: KernelPerceptron(
        Polynomial(4, offset=1.0), epochs=3, shuffle=False
    ).fit(W[:3000], w[:3000]),
    "voted perceptron": lambda: KernelPerceptron(k, epochs=3, averaging="vote")
    .fit(X[:2000], c[:2000]).predict(X[:1000]),
    "Nadaraya-Watson": lambda: NadarayaWatsonRegressor(bandwidth=0.5)
    .fit(P[:8000], v[:8000]).predict(P[:4000]),
    "local linear": lambda: LocalLinearRegressor(bandwidth=0.7)
    .fit(P[:3000, :3], v[:3000]).predict(P[:2000, :3]),
    "neighbors": lambda: KernelNeighborsClassifier(Gaussian(5.0), n_neighbors=1)
    .fit(W[:4000], w[:4000]).predict(W[4000:]),
    "strings": lambda: Subsequence(3, 0.5)(S),
    "200 small Grams": lambda: [k(X[:60]) for _ in range(200)],
}
print(*TASKS, sep="|", flush=True)
for line in sys.stdin:
    start = time.perf_counter()
    TASKS[line.rstrip("\\n")]()
    print(time.perf_counter() - start, flush=True)
"""


def started(source: str, cache: str) -> subprocess.Popen[str]:
    """A process with one of the trees, waiting for names of operations."""
    return subprocess.Popen(
        [sys.executable, "-c", WORKER],
        env=os.environ | {"PYTHONPATH": os.path.abspath(source), "MERCER_CACHE": cache},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def ask(process: subprocess.Popen[str], name: str) -> float:
    """The seconds that one operation took there."""
    assert process.stdin is not None
    process.stdin.write(name + "\n")
    process.stdin.flush()
    return float(line(process))


def line(process: subprocess.Popen[str]) -> str:
    """The next line that it prints."""
    assert process.stdout is not None
    return process.stdout.readline().rstrip("\n")


def main(old: str, new: str, rounds: int = 5) -> None:
    with tempfile.TemporaryDirectory() as folder:
        trees = [
            started(source, os.path.join(folder, str(i))) for i, source in enumerate((old, new))
        ]
        names = [line(tree).split("|") for tree in trees][1]
        logs = []
        for name in names:
            times: list[list[float]] = [[], []]
            for turn in range(rounds + 1):  # the first one compiles
                for i in (0, 1) if turn % 2 else (1, 0):
                    times[i].append(ask(trees[i], name))
            before, after = (min(t[1:]) for t in times)
            logs.append(math.log(after / before))
            print(f"{name:24s} {before * 1e3:8.1f} ms {after * 1e3:8.1f} ms  {after / before:5.2f}")
        mean = math.exp(sum(logs) / len(logs))
        print(f"geometric mean {mean:.3f}, worst {math.exp(max(logs)):.2f}")
        for tree in trees:
            assert tree.stdin is not None
            tree.stdin.close()
            tree.wait()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], *map(int, sys.argv[3:4]))
