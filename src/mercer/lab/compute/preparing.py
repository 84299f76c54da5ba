"""Every learner once on a few points: what it compiles is then on disk before a person asks."""

from __future__ import annotations

from typing import Any

from mercer.lab.compute.learners import LEARNERS
from mercer.lab.compute.requests import answer
from mercer.lab.compute.states import Source, one_of, takes
from mercer.lab.compute.wire import Reply


def requests(learner: str) -> list[dict[str, Any]]:
    """One request of each kind that the playground asks for this learner."""
    source = {"preset": "spirals", "n": 40, "noise": 0.05, "seed": 0}
    X, y = Source.read(source).points()
    data = {"X": X.ravel().tolist(), "y": y.tolist(), "source": source}
    state = {"kernel": "gaussian(0.3)", "learner": learner, "options": {}, **data}
    return [
        {"ask": "kernel", "text": "gaussian(1)"},
        {"ask": "field", "state": state, "size": 48, "visits": True},
        {"ask": "errors", "state": state},
        {"ask": "pixel", "state": state, "x": [0.0, 0.0], "visit": None},
    ]


@takes(learner=one_of(LEARNERS, "the learner"))
def prepare(learner: str) -> Reply:
    for one in requests(learner):
        answer(one)
    return Reply({"prepared": learner})
