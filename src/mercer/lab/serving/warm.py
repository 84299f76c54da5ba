"""What the forkserver loads once, so that every worker begins with everything in memory.

Importing this module fits a perceptron: imports that happen on first use have then happened, and
compiled code is loaded. One thread: several workers share the cores.
"""

from __future__ import annotations

import os

from threadpoolctl import threadpool_limits

import mercer
from mercer.lab.compute.requests import answer
from mercer.lab.compute.states import Source

#: The process that loaded this: a worker compares it with its own.
LOADED_IN = os.getpid()

threadpool_limits(1)
mercer.set_config(threads=1, progress=False)


def requests(learners: tuple[str, ...]) -> list[dict]:
    """One request of each kind for each of these learners."""
    source = {"preset": "spirals", "n": 40, "noise": 0.05, "seed": 0}
    X, y = Source.read(source).points()
    data = {"X": X.ravel().tolist(), "y": y.tolist(), "source": source}
    asked: list[dict] = [{"ask": "kernel", "text": "gaussian(1)"}]
    for learner in learners:
        state = {"kernel": "gaussian(0.3)", "learner": learner, "options": {}, **data}
        asked.append({"ask": "field", "state": state, "size": 48, "visits": True})
        asked.append({"ask": "errors", "state": state})
        asked.append({"ask": "pixel", "state": state, "x": [0.0, 0.0]})
    return asked


for request in requests(("perceptron",)):
    answer(request)
