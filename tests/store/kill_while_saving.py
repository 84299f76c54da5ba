"""Saves that are killed at any moment: ``python tests/store/kill_while_saving.py FOLDER HITS``.

A child saves one of two models over and over; it is killed (signal 9) at a random moment, or by
itself at the worst ones. After each kill the file must be one of the two, whole. A kill hit the
write itself if it left an unfinished file behind; it goes on until there are HITS of those.
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


def unfinished(path):
    return [p for p in path.parent.iterdir() if p.name.startswith(f".{path.name}.")]


def main(folder, hits):
    import mercer

    path = Path(folder) / "model.mercer"
    start = time.perf_counter()
    mercer.save(versions()[0], path)
    longest = min(0.2, 3 * (time.perf_counter() - start))
    rng = np.random.default_rng(0)
    seen, kills = [], 0
    while len(seen) < hits:
        kills += 1
        assert kills < 50 * hits, f"{kills} kills hit the write {len(seen)} times only"
        child = in_child(lambda: save_for_ever(path))
        time.sleep(float(rng.uniform(0.0, longest)))
        os.kill(child, signal.SIGKILL)
        assert os.WIFSIGNALED(os.waitpid(child, 0)[1])
        version, left = check(path), unfinished(path)
        for file in left:
            file.unlink()
        if left:
            seen.append(version)
    for name in ("fdopen", "fsync", "replace"):
        mercer.save(versions()[0], path)
        child = in_child(lambda name=name: save_and_die_at(path, name))
        assert os.WIFSIGNALED(os.waitpid(child, 0)[1]), name
        assert check(path) == 1, name
    hidden = all(p in (path, *unfinished(path)) for p in Path(folder).iterdir())
    print(json.dumps({"seen": seen, "kills": kills, "hidden": hidden}))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
