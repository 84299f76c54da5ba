"""A fresh process on iris: from `import` to the first prediction, next to scikit-learn.

Both sides begin after ``import sklearn.datasets``. The CPU seconds of the best of five processes
(the machine's other work counts less in them), with the bytecode and the machine code of an earlier
run; the whole process apart. Then the first fit of each learner with an empty cache, on iris and
on more rows; of support vector machines on still more, and with as many classes as letters. Last,
for every learner of the catalog, what compiling costs: the CPU seconds of a first fit beyond a
second one, with an empty cache, and in another process that finds it full.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile

from _harness import Row, at_most, below, claim, main

from mercer.learners.catalog import learners

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
#: A learner of the catalog, its task, and rows: CPU seconds of the first fit beyond the second one.
BEYOND = """
import sys, time, warnings
warnings.simplefilter("ignore")
import numpy as np
from mercer.learners.catalog import find
name, task, rows = sys.argv[1:]
X = np.random.default_rng(0).normal(size=(int(rows), 10))
y = X[:, 0] if task == "regression" else (X[:, 0] + X[:, 1] ** 2 > 0.5).astype(int)
make, took = find(name, task).estimator(task), []
for _ in range(2):
    start = time.process_time()
    make().fit(X, y).predict(X)
    took.append(time.process_time() - start)
print(took[0] - took[1])
"""
#: Rows of those fits, and the most that they may cost beyond a warm one.
CATALOG, EMPTY, FULL = "2000", 3.0, 0.35
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
    rows += [first_fit(*one) for one in (*small, *LARGER)]
    for task in ("classification", "regression"):
        rows += [row for entry in learners(task) for row in beyond_a_warm_fit(entry.name, task)]
    return rows


def beyond_a_warm_fit(name: str, task: str) -> list[Row]:
    """What a first fit costs that compiles, and one that finds machine code."""
    command, rows = [sys.executable, "-c", BEYOND, name, task, CATALOG], []
    with tempfile.TemporaryDirectory() as folder:
        variables = os.environ | {"OMP_NUM_THREADS": "1", "MERCER_CACHE": folder}
        for cache, most in (("empty", EMPTY), ("full", FULL)):
            done = subprocess.run(
                command, env=variables, capture_output=True, text=True, check=True
            )
            what = f"{name} ({task}): first fit beyond a warm one, {cache} cache"
            rows.append(claim(what, float(done.stdout), None, below(most, "s")))
    return rows


def first_fit(name: str, *numbers: str) -> Row:
    """Seconds to the first prediction of a process that finds no machine code."""
    with tempfile.TemporaryDirectory() as empty:
        seconds = once(f"mercer:{name}", *numbers, MERCER_CACHE=empty)[2]
    words = zip(numbers, ("rows", "classes"), strict=False)
    data = ", ".join(f"{number} {what}" for number, what in words) or "iris"
    return claim(f"{name}: first fit, empty cache, {data}", seconds, None, below(3.0, "s"))


if __name__ == "__main__":
    main(measure)
