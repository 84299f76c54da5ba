"""Coverage traces what tests run of the library, as long as that brings lines it has not seen.

While a tracer is on, all Python is slower, two times in the library and four times elsewhere. So it
is on only in the functions of tests, in fixtures and in imports of the library itself; neither
pytest nor Hypothesis nor a compiler is traced, nor what imports of others run. Of the cases of one
test, and of the examples that Hypothesis gives one, those after a second that brought nothing new
are not traced, either: they run the same lines with other numbers.
"""

import functools
import inspect
import sys
import time
from collections import Counter
from importlib.machinery import SourceFileLoader

import pytest

#: Seconds in which cases may bring nothing new before those that follow are not traced any more.
PATIENCE = 1.0


def traced_by(tracer, function):
    """The same function, which is traced by `tracer` (None: not) while it runs."""

    @functools.wraps(function)
    def call(*arguments, **options):
        before = sys.gettrace()
        sys.settrace(tracer)
        try:
            return function(*arguments, **options)
        finally:
            sys.settrace(before)
            (lambda: None)()  # from a call on, the tracer of coverage runs as compiled code again

    return call


untraced = functools.partial(traced_by, None)


class Tracing:
    """A plugin of pytest beside pytest-cov, whose tracer it turns on where it is to be on.

    `left_out`: ends of the names of files whose tests are not traced.
    """

    def __init__(self, left_out=()):
        self.tracer, self.left_out = None, tuple(left_out)
        self.in_vain = Counter()  # seconds since a case brought something new, by test

    @pytest.hookimpl(trylast=True)
    def pytest_sessionstart(self):
        """From here on, nothing is traced but what is told below."""
        self.tracer = sys.gettrace()
        if self.tracer is None:  # a Python whose coverage needs none
            return
        sys.settrace(None)
        execute = SourceFileLoader.exec_module
        measured, other = traced_by(self.tracer, execute), untraced(execute)

        def exec_module(loader, module):
            ours = module.__name__.partition(".")[0] == "mercer"
            return measured(loader, module) if ours else other(loader, module)

        SourceFileLoader.exec_module = exec_module

    def pytest_fixture_setup(self, fixturedef):
        if self.tracer is not None and not inspect.isgeneratorfunction(fixturedef.func):
            fixturedef.func = traced_by(self.tracer, fixturedef.func)

    def pytest_runtest_call(self, item):
        if self.tracer is None or item.path.as_posix().endswith(self.left_out):
            return
        name = item.nodeid.partition("[")[0]
        if hasattr(item, "dtest"):
            item.runtest = self.traced(item.runtest, name)
        elif hasattr(item.obj, "hypothesis"):
            inner = item.obj.hypothesis
            inner.inner_test = self.traced(inner.inner_test, name)
        else:
            item.obj = self.traced(item.obj, name)

    def traced(self, function, name):
        """The same function, traced until calls of this name bring nothing new."""
        measured = traced_by(self.tracer, function)

        @functools.wraps(function)
        def call(*arguments, **options):
            if self.in_vain[name] >= PATIENCE:
                return function(*arguments, **options)
            before, began = self.seen(), time.process_time()
            try:
                return measured(*arguments, **options)
            finally:
                taken = time.process_time() - began
                self.in_vain[name] = 0 if self.seen() > before else self.in_vain[name] + taken

        return call

    def seen(self):
        """How many lines and branches there are so far."""
        return sum(map(len, self.tracer.data.values()))
