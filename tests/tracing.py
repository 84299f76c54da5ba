"""What is not of the library is Python, too: to trace it for coverage only takes long."""

import functools
import importlib
import pkgutil
import sys
import threading
from contextlib import contextmanager, suppress

#: What the library imports and is slow to import: with all of it loaded, the rest takes a second.
OTHERS = ("numba", "scipy.stats", "sklearn.svm", "pandas", "torch", "triton", "onnx", "starlette")


@contextmanager
def tracing_off():
    """Nothing is traced in the block, neither here nor in threads that begin in it."""
    tracer, of_threads = sys.gettrace(), threading.gettrace()
    sys.settrace(None)
    threading.settrace(None)
    try:
        yield
    finally:
        threading.settrace(of_threads)
        sys.settrace(tracer)
        (lambda: None)()  # from a call on, the tracer of coverage runs as compiled code again


def untraced(function):
    """The same function, which is not traced while it runs."""

    @functools.wraps(function)
    def call(*arguments, **options):
        with tracing_off():
            return function(*arguments, **options)

    return call


def import_library():
    """Import every module of the library, so that coverage sees what runs when it is imported.

    What it needs of others is imported before, without the tracer.
    """
    import_module = untraced(importlib.import_module)
    for name in OTHERS:
        with suppress(ImportError):
            import_module(name)
    import mercer

    for module in pkgutil.walk_packages(mercer.__path__, "mercer."):
        if not module.name.endswith("__main__"):
            with suppress(ImportError):  # an optional package is not installed
                importlib.import_module(module.name)
