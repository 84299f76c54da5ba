"""Digits: a drawing judged by a perceptron, a support vector machine and tangent neighbors."""

from __future__ import annotations

import warnings
from functools import cache
from typing import Any

import numpy as np

from mercer import data
from mercer.lab.compute.learners import Learner
from mercer.lab.compute.models import for_classes
from mercer.lab.compute.states import numbers, takes
from mercer.lab.compute.wire import Reply

#: Images of the training set, pixels per side, and drawings in one request (turned versions).
LEARNED, SIDE, MOST_DRAWINGS = 500, 8, 31
#: Images that are shown for and against an answer.
SHOWN = 4


JUDGES = {
    "perceptron": Learner("Perceptron", "KernelPerceptron", fixed={"random_state": 0}),
    "svm": Learner("Support vectors", "KernelSVC", fixed={"C": 10.0}),
    "tangent": Learner("Tangent neighbors", "KernelNeighborsClassifier", fixed={"n_neighbors": 3}),
}
KERNELS = {
    "perceptron": "polynomial(3, offset=1)",
    "svm": "gaussian(2)",
    "tangent": "tangent_distance(8, 8)",
}


@cache
def training() -> tuple[np.ndarray, np.ndarray]:
    found = data.digits()
    X, y = np.asarray(found.X, dtype=np.float64), np.asarray(found.y).astype(int)
    return X[:LEARNED], y[:LEARNED]


@cache
def judge(name: str) -> Any:
    """A fitted learner; a worker fits each once."""
    with warnings.catch_warnings(action="ignore"):
        return JUDGES[name].make(KERNELS[name], {}).fit(*training())


def read(given: Any) -> np.ndarray:
    """Drawings as rows of pixels from 0 to 1."""
    if not isinstance(given, list) or not 1 <= len(given) <= MOST_DRAWINGS:
        raise ValueError(f"give 1 to {MOST_DRAWINGS} drawings")
    pixels = numbers(SIDE * SIDE, 0.0, 1.0, "pixels")
    rows = [pixels(row) for row in given]
    if any(len(row) != SIDE * SIDE for row in rows):
        raise ValueError(f"a drawing has {SIDE * SIDE} pixels")
    return np.array(rows)


@takes(images=read)
def digits(images: np.ndarray) -> Reply:
    """The answers for all drawings, and for the first the images that spoke for and against."""
    X, y = training()
    answers, arrays = [], {}
    for name, entry in JUDGES.items():
        model = judge(name)
        with warnings.catch_warnings(action="ignore"):
            said = np.asarray(model.predict(images))
            index, weight = _voters(name, model, images[:1], int(said[0]))
        votes = zip(y[index].tolist(), weight.tolist(), strict=True)
        voters = [{"label": label, "weight": w} for label, w in votes]
        answers.append({"name": name, "title": entry.title, "said": said, "voters": voters})
        arrays[name] = X[index]
    return Reply({"answers": answers}, arrays)


def _voters(name: str, model: Any, x: np.ndarray, said: int) -> tuple[np.ndarray, np.ndarray]:
    """The training images that count most at x: those for the answer, then those against it."""
    if name == "tangent":
        apart, index = model.kneighbors(x, n_neighbors=2 * SHOWN)
        return index[0], apart[0]
    expansion = model.expansion_
    shares = expansion.contributions(x)
    shares = for_classes(shares, 10) if name == "svm" else shares
    column = shares[:, list(model.classes_).index(said)]
    order = np.argsort(column)
    chosen = np.concatenate([order[::-1][:SHOWN], order[:SHOWN]])
    return np.asarray(model.support_)[chosen], column[chosen]


@takes(images=read)
def script(images: np.ndarray) -> Reply:
    """A script that gives the same answers for the first drawing."""
    names = sorted({entry.name for entry in JUDGES.values()})
    lines = [
        "import numpy as np",
        f"from mercer import {', '.join([*names, 'data'])}",
        "",
        f"X, y = data.digits().X[:{LEARNED}], data.digits().y[:{LEARNED}].astype(int)",
        f"drawing = np.array([{np.round(images[0], 4).tolist()}])",
        "",
        "models = [",
        *(f"    {entry.script(KERNELS[name], {})}," for name, entry in JUDGES.items()),
        "]",
        "for model in models:",
        "    print(type(model).__name__, model.fit(X, y).predict(drawing)[0])",
    ]
    return Reply({"script": "\n".join(lines) + "\n"})
