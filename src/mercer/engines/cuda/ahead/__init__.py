"""Kernels compiled in the background, while other work goes on: a first call waits for the slowest.

Triton compiles a kernel where it is first launched, for half a second to two: its passes, the
assembler, and a C compiler for the launcher, most of which runs outside of Python. A solver that
knows what it will launch says so here before it begins, and each launch calls `wait` before it.
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
import threading
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import torch

from mercer.engines.cuda.ahead.key import remember_key

#: By the kernel's id; None stands for what every kernel waits for, see `prepare_triton`.
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


@lru_cache(maxsize=1)
def prepare_triton() -> None:
    """Begin what Triton does before it first looks into its cache, once per process.

    It hashes its own files (see `key`) and asks the assembler for its version: half a
    second, which passes while rows are checked and kernels are written. Each launch waits for it.
    """
    if torch.cuda.is_available() and importlib.util.find_spec("triton") is not None:
        in_background(None, remember_key)
        in_background(None, _ask_assembler)


def _ask_assembler() -> None:
    from triton.compiler.compiler import make_backend
    from triton.runtime import driver

    make_backend(driver.active.get_current_target()).hash()


def compile_ahead(device: torch.device, kernel: Any, *arguments: Any, **options: Any) -> None:
    """Compile what ``kernel[grid](*arguments, **options)`` needs; a dtype stands for a tensor."""
    if device.type != "cuda" or os.environ.get("TRITON_INTERPRET") == "1":
        return

    def work() -> None:
        wait(None)  # several threads would each hash Triton's files
        with torch.cuda.device(device):
            # Asking for the launcher compiles and loads it.
            _ = kernel.warmup(*arguments, grid=(1,), **options).run

    in_background(kernel, work)


def wait(kernel: Any) -> None:
    """Until what was begun for this kernel is ready, so that it is not compiled twice."""
    begun = _pending.get(id(kernel), [])
    if threading.current_thread() in begun:
        return
    for thread in begun:
        thread.join()
    _pending.pop(id(kernel), None)
