"""A learner of the catalog, made from what was typed."""

from __future__ import annotations

import inspect
from typing import Any

from mercer._suggest import suggest
from mercer.data.schema import DataError
from mercer.learners.catalog import find, learners

#: What `--learner` takes, for help texts.
NAMES = ", ".join(learner.name for learner in learners())


def make(name: str, task: str, kernel: Any, settings: dict[str, Any]) -> Any:
    """The learner with its kernel and settings; an unknown setting is named."""
    cls = find(name, task).estimator(task)
    known = [p for p in inspect.signature(cls).parameters if p != "kernel"]
    for key in settings:
        if key not in known:
            raise DataError(f"{cls.__name__} has no setting {key!r}.{suggest(key, known)}")
    return cls(kernel=kernel, **settings)
