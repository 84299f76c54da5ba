"""Learners by short names, as they are typed."""

from __future__ import annotations

import difflib
import inspect
from typing import Any

from mercer.data.schema import DataError

#: (for classes, for numbers); None where there is no such learner.
SHORT: dict[str, tuple[str | None, str | None]] = {
    "svm": ("KernelSVC", "KernelSVR"),
    "svc": ("KernelSVC", None),
    "svr": (None, "KernelSVR"),
    "ridge": ("KernelRidgeClassifier", "KernelRidge"),
    "logistic": ("KernelLogisticRegression", None),
    "perceptron": ("KernelPerceptron", None),
    "neighbors": ("KernelNeighborsClassifier", "KernelNeighborsRegressor"),
    "neighbours": ("KernelNeighborsClassifier", "KernelNeighborsRegressor"),
    "centroid": ("KernelCentroidClassifier", None),
    "nadaraya-watson": ("NadarayaWatsonClassifier", "NadarayaWatsonRegressor"),
    "local-linear": (None, "LocalLinearRegressor"),
}


def class_name(name: str, task: str) -> str:
    """The learner's class for a task, from its short name or the name of the class.

    >>> class_name("ridge", "regression"), class_name("KernelSVC", "classification")
    ('KernelRidge', 'KernelSVC')
    """
    from mercer import learners

    if name in learners.__all__:
        return name
    key = name.lower().replace("_", "-")
    if key not in SHORT:
        near = difflib.get_close_matches(key, SHORT, 1, cutoff=0.5)
        hint = f"did you mean {near[0]!r}?" if near else f"there are: {', '.join(SHORT)}"
        raise DataError(f"there is no learner {name!r}; {hint}")
    found = SHORT[key][0 if task == "classification" else 1]
    if found is None:
        fit = [k for k, v in SHORT.items() if v[0 if task == "classification" else 1]]
        raise DataError(f"{name!r} does not do {task}; these do: {', '.join(fit)}")
    return found


def make(name: str, task: str, kernel: Any, settings: dict[str, Any]) -> Any:
    """The learner with its kernel and settings; an unknown setting is named."""
    from mercer import learners

    cls = getattr(learners, class_name(name, task))
    known = [p for p in inspect.signature(cls).parameters if p != "kernel"]
    for key in settings:
        if key not in known:
            near = difflib.get_close_matches(key, known, 1)
            hint = f"did you mean {near[0]!r}?" if near else f"there are: {', '.join(known)}"
            raise DataError(f"{cls.__name__} has no setting {key!r}; {hint}")
    if "kernel" not in inspect.signature(cls).parameters:
        raise DataError(f"{cls.__name__} takes no kernel")
    return cls(kernel=kernel, **settings)
