"""Saves that are killed at any moment: ``python tests/store/kill_while_saving.py FOLDER TRIALS``.

A child saves one of two models over and over; it is killed (signal 9) at a random moment, or by
itself at the worst ones. After each kill the file must be one of the two, whole.
"""

import json
import os
import signal
import sys
import time
from pathlib import Path

import numpy as np


def versions():
    return [{"version": v, "data": np.full(300_000, float(v))} for v in (1, 2)]


def in_child(action):
    """The action in a child of its own; gives its process number."""
    child = os.fork()
    if child == 0:
        try:
            action()
        finally:
            os._exit(0)
    return child


def save_for_ever(path):
    import mercer

    for i in range(10**9):
        mercer.save(versions()[i % 2], path)


def die():
    os.kill(os.getpid(), signal.SIGKILL)


def save_and_die_at(path, name):
    """The second model is being written when the process ends in a call of os.`name`."""
    import mercer

    setattr(os, name, lambda *arguments, **options: die())
    mercer.save(versions()[1], path)


def check(path):
    import mercer

    found = mercer.load(path)
    assert (found["data"] == found["version"]).all()
    return found["version"]


def main(folder, trials):
    import mercer

    path = Path(folder) / "model.mercer"
    mercer.save(versions()[0], path)
    rng = np.random.default_rng(0)
    seen = []
    for _ in range(trials):
        child = in_child(lambda: save_for_ever(path))
        time.sleep(float(rng.uniform(0.002, 0.08)))
        os.kill(child, signal.SIGKILL)
        assert os.WIFSIGNALED(os.waitpid(child, 0)[1])
        seen.append(check(path))
    for name in ("fdopen", "fsync", "replace"):
        mercer.save(versions()[0], path)
        child = in_child(lambda name=name: save_and_die_at(path, name))
        assert os.WIFSIGNALED(os.waitpid(child, 0)[1]), name
        assert check(path) == 1, name
    left = [p.name for p in Path(folder).iterdir() if p != path]
    hidden = all(name.startswith(".model.mercer.") for name in left)
    print(json.dumps({"seen": seen, "hidden": hidden}))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
