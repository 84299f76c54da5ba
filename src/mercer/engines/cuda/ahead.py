"""Kernels compiled in the background, while other work goes on: a first call waits for the slowest.

Triton compiles a kernel where it is first launched, for half a second to two: its passes, the
assembler, and a C compiler for the launcher, most of which runs outside of Python. A solver that
knows what it will launch says so here before it begins, and each launch calls `wait` before it.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable
from typing import Any

import torch

#: The threads that work for a kernel, by its id.
_pending: dict[int, list[threading.Thread]] = {}


def in_background(kernel: Any, work: Callable[[], Any]) -> None:
    """Do what this kernel needs before its launch while the caller goes on."""

    def quietly() -> None:
        # A problem here comes again where the kernel is launched, and is told there.
        with contextlib.suppress(Exception):
            work()

    thread = threading.Thread(target=quietly, daemon=True)
    _pending.setdefault(id(kernel), []).append(thread)
    thread.start()


def compile_ahead(device: torch.device, kernel: Any, *arguments: Any, **options: Any) -> None:
    """Compile what ``kernel[grid](*arguments, **options)`` needs; a dtype stands for a tensor."""
    if device.type != "cuda" or os.environ.get("TRITON_INTERPRET") == "1":
        return

    def work() -> None:
        with torch.cuda.device(device):
            # Asking for the launcher compiles and loads it.
            _ = kernel.warmup(*arguments, grid=(1,), **options).run

    in_background(kernel, work)


def wait(kernel: Any) -> None:
    """Return when what was begun for this kernel is ready, so that it is not compiled twice."""
    begun = _pending.get(id(kernel), [])
    if threading.current_thread() in begun:
        return
    for thread in begun:
        thread.join()
    _pending.pop(id(kernel), None)
