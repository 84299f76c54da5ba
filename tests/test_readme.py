"""Every Python block of the README runs, and the demo does what it says."""

from __future__ import annotations

import re
import runpy
import shlex
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


COMMANDS = re.findall(r"^\$ (mercer .*)$", README, re.MULTILINE)


def test_the_commands_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every line of the console block, in a folder with a small table under the names it uses."""
    pytest.importorskip("click")
    pytest.importorskip("pandas")
    from click.testing import CliRunner

    from mercer.cli.app import app

    monkeypatch.chdir(tmp_path)
    rows = [f"{i % 7},{'ab'[i % 2]},{'yes' if i % 7 > 3 else 'no'}" for i in range(60)]
    Path("data.csv").write_text("size,kind,label\n" + "\n".join(rows))
    Path("rows.csv").write_text("kind,size\na,1\nb,6\n")
    assert len(COMMANDS) == 4
    for line in COMMANDS:
        words = shlex.split(line.replace("60s", "5s"))[1:]
        source = target = None
        if "<" in words:
            source = Path(words[words.index("<") + 1]).read_text()
            target = words[words.index(">") + 1]
            words = words[: words.index("<")]
        done = CliRunner().invoke(app, words, input=source)
        assert done.exit_code == int(words[0] == "prove"), f"{line}: {done.stderr}"
        if target:
            Path(target).write_text(done.stdout)
    assert Path("answers.csv").read_text() == "prediction\nno\nyes\n"
    assert Path("found/report.html").exists()


def test_demo_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("click")
    pytest.importorskip("pandas")
    monkeypatch.setattr("sys.argv", ["demo.py", "--budget", "6s", "--out", str(tmp_path)])
    runpy.run_path(str(ROOT / "examples" / "demo.py"), run_name="__main__")
    printed = capsys.readouterr().out
    for word in (
        "$ mercer compare",
        "baseline",
        "truth",
        "✓ a kernel",
        "✗ not a kernel",
        "Done in",
    ):
        assert word in printed
    assert {"report.html", "model.mercer", "answers.csv"} <= {p.name for p in tmp_path.iterdir()}
