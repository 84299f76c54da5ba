"""The questions that a page may ask, by name."""

from __future__ import annotations

import json
from importlib import import_module
from typing import Any

from mercer.lab.compute.wire import Reply, packed

#: Each with the module and the function that answers it. They are loaded when first asked: the
#: server itself only passes questions on.
REQUESTS = {
    "catalog": "catalog.catalog",
    "points": "playground.points",
    "field": "playground.field",
    "columns": "playground.columns",
    "errors": "playground.errors",
    "errors_over": "playground.errors_over",
    "pixel": "playground.pixel",
    "script": "scripts.script",
    "share": "live.share",
    "kernel": "kernels.kernel",
    "completions": "kernels.completions",
    "proof": "kernels.proof",
    "prepare": "preparing.prepare",
    "project": "tables.project",
    "series": "curves.series",
    "curve": "curves.curve",
    "curve_errors": "curves.curve_errors",
    "query": "curves.query",
    "curve_script": "curves.script",
    "digits": "digits.digits",
    "digits_script": "digits.script",
    "gram": "grams.gram",
    "gram_script": "grams.script",
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
    request.pop("channel", None)  # of interest to the server only
    try:
        ask = request.pop("ask", None)
        if ask not in REQUESTS:
            raise ValueError(f"there is no request {str(ask)[:40]!r}")
        module, _, function = REQUESTS[ask].partition(".")
        work = getattr(import_module(f"mercer.lab.compute.{module}"), function)
        return packed(work(request), number)
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
