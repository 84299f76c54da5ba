"""Run probes in a state of the process, print the hashes of their bits (see `probes.py`).

python tests/pure/measure.py --only "learner KernelSVC .*" --before numba --calls 1 2 40
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

MOST = max(os.sysconf("SC_PAGE_SIZE"), 4096) * os.sysconf("SC_PHYS_PAGES")


def import_numba() -> None:
    import numba  # noqa: F401


def import_scipy() -> None:
    import scipy.spatial.distance  # noqa: F401
    import sklearn.svm  # noqa: F401


def fit_others() -> None:
    """Models and matrices of sizes that no probe has."""
    import probes

    from mercer import kernels, learners

    for n, columns in ((30, 2), (900, 30), (3000, 4)):
        X = probes.rows(n, columns, seed=9)
        y = X[:, 0] * X[:, 1] > 0
        for name in ("KernelSVC", "KernelPerceptron", "KernelNeighborsClassifier"):
            getattr(learners, name)().fit(X, y).predict(X[:40])
        learners.KernelRidge(alpha=0.1).fit(X, X[:, 0]).predict(X[:40])
        for text in ("gaussian(1)", "polynomial(2, 1)", "laplacian(1)"):
            k = kernels.parse(text)
            k(X[:500])
            k.gram(X) @ X[:, :2]
    X = probes.sparse_rows(1000, 9)
    learners.KernelSVC().fit(X, X.getnnz(axis=1) > 40)


#: What is done before every call.
FIRST: list[Callable[[], object]] = []


def spin_threads() -> None:
    """Before every call threads of BLAS have just worked, and wait busily."""
    import numpy as np

    A = np.ones((400, 400))
    FIRST.append(lambda: A @ A)


def free(bytes_now: int) -> None:
    """So many bytes of memory are free just now, whoever asks the system."""
    read = Path.read_text

    def told(self: Path, *args: Any, **kwargs: Any) -> str:
        text = read(self, *args, **kwargs)
        if str(self) == "/proc/meminfo":
            kept = [li for li in text.splitlines() if not li.startswith(("MemAvail", "MemFree"))]
            kept += [f"MemFree: {bytes_now // 1024} kB", f"MemAvailable: {bytes_now // 1024} kB"]
            return "\n".join(kept)
        if self.name in ("memory.current", "memory.usage_in_bytes"):
            return str(max(0, MOST - bytes_now))
        return text

    Path.read_text = told  # type: ignore[method-assign]


STATES = {
    "numba": import_numba,
    "scipy": import_scipy,
    "others": fit_others,
    "spinning": spin_threads,
    "little memory": lambda: free(24 << 20),
    "much memory": lambda: free(64 << 40),
}


def measured(probe: Any, calls: list[int]) -> dict[str, list[str]]:
    """The hashes of each result of a probe in the calls that are named, counted from 1."""
    import probes

    hashes: dict[str, list[str]] = {}
    for call in range(1, max(calls) + 1):
        for prepare in FIRST:
            prepare()
        results = probes.run(probe)
        if call in calls:
            for what, value in results.items():
                hashes.setdefault(f"{probe.name}: {what}", []).append(probes.bits(value))
    return hashes


def alone(probe: Any, calls: list[int]) -> dict[str, list[str]]:
    """The same in a copy of this process, in which nothing else was computed."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            with open(writing, "w") as pipe:
                json.dump(measured(probe, calls), pipe)
            os._exit(0)
        except BaseException as error:
            print(probe.name, repr(error), file=sys.stderr, flush=True)
            os._exit(1)
    os.close(writing)
    with open(reading) as pipe:
        text = pipe.read()
    assert os.waitpid(child, 0)[1] == 0, f"{probe.name} failed"
    return json.loads(text)


def all_of(patterns: list[str], calls: list[int], threads: int) -> dict[str, list[str]]:
    """The hashes of every probe that is asked for, one after another."""
    import probes

    import mercer

    mercer.set_config(threads=threads, progress=False)
    hashes: dict[str, list[str]] = {}
    for probe in probes.probes(patterns):
        hashes |= measured(probe, calls)
    return hashes


def in_worker(kind: str, *what: Any) -> dict[str, list[str]]:
    """The same in a worker of `multiprocessing` or of joblib."""
    if kind == "spawn":
        import multiprocessing

        with multiprocessing.get_context("spawn").Pool(1) as pool:
            return pool.apply(all_of, what)
    import joblib

    with joblib.parallel_config("loky", n_jobs=2, inner_max_num_threads=2):
        return joblib.Parallel()(joblib.delayed(all_of)(*what) for _ in range(1))[0]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="+", default=[".*"], help="patterns of whole names")
    parser.add_argument("--before", nargs="*", default=[], choices=STATES, help="done first")
    parser.add_argument("--calls", nargs="+", type=int, default=[1])
    parser.add_argument("--backwards", action="store_true", help="the last probe first")
    parser.add_argument("--alone", action="store_true", help="every probe in a process of its own")
    parser.add_argument("--worker", choices=("spawn", "loky"), help="in a process of a pool")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--save", help="a file for the numbers themselves (.npz)")
    parser.add_argument("--list", action="store_true", help="only names")
    given = parser.parse_args()
    if given.worker:
        print(json.dumps(in_worker(given.worker, given.only, given.calls, given.threads)))
        return
    for state in given.before:
        STATES[state]()
    import probes

    import mercer

    chosen = probes.probes(given.only)
    if given.list:
        print(*[p.name for p in chosen], sep="\n")
        return
    mercer.set_config(threads=given.threads, progress=False)
    hashes: dict[str, list[str]] = {}
    for probe in chosen[::-1] if given.backwards else chosen:
        hashes |= (alone if given.alone else measured)(probe, given.calls)
    if given.save:
        save(chosen, given.save)
    print(json.dumps(hashes))


def save(chosen: list[Any], path: str) -> None:
    """Every number of every probe, as one array of floats each."""
    import numpy as np
    import probes

    kept = {}
    for probe in chosen:
        for what, value in probes.run(probe).items():
            parts = [
                a.ravel().astype(float) for a in probes.arrays(value) if a.dtype.kind in "biuf"
            ]
            kept[f"{probe.name}: {what}"] = np.concatenate(parts) if parts else np.empty(0)
    np.savez(path, **kept)


if __name__ == "__main__":
    main()
