"""Every Python block of the README runs, and the demo does what it says."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```python\n(.*?)^```$", README, re.DOTALL | re.MULTILINE)


def test_the_two_commands_come_first() -> None:
    assert README.index("make demo") < README.index("make test") < README.index("```python")


@pytest.mark.parametrize("block", BLOCKS, ids=range(len(BLOCKS)))
def test_block_runs_and_prints_what_it_says(block: str, capsys: pytest.CaptureFixture[str]) -> None:
    """`# prints: …` lines hold what the block must print, in order."""
    exec(compile(block, "README.md", "exec"), {"__name__": "readme"})  # noqa: S102
    printed = capsys.readouterr().out
    position = 0
    for expected in re.findall(r"# prints: (.*)$", block, re.MULTILINE):
        found = printed.find(expected, position)
        assert found >= 0, f"{expected!r} not in {printed[position:]!r}"
        position = found + len(expected)


def test_there_is_an_example() -> None:
    assert BLOCKS
    assert "mercer" in BLOCKS[0]


def test_named_files_exist() -> None:
    for name in re.findall(r"`((?:bench|examples|src|tests|tools|docs)/[\w./]*)`", README):
        assert (ROOT / name).exists(), name


def test_demo_runs(capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(ROOT / "examples" / "demo.py"), run_name="__main__")
    printed = capsys.readouterr().out
    for word in ("mistakes made", "test accuracy", "a kernel?", "Done in"):
        assert word in printed
