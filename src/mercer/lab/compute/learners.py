"""The learners of the page: a class of `mercer` each, what is fixed, and what has a slider."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import mercer


@dataclass(frozen=True)
class Option:
    """A parameter with a slider."""

    name: str
    label: str
    default: float
    low: float
    high: float
    log: bool = True
    whole: bool = False

    def value(self, given: Any) -> Any:
        if isinstance(given, bool) or not isinstance(given, (int, float)):
            raise ValueError(f"{self.name} must be a number, got {given!r}")
        if not self.low <= given <= self.high:
            raise ValueError(f"{self.name} must lie from {self.low:g} to {self.high:g}")
        return round(given) if self.whole else float(given)


@dataclass(frozen=True)
class Learner:
    """One entry of the list in the headline."""

    title: str
    name: str
    options: tuple[Option, ...] = ()
    fixed: dict[str, Any] = field(default_factory=dict)
    #: What its scores are: "score" (any number), "log-odds", or "share" (of a vote, from −1 to 1).
    gives: str = "score"
    #: Whether it learns visit by visit, and how its answer follows from the visits.
    averaging: str | None = None

    def settings(self, options: dict[str, Any]) -> dict[str, Any]:
        """The arguments of the class beside the kernel."""
        known = {option.name: option for option in self.options}
        unknown = sorted(set(options) - set(known))
        if unknown:
            raise ValueError(f"{self.title} has no option {unknown[0]!r}")
        given = {
            name: option.value(options.get(name, option.default)) for name, option in known.items()
        }
        return given | self.fixed

    def make(self, kernel: Any, options: dict[str, Any]) -> Any:
        return getattr(mercer, self.name)(kernel, **self.settings(options))

    def script(self, kernel: str, options: dict[str, Any]) -> str:
        settings = "".join(f", {name}={v!r}" for name, v in self.settings(options).items())
        return f"{self.name}({kernel!r}{settings})"


_EPOCHS = Option("epochs", "passes", 10, 1, 50, whole=True)
_SEED = {"random_state": 0}


def _perceptron(title: str, averaging: str) -> Learner:
    fixed = {"averaging": averaging, **_SEED}
    gives = "share" if averaging == "vote" else "score"
    return Learner(title, "KernelPerceptron", (_EPOCHS,), fixed, gives, averaging)


LEARNERS = {
    "perceptron": _perceptron("perceptron", "last"),
    "averaged": _perceptron("averaged perceptron", "average"),
    "voted": _perceptron("voted perceptron", "vote"),
    "svm": Learner("support vector machine", "KernelSVC", (Option("C", "C", 10.0, 0.01, 1000),)),
    "ridge": Learner(
        "ridge classifier", "KernelRidgeClassifier", (Option("alpha", "λ", 0.1, 1e-4, 100),)
    ),
    "logistic": Learner(
        "logistic regression",
        "KernelLogisticRegression",
        (Option("alpha", "λ", 0.1, 1e-3, 100),),
        gives="log-odds",
    ),
    "smoother": Learner(
        "Nadaraya–Watson smoother", "NadarayaWatsonClassifier", fixed={"bandwidth": 1.0},
        gives="share",
    ),
    "neighbors": Learner(
        "vote of neighbors", "KernelNeighborsClassifier",
        (Option("n_neighbors", "k", 5, 1, 30, log=False, whole=True),), gives="share",
    ),
    "centroid": Learner("nearest mean", "KernelCentroidClassifier"),
}  # fmt: skip
