"""A plugin of pytest: a peer's tests, run on our classes.

The peer's public names are replaced (`adaptors.REPLACED`) before its test module is imported. A
test that `exceptions` lists must fail; every other one must pass. The ends are counted in a file.
"""

import json
import os
import re
from collections import Counter
from importlib import import_module
from pathlib import Path

import pytest
from adaptors import REPLACED, USED
from exceptions import EXCEPTIONS

SUITE = os.environ["PEER_SUITE"]
COUNTS: Counter[str] = Counter()


def pytest_configure():
    for path, ours in REPLACED.get(SUITE, {}).items():
        module, _, name = path.rpartition(".")
        target = import_module(module)
        if isinstance(ours, dict):
            getattr(target, name).update(ours)
        else:
            setattr(target, name, ours)


def pytest_collection_modifyitems(items):
    for pattern, reason in EXCEPTIONS.get(SUITE, {}).items():
        rule = re.compile(re.escape(pattern).replace(r"\*", ".*") + r"(\[.*)?")
        found = [item for item in items if rule.fullmatch(item.name)]
        for item in found:
            item.add_marker(pytest.mark.xfail(strict=True, reason=reason))
        if not found:
            raise pytest.UsageError(f"exceptions list {pattern!r}, which no test is called")


def pytest_runtest_setup():
    USED.clear()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport():
    report = yield
    report.user_properties.append(("used", sorted(USED)))
    return report


def pytest_runtest_logreport(report):
    if report.failed:
        COUNTS["unexpected"] += 1
    elif report.skipped:
        COUNTS["argued" if hasattr(report, "wasxfail") else "skipped"] += 1
    elif report.when == "call":
        used = dict(report.user_properties)["used"]
        COUNTS["passed" if used else "of others"] += 1


def pytest_sessionfinish(session):
    if not hasattr(session.config, "workerinput"):  # a worker of pytest-xdist has no say
        Path(os.environ["PEER_COUNTS"]).write_text(json.dumps(COUNTS), encoding="utf-8")
