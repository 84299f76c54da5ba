"""The public workflows: pinned, limited in time, and the same commands as `make ci`."""

import re
from pathlib import Path

import pytest

yaml = pytest.importorskip("yaml")

ROOT = Path(__file__).parents[1]
FILES = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
JOBS = [
    pytest.param(job, id=f"{file.stem}-{name}")
    for file in FILES
    for name, job in yaml.safe_load(file.read_text(encoding="utf-8"))["jobs"].items()
]


@pytest.mark.parametrize("job", JOBS)
def test_a_job_ends_and_leaves_no_credentials(job):
    assert job["timeout-minutes"] <= 240
    for step in job["steps"]:
        uses = step.get("uses", "")
        assert not uses or re.fullmatch(r"[\w/-]+@[0-9a-f]{40}", uses)
        if uses.startswith("actions/checkout"):
            assert step["with"]["persist-credentials"] is False


def test_every_workflow_may_only_read_unless_a_job_says_otherwise():
    for file in FILES:
        assert yaml.safe_load(file.read_text(encoding="utf-8"))["permissions"] == {
            "contents": "read"
        }


def test_the_local_stand_in_runs_what_the_workflows_run():
    called = {
        name
        for file in FILES
        for name in re.findall(r"- run: make ([\w-]+)", file.read_text(encoding="utf-8"))
    }
    listed = re.search(r"\{\*:-(.*)\}", (ROOT / "tools" / "ci.sh").read_text(encoding="utf-8"))
    # `make test` is lint and the tests that test-pythons runs; the slow ones are left to the night.
    assert set(listed[1].split()) - {"lint", "test-pythons"} == called - {"test", "test-slow"}
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert all(re.search(rf"^{name}:", makefile, re.MULTILINE) for name in listed[1].split())
