"""The questions that a page may ask, by name."""

from __future__ import annotations

import json
from importlib import import_module
from typing import Any

from mercer.lab.compute.wire import Reply, packed

#: By the module whose functions answer them. They are loaded when first asked: the server itself
#: only passes questions on.
MODULES = {
    "catalog": "catalog",
    "playground": "points field columns errors errors_over pixel",
    "scripts": "script",
    "live": "share",
    "kernels": "kernel completions proof",
    "preparing": "prepare",
    "curves": "series curve curve_errors curve_script query",
    "digits": "digits digits_script",
    "grams": "gram gram_script",
}
REQUESTS = {name: module for module, names in MODULES.items() for name in names.split()}
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
        work = getattr(import_module(f"mercer.lab.compute.{REQUESTS[ask]}"), ask)
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
