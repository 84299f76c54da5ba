"""What need not be traced for coverage is not: this file is named in UNTRACED (conftest.py)."""

import sys
import threading

import pytest
from tests.tracing import tracing_off, untraced


def test_a_test_of_an_untraced_file_is_not_traced(pytestconfig):
    if not pytestconfig.getoption("cov_source", None):
        pytest.skip("coverage is not measured")
    assert sys.gettrace() is None
    assert threading.gettrace() is None


def test_the_tracer_is_off_within_and_on_again_after_an_error():
    def tracer(frame, event, argument):
        return None

    before, seen = sys.gettrace(), []
    sys.settrace(tracer)
    try:
        untraced(lambda: seen.append(sys.gettrace()))()
        with pytest.raises(ValueError, match="within"), tracing_off():
            raise ValueError("within")
        seen.append(sys.gettrace())
    finally:
        sys.settrace(before)
    assert seen == [None, tracer]
