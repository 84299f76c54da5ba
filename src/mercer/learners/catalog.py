"""The catalog of supervised learners: their names, classes, and how `compare` sets them.

`mercer fit --learner`, `mercer compare --learner`, `mercer.compare`, the scoreboard and the tables
of the documentation all read this list. A new learner is one class and one entry, here or from
outside:

>>> from mercer.learners.catalog import Grid, Learner, find, register
>>> from mercer import KernelSVC
>>> register(Learner("stiff", classifier=KernelSVC, raced=False,
...                  grid=Grid((1.0, 10.0), lambda C, unit, spread: {"C": C / unit})))
>>> find("stiff", "classification").estimator("classification").__name__
'KernelSVC'
>>> unregister("stiff")
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Any

from mercer._lazy import record
from mercer._plugins import load_plugins
from mercer._suggest import suggest

TASKS = ("classification", "regression")
Settings = Callable[[Any, float, float], dict[str, Any]]


def _none(value: Any, unit: float, spread: float) -> dict[str, Any]:
    return {}


@record
class Grid:
    """What `compare` chooses a learner's parameters from.

    Attributes
    ----------
    values : tuple
        In the order in which they are tried, the most regular model first. Neighboring values
        should give similar models.
    settings : function of (value, unit, spread)
        The parameters of the learner at one of the values. `unit` is the mean of k(x, x) and
        `spread` the standard deviation of the targets, so that a grid fits data of any scale.
    chosen_by : "held-out rows", "log probability" or "leave-one-out"
        How a value is judged inside the training rows: by the metric of the comparison or by the
        mean logarithm of `predict_proba`, both on a quarter of the rows; or, for the penalties of
        ridge regression alone, by the closed form of its leave-one-out errors.
    warm_start : bool
        Whether a learner starts from its solution for the value before.
    at_most_rows : bool
        Whether a value is a number of rows, and none may exceed those there are.
    exponent : float
        The seconds of a fit grow like rows to this power, until two stages have shown it.
    """

    values: tuple[Any, ...] = (None,)
    settings: Settings = _none
    chosen_by: str = "held-out rows"
    warm_start: bool = False
    at_most_rows: bool = False
    exponent: float = 1.8


@record
class Learner:
    """One learner: a name for users, its classes, and how it is compared and exported.

    Attributes
    ----------
    name, aliases : str, tuple of str
        What users type; a class is also found by its own name, with or without "Kernel".
    classifier, regressor : class, name of a class of `mercer.learners`, or None
    grid : Grid, or one per task
    judges : bool
        Whether it is tried with every kernel; the others are tried with the best one.
    raced : bool
        Whether `compare` tries it without being asked to.
    chooses_scale : bool
        Whether it takes the examples themselves and finds its own bandwidth; it is then tried
        with a Gaussian, once.
    onnx : function of (fitted learner, table, outputs), or None
        How a class from outside is exported (see `mercer.onnx.exporting`).
    """

    name: str
    classifier: type | str | None = None
    regressor: type | str | None = None
    aliases: tuple[str, ...] = ()
    grid: Grid | Mapping[str, Grid] = field(default_factory=Grid)
    judges: bool = False
    raced: bool = True
    chooses_scale: bool = False
    onnx: Callable[[Any, Any, Any], None] | None = None

    def _given(self, task: str) -> type | str | None:
        return self.classifier if task == "classification" else self.regressor

    def does(self, task: str) -> bool:
        return self._given(task) is not None

    def class_name(self, task: str) -> str:
        """The name of the class for a task; empty where there is none."""
        given = self._given(task)
        return given.__name__ if isinstance(given, type) else given or ""

    def estimator(self, task: str) -> Any:
        """The class for a task, loaded now."""
        given = self._given(task)
        if isinstance(given, str):
            from mercer import learners

            return getattr(learners, given)
        return given

    def grid_for(self, task: str) -> Grid:
        return self.grid if isinstance(self.grid, Grid) else self.grid[task]


_LEARNERS: dict[str, Learner] = {}


def register(learner: Learner) -> None:
    """Add a learner; every command and `compare` know it from now on."""
    taken = [n for n in (learner.name, *learner.aliases) if _by_name(n) is not None]
    if taken:
        raise ValueError(f"there is a learner {taken[0]!r} already")
    if not any(learner.does(task) for task in TASKS):
        raise ValueError(f"the learner {learner.name!r} has neither a classifier nor a regressor")
    _LEARNERS[learner.name] = learner


register_learner = register


def unregister(name: str) -> None:
    """Take a learner out again."""
    del _LEARNERS[name]


def learners(task: str | None = None) -> list[Learner]:
    """Every learner, or those of a task, in the order in which they are tried."""
    load_plugins("learners")
    return [one for one in _LEARNERS.values() if task is None or one.does(task)]


def find(name: str, task: str) -> Learner:
    """A learner by its name, by an alias, or by the name of its class.

    >>> find("knn", "regression").class_name("regression")
    'KernelNeighborsRegressor'
    >>> find("KernelSVC", "classification").name, find("svc", "classification").name
    ('svm', 'svm')
    """
    key = name.lower().replace("_", "-")
    known = learners(task)
    found = _by_name(key) or _by_class(key, task)
    if found is None and not _by_class(key, *TASKS):
        raise ValueError(f"there is no learner {name!r}.{suggest(key, [k.name for k in known])}")
    if found is None or not found.does(task):
        raise ValueError(f"{name!r} does not do {task}; {', '.join(k.name for k in known)} do")
    return found


def registered(cls: type) -> Learner | None:
    """The entry that a class was given in, if it came from outside."""
    return next((k for k in _LEARNERS.values() if cls in (k.classifier, k.regressor)), None)


def name_of(class_name: str) -> str:
    """The short name of a class; a class that is not in the catalog keeps its own.

    >>> name_of("KernelRidgeClassifier"), name_of("Pipeline")
    ('ridge', 'Pipeline')
    """
    found = _by_class(class_name.lower(), *TASKS)
    return found.name if found else class_name


def _by_name(key: str) -> Learner | None:
    return next((k for k in _LEARNERS.values() if key in (k.name, *k.aliases)), None)


def _by_class(key: str, *tasks: str) -> Learner | None:
    for learner in _LEARNERS.values():
        for task in tasks:
            known = learner.class_name(task).lower()
            if known and key in (known, known.removeprefix("kernel")):
                return learner
    return None


for _learner in (
    Learner(
        "ridge",
        classifier="KernelRidgeClassifier",
        regressor="KernelRidge",
        # Penalties relative to the mean of k(x, x).
        grid=Grid(
            tuple(10.0 ** (e / 2) for e in range(-13, 5)),
            lambda penalty, unit, spread: {"alpha": penalty * unit},
            chosen_by="leave-one-out",
            # Cubic in theory; in practice larger matrices are faster per operation.
            exponent=2.6,
        ),
        judges=True,
    ),
    Learner(
        "svm",
        classifier="KernelSVC",
        regressor="KernelSVR",
        grid={
            "classification": Grid(
                (0.1, 0.4, 1.5, 6.0, 25.0, 100.0),
                lambda C, unit, spread: {"C": C / unit},
                warm_start=True,
            ),
            # The tube is a twentieth of the spread of the targets.
            "regression": Grid(
                (0.5, 2.0, 8.0, 32.0, 128.0),
                lambda C, unit, spread: {
                    "C": C * spread / unit,
                    "epsilon": 0.05 * spread,
                    "tol": 1e-3 * spread,
                },
                warm_start=True,
            ),
        },
        judges=True,
    ),
    Learner(
        "logistic",
        classifier="KernelLogisticRegression",
        grid=Grid(
            (1.0, 0.1, 0.01, 0.001),
            lambda alpha, unit, spread: {"alpha": alpha * unit, "random_state": 0},
            chosen_by="log probability",
            exponent=2.3,
        ),
    ),
    Learner(
        "perceptron",
        classifier="KernelPerceptron",
        grid=Grid(
            settings=lambda value, unit, spread: {
                "epochs": 10,
                "averaging": "average",
                "random_state": 0,
            }
        ),
    ),
    Learner(
        "neighbors",
        classifier="KernelNeighborsClassifier",
        regressor="KernelNeighborsRegressor",
        aliases=("neighbours", "knn"),
        grid=Grid(
            (1, 3, 5, 9, 17, 33),
            lambda k, unit, spread: {"n_neighbors": k},
            at_most_rows=True,
        ),
    ),
    Learner(
        "smoother",
        classifier="NadarayaWatsonClassifier",
        regressor="NadarayaWatsonRegressor",
        aliases=("nadaraya-watson",),
        grid=Grid(settings=lambda value, unit, spread: {"bandwidth": "auto"}, exponent=2.0),
        chooses_scale=True,
    ),
    Learner(
        "local-linear",
        regressor="LocalLinearRegressor",
        grid=Grid(settings=lambda value, unit, spread: {"bandwidth": "auto"}, exponent=2.0),
        raced=False,
        chooses_scale=True,
    ),
    Learner(
        "process",
        classifier="GaussianProcessClassifier",
        regressor="GaussianProcessRegressor",
        aliases=("gaussian-process", "gp"),
        grid=Grid(settings=lambda value, unit, spread: {"random_state": 0}, exponent=2.6),
        raced=False,
    ),
    Learner("quantile", regressor="KernelQuantileRegressor", raced=False),
    Learner("centroid", classifier="KernelCentroidClassifier", raced=False),
    Learner(
        "fisher",
        classifier="KernelFisherDiscriminant",
        aliases=("discriminant", "lda"),
        grid=Grid(
            (10.0, 1.0, 0.1, 0.01),
            lambda alpha, unit, spread: {"alpha": alpha * unit},
            exponent=2.6,
        ),
        raced=False,
    ),
):
    register(_learner)
