"""The questions that a page may ask, by name."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from mercer.lab.compute import kernels, playground, scripts
from mercer.lab.compute.learners import LEARNERS
from mercer.lab.compute.presets import PRESETS, VIEW
from mercer.lab.compute.states import MOST_CLASSES, MOST_POINTS
from mercer.lab.compute.wire import Reply, packed


def catalog(request: dict[str, Any]) -> Reply:
    """What there is to choose from."""
    learners = {
        name: {
            "title": entry.title,
            "options": [asdict(option) for option in entry.options],
            "visits": entry.averaging is not None,
        }
        for name, entry in LEARNERS.items()
    }
    presets = {
        name: {"title": entry.title, "n": entry.n, "noise": entry.noise}
        for name, entry in PRESETS.items()
    }
    limits = {"points": MOST_POINTS, "classes": MOST_CLASSES, "view": VIEW}
    return Reply({"learners": learners, "presets": presets, "limits": limits})


REQUESTS: dict[str, Callable[[dict[str, Any]], Reply]] = {
    "catalog": catalog,
    "points": playground.points,
    "field": playground.field,
    "errors": playground.errors,
    "pixel": playground.pixel,
    "kernel": kernels.kernel,
    "completions": kernels.completions,
    "proof": kernels.proof,
    "script": scripts.script,
}
#: What a person can put right, said in words; anything else is a fault, and said to be one.
USER_ERRORS = (ValueError, TypeError, ArithmeticError, MemoryError)


def answer(request: dict[str, Any]) -> bytes:
    """The reply to one request, as bytes for the page; errors are replies, too.

    >>> from mercer.lab.compute.wire import unpacked
    >>> unpacked(answer({"id": 1, "ask": "kernel", "text": "linear()"})).facts["repr"]
    'Linear()'
    """
    number = request.pop("id", None)
    try:
        ask = request.pop("ask", None)
        if ask not in REQUESTS:
            raise ValueError(f"there is no request {str(ask)[:40]!r}")
        return packed(REQUESTS[ask](request), number)
    except USER_ERRORS as error:
        words = str(error) or f"this needs more memory than there is ({type(error).__name__})"
        return packed(Reply({"error": words[:500]}), number)


def read(message: str | bytes) -> dict[str, Any]:
    """A message of the page as a request; ValueError if it is none."""
    request = json.loads(message)
    if not isinstance(request, dict) or not isinstance(request.get("id"), int):
        raise ValueError("a request is an object with a whole number as its id")
    if not isinstance(request.get("ask"), str):
        raise ValueError("a request names what it asks")
    return request
