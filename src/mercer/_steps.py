"""The steps of a solver as data: loops call a listener, where there is one, after every step.

``steps()`` of a learner runs `fit` with a listener: it shows what `fit` did, and the last step is
its result.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from mercer._lazy import record

Listener = Callable[[Any], None]
_listener: ContextVar[Listener | None] = ContextVar("listener", default=None)


@record
class Step:
    """f = Σ coefᵢ k(xᵢ, ·) + intercept after step `number`, counted from 1."""

    number: int
    coef: Any
    intercept: Any


@record
class DescentStep(Step):
    """A step of gradient descent or of Newton's method; `objective` is what it lowers."""

    objective: float


@record
class ConjugateStep(Step):
    """A step of conjugate gradients; `residual` is the largest ‖Ax − b‖/‖b‖ of its columns."""

    residual: float


@record
class PairStep(Step):
    """A step of sequential minimal optimization: the coefficients of a pair of examples moved.

    `pair` has the example whose coefficient grew, then the one whose coefficient shrank. It is
    empty after a step that moved more of them: one of Newton's method, or along a direction that is
    conjugate to the last one. `gap` is what is left of the violation of the conditions of
    optimality.
    """

    pair: tuple[int, ...]
    gap: float


def listener() -> Listener | None:
    """The function to call with each step, or None."""
    return _listener.get()


@contextmanager
def listening(to: Listener | None) -> Iterator[None]:
    token = _listener.set(to)
    try:
        yield
    finally:
        _listener.reset(token)


@contextmanager
def relayed(change: Callable[[Any], Any]) -> Iterator[None]:
    """Pass steps on to the listener outside, changed: a solver uses the loop of another."""
    outer = listener()
    with listening(None if outer is None else lambda step: outer(change(step))):
        yield


def recorded(work: Callable[[], Any]) -> list[Any]:
    """All steps that listeners are called with while something works."""
    steps: list[Any] = []
    with listening(steps.append):
        work()
    return steps
