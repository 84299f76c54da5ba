"""The tracer of coverage is on where the library runs, as long as that brings something new."""

import sys

from tests.tracing import PATIENCE, Tracing, traced_by, untraced


class Tracer:
    """Keeps the names of the functions that are called, as that of coverage keeps lines."""

    def __init__(self):
        self.data = {"names": set()}

    def __call__(self, frame, event, argument):
        self.data["names"].add(frame.f_code.co_name)


def helper(seen):
    seen.append(sys.gettrace())


def test_a_tracer_is_on_or_off_within_one_call():
    mine, before, seen = Tracer(), sys.gettrace(), []
    traced_by(mine, helper)(seen)
    untraced(helper)(seen)
    traced_by(mine, untraced(helper))(seen)
    assert seen == [mine, None, None]
    assert sys.gettrace() is before
    assert "helper" in mine.data["names"]


def test_a_tracer_is_put_back_after_an_error():
    before = sys.gettrace()
    for call in (traced_by(Tracer(), int), untraced(int)):
        try:
            call("no number")
        except ValueError:
            assert sys.gettrace() is before
        else:
            raise AssertionError("no error")


def test_cases_are_traced_until_a_second_brings_nothing_new(monkeypatch):
    def case(number, seen):
        seen.append(sys.gettrace() is plugin.tracer)
        clock[0] += 0.3 * PATIENCE
        if number == 5:
            helper([])

    plugin, seen, clock = Tracing(), [], [0.0]
    monkeypatch.setattr("tests.tracing.time.process_time", lambda: clock[0])
    plugin.tracer = Tracer()
    for number in range(10, 20):
        plugin.traced(case, "one")(number, seen)
    assert seen == [True] * (1 + 4) + [False] * 5
    del seen[:]
    for number in range(3, 13):
        plugin.traced(case, "another, which finds more in time")(number, seen)
    assert seen == [True] * (3 + 4) + [False] * 3
    assert sys.gettrace() is not plugin.tracer
