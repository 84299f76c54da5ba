"""Compilers and interpreters are Python, too: to trace them for coverage only takes long."""

import functools
import sys


def untraced(function):
    """The same function, which is not traced while it runs."""

    @functools.wraps(function)
    def call(*arguments, **options):
        tracer = sys.gettrace()
        sys.settrace(None)
        try:
            return function(*arguments, **options)
        finally:
            sys.settrace(tracer)
            (lambda: None)()  # from a call on, the tracer of coverage runs as compiled code again

    return call
