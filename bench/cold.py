"""A fresh process on iris: from `import` to the first prediction, next to scikit-learn.

Both sides begin after ``import sklearn.datasets``. The CPU seconds of the best of five processes
(the machine's other work counts less in them), with the bytecode and the machine code of an earlier
run; the whole process apart. Then the first fit of each learner with an empty cache, on iris and
on more rows; of support vector machines on still more, and with as many classes as letters.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile

from _harness import Row, at_most, below, claim, main

PEERS = {
    "KernelSVC": "sklearn.svm:SVC",
    "KernelSVR": "sklearn.svm:SVR",
    "KernelRidge": "sklearn.kernel_ridge:KernelRidge",
    "KernelNeighborsClassifier": "sklearn.neighbors:KNeighborsClassifier",
    "KernelNeighborsRegressor": "sklearn.neighbors:KNeighborsRegressor",
    "KernelLogisticRegression": "sklearn.linear_model:LogisticRegression",
    "NadarayaWatsonRegressor": "sklearn.kernel_ridge:KernelRidge",
    "KernelPerceptron": "sklearn.linear_model:Perceptron",
}
CODE = """
import importlib, json, sys, time, warnings
warnings.simplefilter("ignore")
import sklearn.datasets
X, y = sklearn.datasets.load_iris(return_X_y=True)
if len(sys.argv) > 2:
    X, y = sklearn.datasets.make_moons(int(sys.argv[2]), noise=0.2, random_state=0)
if len(sys.argv) > 3:
    n, classes = map(int, sys.argv[2:])
    X, y = sklearn.datasets.make_blobs(n, 16, centers=classes, cluster_std=3.0, random_state=0)
module, name = sys.argv[1].split(":")
start, wall = time.process_time(), time.perf_counter()
model = getattr(importlib.import_module(module), name)()
model.fit(X, y).predict(X[:1])
end = time.process_time()
print(json.dumps([end - start, end, time.perf_counter() - wall, "numba" in sys.modules]))
"""
#: Processes, and rows that are more than those of iris.
ROUNDS, MANY = 5, 3000
#: Further first fits with an empty cache: a learner, rows, and classes.
LARGER = (
    ("KernelSVC", "6000"),
    ("KernelSVC", "20000"),
    ("KernelSVC", "6000", "26"),
    ("KernelSVC", "20000", "26"),
    ("KernelSVR", "6000"),
)


def once(model: str, *rows: str, **variables: str) -> tuple[float, float, float, bool]:
    """CPU seconds to the first prediction, of the whole process, the wall's, and about Numba."""
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    done = subprocess.run(
        [sys.executable, "-c", CODE, model, *rows],
        env=environment | {"OMP_NUM_THREADS": "1"} | variables,
        capture_output=True,
        text=True,
        check=True,
    )
    first, whole, wall, numba = json.loads(done.stdout)
    return first, whole, wall, numba


def measure() -> list[Row]:
    rows = []
    for name, peer in PEERS.items():
        ours = f"mercer:{name}"
        once(ours)
        runs = [(once(ours), once(peer)) for _ in range(ROUNDS)]
        mine, theirs = ([run[side] for run in runs] for side in (0, 1))
        note = "imports Numba" if mine[0][3] else ""
        for i, what in enumerate(("first prediction", "whole process")):
            best, other = (min(float(run[i]) for run in side) for side in (mine, theirs))
            rows.append(claim(f"{name}: {what}, iris", best, other, at_most(1.3), note))
    small = [(name, *number) for name in PEERS for number in ((), (str(MANY),))]
    return rows + [first_fit(*one) for one in (*small, *LARGER)]


def first_fit(name: str, *numbers: str) -> Row:
    """Seconds to the first prediction of a process that finds no machine code."""
    with tempfile.TemporaryDirectory() as empty:
        seconds = once(f"mercer:{name}", *numbers, MERCER_CACHE=empty)[2]
    words = zip(numbers, ("rows", "classes"), strict=False)
    data = ", ".join(f"{number} {what}" for number, what in words) or "iris"
    return claim(f"{name}: first fit, empty cache, {data}", seconds, None, below(3.0, "s"))


if __name__ == "__main__":
    main(measure)
