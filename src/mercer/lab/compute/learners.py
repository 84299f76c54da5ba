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
    #: Whether it multiplies the kernel, and is no parameter of the learner.
    multiplies: bool = False

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
    #: Whether it takes a kernel; else it finds its own.
    takes_kernel: bool = True

    def _values(self, options: dict[str, Any]) -> dict[Option, Any]:
        known = {option.name: option for option in self.options}
        unknown = sorted(set(options) - set(known))
        if unknown:
            raise ValueError(f"{self.title} has no option {unknown[0]!r}")
        return {o: o.value(options.get(o.name, o.default)) for o in self.options}

    def settings(self, options: dict[str, Any]) -> dict[str, Any]:
        """The arguments of the class beside the kernel."""
        given = {o.name: v for o, v in self._values(options).items() if not o.multiplies}
        return given | self.fixed

    def make(self, kernel: Any, options: dict[str, Any]) -> Any:
        for option, value in self._values(options).items():
            kernel = value * kernel if option.multiplies else kernel
        given = (kernel,) if self.takes_kernel else ()
        return getattr(mercer, self.name)(*given, **self.settings(options))

    def script(self, kernel: str, options: dict[str, Any]) -> str:
        for option, value in self._values(options).items():
            kernel = f"{value!r}*({kernel})" if option.multiplies else kernel
        given = [repr(kernel)] if self.takes_kernel else []
        given += [f"{name}={v!r}" for name, v in self.settings(options).items()]
        return f"{self.name}({', '.join(given)})"


_EPOCHS = Option("epochs", "passes", 10, 1, 50, whole=True)
_SEED = {"random_state": 0}


def _perceptron(title: str, averaging: str) -> Learner:
    fixed = {"averaging": averaging, **_SEED}
    gives = "share" if averaging == "vote" else "score"
    return Learner(title, "KernelPerceptron", (_EPOCHS,), fixed, gives, averaging)


def _penalty(low: float) -> tuple[Option, ...]:
    return (Option("alpha", "λ", 0.1, low, 100),)


LEARNERS = {
    "perceptron": _perceptron("perceptron", "last"),
    "averaged": _perceptron("averaged perceptron", "average"),
    "voted": _perceptron("voted perceptron", "vote"),
    "walk": Learner("perceptron by hand", "KernelPerceptron", (_EPOCHS,),
                    {"averaging": "last", "tie": "first", "shuffle": False}, averaging="last"),
    "svm": Learner("support vector machine", "KernelSVC", (Option("C", "C", 10.0, 0.01, 1000),)),
    "ridge": Learner("ridge classifier", "KernelRidgeClassifier", _penalty(1e-4)),
    "logistic": Learner("logistic regression", "KernelLogisticRegression", _penalty(1e-3),
                        gives="log-odds"),
    "process": Learner("Gaussian process", "GaussianProcessClassifier",
                       (Option("variance", "s²", 16.0, 0.1, 1000, multiplies=True),),
                       {"optimizer": None}, gives="log-odds"),
    "smoother": Learner("Nadaraya–Watson smoother", "NadarayaWatsonClassifier",
                        fixed={"bandwidth": 1.0}, gives="share"),
    "neighbors": Learner("vote of neighbors", "KernelNeighborsClassifier",
                         (Option("n_neighbors", "k", 5, 1, 30, False, True),), gives="share"),
    "centroid": Learner("nearest mean", "KernelCentroidClassifier"),
    "learned": Learner("learned metric", "RFMClassifier",
                       (Option("rounds", "rounds", 3, 0, 6, False, True),),
                       {"metric": "full", "norm": 2, "inputs": "values"}, gives="log-odds",
                       takes_kernel=False),
}  # fmt: skip
