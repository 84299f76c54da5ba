"""Threads: a few Python threads, each with a single-threaded BLAS under it.

NumPy's and SciPy's BLAS are two pools with their own threads; left alone they fight with ours.
Both are held at one thread while ours run, counted, so that concurrent callers do not undo
each other.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_lock = threading.Lock()
_holders = 0
_limiter: Any = None
_controller: Any = None


@contextmanager
def single_threaded_blas() -> Iterator[None]:
    """Within this block every BLAS call uses the thread it is called from."""
    global _holders, _limiter, _controller
    with _lock:
        if _holders == 0:
            from threadpoolctl import ThreadpoolController

            if _controller is None or not _controller.lib_controllers:
                _controller = ThreadpoolController()
            _limiter = _controller.limit(limits=1, user_api="blas")
        _holders += 1
    try:
        yield
    finally:
        with _lock:
            _holders -= 1
            if _holders == 0:
                _limiter.restore_original_limits()
                _limiter = None
