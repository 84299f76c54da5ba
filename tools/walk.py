#!/usr/bin/env python3
"""walk.py: through how many functions and files of this library a warm call passes.

A stranger who looks for a wrong digit reads so much. Named functions count; lambdas and
comprehensions do not, and what helper threads run does. `tests/test_walks.py` holds the numbers;
``--list [WORD ...]`` prints the functions of calls whose name has one of the words.
"""

from __future__ import annotations

import math
import sys
import threading
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import mercer
from mercer._machine import resources, threads


def walked(call: Callable[[], Any]) -> list[tuple[str, str]]:
    """Files and functions of the third call, when everything is compiled and cached."""
    seen: dict[tuple[str, str], None] = {}

    def note(frame: Any, event: str, _: Any) -> None:
        code = frame.f_code
        name = str(frame.f_globals.get("__name__", ""))
        if event == "call" and name.partition(".")[0] == "mercer" and code.co_name[0] != "<":
            seen.setdefault((code.co_filename, code.co_qualname))

    for _ in range(2):
        call()
    # Cores are counted twice a second, whatever is called then.
    fresh, resources.FRESH = resources.FRESH, math.inf
    before = sys.getprofile()
    threads._helpers.cache_clear()
    threads._helpers()  # a pool of new threads, which are watched, too
    threading.setprofile(note)
    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(before)
        threading.setprofile(None)  # type: ignore[arg-type]
        resources.FRESH = fresh
        threads._helpers.cache_clear()
    return list(seen)


def walk(call: Callable[[], Any]) -> tuple[int, int]:
    """Numbers of functions and of files that `call` passes."""
    seen = walked(call)
    return len(seen), len({file for file, _ in seen})


def walks() -> dict[str, Callable[[], Any]]:
    """The calls that are counted, on 2000 × 10 numbers."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 10))
    y = (X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=2000) > 0).astype(int)
    machine = mercer.KernelSVC().fit(X, y)
    return {
        "KernelSVC.fit": lambda: mercer.KernelSVC().fit(X, y),
        "KernelSVC.predict": lambda: machine.predict(X),
        "KernelRidge.fit": lambda: mercer.KernelRidge().fit(X, X[:, 0]),
        "Gaussian(1.0)(X)": lambda: mercer.Gaussian(1.0)(X),
        "KernelPerceptron.fit": lambda: mercer.KernelPerceptron().fit(X, y),
    }


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    listed, root = sys.argv[1:2] == ["--list"], f"{Path(mercer.__file__).parent}/"
    for name, call in walks().items():
        if listed and not any(word in name for word in sys.argv[2:] or [""]):
            continue
        functions, files = walk(call)
        print(f"{name:22} {functions:4} functions, {files:3} files")
        for file, function in walked(call) if listed else ():
            print(f"    {file.removeprefix(root):40} {function}")
