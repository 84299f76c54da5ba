"""Digits: what a perceptron, a support vector machine and tangent neighbors learn in the page."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from mercer import data
from mercer.lab.compute.learners import Learner
from mercer.lab.compute.states import numbers, takes
from mercer.lab.compute.wire import Reply

#: Images of the training set, and pixels of each.
LEARNED, PIXELS = 500, 64
#: Characters of the strokes of a drawing.
LONGEST_DRAWING = 50_000
#: Each judge with its kernel, as `judges.js` has them.
JUDGES = (
    (Learner("Perceptron", "KernelPerceptron", fixed={"random_state": 0}),
     "polynomial(3, offset=1)"),
    (Learner("Support vectors", "KernelSVC", fixed={"C": 10.0, "tol": 1e-6}), "gaussian(2)"),
    (Learner("Tangent neighbors", "KernelNeighborsClassifier", fixed={"n_neighbors": 3}),
     "tangent_distance(8, 8)"),
)  # fmt: skip
_pixels = numbers(PIXELS, 0.0, 1.0, "pixels")


@cache
def training() -> tuple[np.ndarray, str]:
    """The images, and their labels as one text."""
    found = data.digits()
    X, y = np.asarray(found.X, dtype=np.float64), np.asarray(found.y).astype(int)
    return X[:LEARNED], "".join(map(str, y[:LEARNED]))


@takes()
def digits() -> Reply:
    X, labels = training()
    return Reply({"labels": labels}, {"images": X})


@dataclass(frozen=True)
class Drawn:
    """A drawing as the page's address has it: strokes, and how far they are turned and moved."""

    given: dict[str, str]

    @classmethod
    def read(cls, given: Any) -> Drawn:
        if not isinstance(given, dict) or any(not isinstance(v, str) for v in given.values()):
            raise ValueError("a drawing is an object of texts")
        if sum(map(len, given.values())) > LONGEST_DRAWING:
            raise ValueError(f"a drawing has at most {LONGEST_DRAWING} characters")
        return cls(given)


def drawing(given: Any) -> list[float]:
    if len(row := _pixels(given)) != PIXELS:
        raise ValueError(f"a drawing has {PIXELS} pixels")
    return np.round(row, 4).tolist()


@takes(image=drawing)
def digits_script(image: list[float]) -> Reply:
    """A script that gives the same answers for a drawing."""
    names = sorted({entry.name for entry, _ in JUDGES})
    lines = [
        "import numpy as np",
        f"from mercer import {', '.join([*names, 'data'])}",
        "",
        f"X, y = data.digits().X[:{LEARNED}], data.digits().y[:{LEARNED}].astype(int)",
        f"drawing = np.array([{image}])",
        "",
        "models = [",
        *(f"    {entry.script(kernel, {})}," for entry, kernel in JUDGES),
        "]",
        "for model in models:",
        "    print(type(model).__name__, model.fit(X, y).predict(drawing)[0])",
    ]
    return Reply({"script": "\n".join(lines) + "\n"})
