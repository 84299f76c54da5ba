"""The frame around the commands: help, typing errors, exit codes, pipes, Ctrl-C."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import mercer as package
from mercer.cli import app as frame
from mercer.cli.app import COMMANDS, app

SRC = Path(package.__file__).parents[1]
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(SRC), "PYTHONUNBUFFERED": "1"}
PYTHON = [sys.executable, "-m", "mercer"]


def test_help_names_every_command_and_loads_none(mercer) -> None:
    shown = mercer("--help").stdout
    assert all(name in shown for name in COMMANDS)
    assert mercer().stdout == shown
    code = (
        "import sys; from mercer.cli import main\ntry: main(['--help'])\nexcept SystemExit: pass\n"
    )
    code += (
        "print([m for m in ('pandas', 'sklearn', 'scipy', 'rich', 'numba') if m in sys.modules])"
    )
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=ENVIRONMENT, check=True
    )
    assert run.stdout.splitlines()[-1] == "[]"


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help_that_fits_in_80_columns(mercer, name: str) -> None:
    done = mercer(name, "--help")
    assert done.exit_code == 0
    assert done.stdout.startswith("Usage: mercer " + name)
    assert max(map(len, done.stdout.splitlines())) <= 80


def test_a_typing_error_suggests_the_nearest(mercer) -> None:
    done = mercer("comprae")
    assert done.exit_code == 2
    assert "Did you mean 'compare'?" in done.stderr
    assert "There are: compare" in mercer("zzz").stderr
    assert "--target" in mercer("compare", "--taget", "x").stderr


def test_the_version(mercer) -> None:
    assert package.__version__ in mercer("--version").stdout


@pytest.mark.parametrize(
    ("error", "code", "words"),
    [
        (ValueError("a wrong value"), 2, "a wrong value"),
        (FileNotFoundError(2, "No such file", "x.csv"), 2, "x.csv: No such file"),
        (OSError(28, "No space left on device"), 2, "No space left on device"),
        (MemoryError(), 2, "MemoryError"),
        (KeyError("name"), 2, "'name' is not there"),
        (ImportError("needs pyarrow"), 2, "needs pyarrow"),
        (ModuleNotFoundError("no", name="pandas"), 2, "pip install pandas"),
        (ModuleNotFoundError("no", name="onnx"), 2, "pip install onnx"),
        (ZeroDivisionError("deep inside"), 70, "fault of mercer"),
        (KeyboardInterrupt(), 130, "interrupted"),
        (BrokenPipeError(), 141, ""),
    ],
)
def test_errors_become_exit_codes(capsys, error: BaseException, code: int, words: str) -> None:
    def fails() -> None:
        raise error

    assert frame._run(fails, debug=False) == code
    shown = capsys.readouterr().err
    assert words in shown
    assert "Traceback" not in shown


@pytest.mark.parametrize("error", [ValueError("a wrong value"), ZeroDivisionError("deep")])
def test_debug_shows_the_place(capsys, error: BaseException) -> None:
    def fails() -> None:
        raise error

    frame._run(fails, debug=True)
    assert "Traceback" in capsys.readouterr().err


def test_the_debug_flag_reaches_the_error(mercer) -> None:
    plain, shown = mercer("prove", "gausian()"), mercer("--debug", "prove", "gausian()")
    assert plain.exit_code == shown.exit_code == 2
    assert "Traceback" not in plain.stderr
    assert "Traceback" in shown.stderr
    assert "Did you mean 'gaussian'?" in plain.stderr


def test_warnings_are_one_line_on_stderr(capsys) -> None:
    frame._one_line("not a\n  kernel", UserWarning, "file.py", 3)
    frame._one_line("old", DeprecationWarning, "file.py", 3)
    assert capsys.readouterr().err == "warning: not a kernel\n"


def test_it_runs_as_a_module_and_says_no_with_its_exit_code() -> None:
    run = subprocess.run(
        [*PYTHON, "prove", "gaussian(1) - 2*linear()"],
        capture_output=True, text=True, env=ENVIRONMENT, check=False,
    )  # fmt: skip
    assert run.returncode == 1
    assert "not a kernel" in run.stdout
    assert "\x1b" not in run.stdout


@pytest.mark.posix
def test_who_reads_may_go_away(tmp_path: Path, model: Path) -> None:
    """`mercer predict … | head -1` ends in quiet, however much there is left to write."""
    rows = tmp_path / "rows.csv"
    rows.write_text("age,town,since,member\n" + "41,Rome,2020-01-02,True\n" * 30_000)
    command = f"{' '.join(PYTHON)} predict {model} {rows} --block 500 | head -1"
    run = subprocess.run(
        ["bash", "-c", f"set -o pipefail; {command}"],
        capture_output=True, text=True, env=ENVIRONMENT, check=False,
    )  # fmt: skip
    assert run.stdout == "prediction\n"
    assert run.stderr == ""
    assert run.returncode == 141


@pytest.mark.posix
def test_files_are_written_though_nobody_reads_the_board(tmp_path: Path) -> None:
    """`mercer compare --out found … | head` has a model in the end."""
    out, few = tmp_path / "found", "--kernel 'linear()' --learner ridge --cv 2 --holdout none"
    command = f"{' '.join(PYTHON)} compare moons {few} --out {out} | head -c 0"
    subprocess.run(["bash", "-c", command], capture_output=True, env=ENVIRONMENT, check=False)
    assert {"model.mercer", "report.html"} <= {p.name for p in out.iterdir()}


ALL = "<&- >&- 2>&-"
UNWRITABLE = "2< file"  # a stream that can only be read from
CLOSED = [
    (0, "2>&-", "prove gaussian(1)"),
    (1, ">&-", "prove gaussian(1)-2*linear()"),
    (0, UNWRITABLE, "compare xor --kernel linear() --learner ridge --cv 2"),
    (2, UNWRITABLE, "prove gausian(1)"),
    (2, ALL, "comprae"),
    (0, ALL, "data xor --out xor.csv"),
    (0, ALL, "explain gaussian(1) --json"),
    (0, ALL, "fit moons --kernel gaussian(1) --model m --cv 2"),
    (0, ALL, "predict MODEL"),  # from no stdin: no rows
]


@pytest.mark.posix
@pytest.mark.parametrize(("code", "closed", "words"), CLOSED)
def test_closed_streams_change_no_exit_code(
    code: int, closed: str, words: str, tmp_path: Path, model: Path
) -> None:
    """`mercer … >&-`: no stream, no text, and the answer in the exit code all the same."""
    (tmp_path / "file").touch()
    arguments = words.replace("MODEL", str(model)).split()
    run = subprocess.run(
        ["bash", "-c", f'"$@" {closed}', "bash", *PYTHON, *arguments],
        capture_output=True, text=True, env=ENVIRONMENT, check=False, cwd=tmp_path,
    )  # fmt: skip
    assert run.returncode == code, run.stderr
    assert "Traceback" not in run.stderr


@pytest.mark.posix
def test_ctrl_c_ends_with_130(model: Path) -> None:
    process = subprocess.Popen(
        [*PYTHON, "predict", str(model)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, env=ENVIRONMENT, text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )  # fmt: skip
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write("age,town,since,member\n" + "41,Rome,2020-01-02,True\n" * 20_000)
    process.stdin.flush()
    assert process.stdout.readline() == "prediction\n"
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert errors.strip() == "interrupted"


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts_ask_the_program(mercer, shell: str) -> None:
    assert f"_MERCER_COMPLETE={shell}_complete" in mercer("completion", shell).stdout


def test_completion_completes() -> None:
    asked = {"_MERCER_COMPLETE": "bash_complete", "COMP_WORDS": "mercer pr", "COMP_CWORD": "1"}
    run = subprocess.run(
        PYTHON, capture_output=True, text=True, env={**ENVIRONMENT, **asked}, check=False
    )
    assert set(run.stdout.split()) == {"plain,predict", "plain,prove"}


def test_without_click_it_says_what_to_install(monkeypatch, capsys) -> None:
    from mercer import cli

    monkeypatch.setitem(sys.modules, "click", None)
    monkeypatch.delitem(sys.modules, "mercer.cli.app")
    with pytest.raises(SystemExit) as end:
        cli.main(["--help"])
    assert end.value.code == 2
    assert "pip install" in capsys.readouterr().err


def test_unknown_names_are_no_commands() -> None:
    import click

    assert app.get_command(click.Context(app), "nothing") is None
