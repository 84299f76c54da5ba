"""No learner, map or operator takes more than its limit: each measured in a process of its own."""

import pytest
from tests.measure_memory import CASES, LIMITS, measured

QUICK = ["svc", "logistic", "kneighbors", "wide-scaled", "reasons"]


def check(case, megabytes, rows):
    found = measured(case, megabytes, rows)
    assert "problem" not in found, found["problem"]


@pytest.mark.linux
@pytest.mark.parametrize("case", QUICK)
def test_a_few_stay_within_their_limit(case):
    check(case, 60, 3000)


@pytest.mark.linux
@pytest.mark.slow
@pytest.mark.parametrize(("megabytes", "rows"), LIMITS)
@pytest.mark.parametrize("case", CASES)
def test_all_stay_within_their_limit(case, megabytes, rows):
    check(case, megabytes, rows)
