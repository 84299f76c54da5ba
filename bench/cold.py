"""A fresh process on iris: from `import` to the first prediction, next to scikit-learn.

Both sides begin after ``import sklearn.datasets``. The CPU seconds of the best of five processes
(the machine's other work counts less in them), with the bytecode and the machine code of an earlier
run; the whole process apart. Then the first fit of each learner with an empty cache, on iris and
on more rows; of support vector machines on still more, and with as many classes as letters. Last,
for every learner of the catalog and for settings that take other code, what compiling costs: the
CPU seconds of a first fit and prediction with an empty cache, and, beyond a second fit, in another
process that finds it full.

    python bench/cold.py [--compiling [--detail] [NAME ...]]

`--compiling`: only what compiling costs, of the models whose names or settings have one of these
words; `--detail`: and each function that is compiled.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from typing import Any

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
#: A model, its task, rows, and what they are: CPU seconds of the first fit and of the second one,
#: and what was compiled in the first.
BEYOND = """
import json, sys, time, warnings
warnings.simplefilter("ignore")
import numpy as np
import mercer
name, settings, task, rows, data = json.loads(sys.argv[1])
random = np.random.default_rng(0)
X = random.normal(size=(rows, 10))
y = X[:, 0] if task == "regression" else (X[:, 0] + X[:, 1] ** 2 > 0.5).astype(int)
if data == "bytes":
    X = (random.integers(0, 256, (rows, 784)) * (random.random((rows, 784)) < 0.2)).astype(np.uint8)
    y = (X[:, :392].sum(axis=1, dtype=int) > X[:, 392:].sum(axis=1, dtype=int)).astype(int)
make, took, made = getattr(mercer, name), [], {}
if len(sys.argv) > 2:
    from numba.core import event
    class Compiled(event.Listener):
        began = []
        def on_start(self, event):
            self.began.append(time.process_time())
        def on_end(self, event):
            said = f"{event.data['dispatcher']} {event.data['args']}"
            label = "  " * len(self.began) + said[:110]
            made[label] = made.get(label, 0.0) + time.process_time() - self.began.pop()
    event.register("numba:compile", Compiled())
for _ in range(2):
    start = time.process_time()
    model = make(**settings).fit(X, y)
    if hasattr(model, "predict"):
        model.predict(X)
    took.append(time.process_time() - start)
print(json.dumps([*took, made]))
"""
#: Rows of those fits, and the most that they may cost, with no machine code and with all of it.
CATALOG, EMPTY, FULL = 2000, 3.0, 0.35
#: Of learners whose second fit takes seconds fewer, so that machine code is what takes the time.
FEWER = {
    "GaussianProcessClassifier": 400,
    "GaussianProcessRegressor": 400,
    "KernelQuantileRegressor": 500,
}
#: Settings and data that take other code than the defaults of a learner.
SETTINGS: tuple[tuple[str, dict[str, Any], str], ...] = (
    ("KernelSVC", {"nu": 0.3}, "classification"),
    ("KernelSVC", {"probability": True}, "classification"),
    ("KernelSVC", {"kernel": "laplacian(0.5, 1)"}, "classification"),
    ("KernelSVC", {"kernel": "polynomial(3, 1, 0.1)"}, "classification"),
    ("KernelSVC", {"kernel": "polynomial(2, 1, 1e-6)"}, "bytes"),
    ("KernelSVC", {"kernel": "gaussian(1500)"}, "bytes"),
    ("KernelSVR", {"nu": 0.3}, "regression"),
    ("KernelOneClass", {}, "classification"),
    ("KernelPerceptron", {"budget": 50, "budget_policy": "merge"}, "classification"),
    ("KernelPerceptron", {"averaging": "average"}, "classification"),
    ("KernelNeighborsClassifier", {"radius": 0.8}, "classification"),
    ("KernelRidge", {"solver": "nystrom"}, "regression"),
    ("KernelRidge", {"solver": "cg", "alpha": 1e-3}, "regression"),
)
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
    return rows + [row for case in cases() for row in of_processes(*case)]


def cases() -> Iterator[tuple[str, dict[str, Any], str]]:
    """Every learner of the catalog, and settings that take other code."""
    for task in ("classification", "regression"):
        yield from ((entry.estimator(task).__name__, {}, task) for entry in learners(task))
    yield from SETTINGS


def of_processes(name: str, settings: dict[str, Any], task: str) -> list[Row]:
    """CPU seconds of a first fit that compiles, and of one that finds machine code."""
    data, task = ("bytes", "classification") if task == "bytes" else ("", task)
    case = json.dumps([name, settings, task, 6000 if data else FEWER.get(name, CATALOG), data])
    command, rows = [sys.executable, "-c", BEYOND, case], []
    said = " ".join([name, *(f"{k}={v}" for k, v in settings.items()), data or task])
    with tempfile.TemporaryDirectory() as folder:
        variables = os.environ | {"OMP_NUM_THREADS": "1", "MERCER_CACHE": folder}
        if "--detail" in sys.argv:
            apart = variables | {"MERCER_CACHE": os.path.join(folder, "apart")}
            done = subprocess.run(
                [*command, "detail"], env=apart, stdout=subprocess.PIPE, text=True, check=True
            )
            for label, seconds in json.loads(done.stdout.splitlines()[-1])[2].items():
                print(f"    {seconds:6.3f} s  {label}", flush=True)
        for cache, most in (("empty", EMPTY), ("full", FULL)):
            done = subprocess.run(
                command, env=variables, stdout=subprocess.PIPE, text=True, check=True
            )
            first, again, _ = json.loads(done.stdout.splitlines()[-1])
            spent = first if cache == "empty" else first - again
            beyond = "" if cache == "empty" else " beyond a warm one"
            what = f"{said}: first fit{beyond}, {cache} cache"
            rows.append(claim(what, spent, None, below(most, "s")))
            print(f"{what}: {spent:.2f} s of CPU", flush=True)
    return rows


def first_fit(name: str, *numbers: str) -> Row:
    """Seconds to the first prediction of a process that finds no machine code."""
    with tempfile.TemporaryDirectory() as empty:
        seconds = once(f"mercer:{name}", *numbers, MERCER_CACHE=empty)[2]
    words = zip(numbers, ("rows", "classes"), strict=False)
    data = ", ".join(f"{number} {what}" for number, what in words) or "iris"
    return claim(f"{name}: first fit, empty cache, {data}", seconds, None, below(3.0, "s"))


def only_processes() -> list[Row]:
    """Of the models that are named, or of all, what compiling costs."""
    words = [word for word in sys.argv[1:] if not word.startswith("--")]
    chosen = [
        case for case in cases() if not words or any(w in " ".join(map(str, case)) for w in words)
    ]
    return [row for case in chosen for row in of_processes(*case)]


if __name__ == "__main__":
    main(only_processes if "--compiling" in sys.argv else measure)
