"""Names from files reach no terminal as instructions, and no spreadsheet as formulas."""

from __future__ import annotations

import csv
import io
import json
import warnings
from pathlib import Path

import numpy as np
import pytest

from mercer.cli import predict
from mercer.cli.app import _run
from mercer.cli.safe import cell, safe

EVIL = "\x1b[31mred\x07\u202e\u2066\x9b2J\x7f"
OBEYED = {chr(c) for c in (*range(32), *range(127, 160)) if chr(c) not in "\n\t"} | set(
    "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u2028\u2029"
)


def check(*texts: str) -> str:
    """No character that a terminal obeys, in any of what was printed."""
    for text in texts:
        assert not OBEYED & set(text), ascii(text)
    return "".join(texts)


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table whose name, columns, categories and classes hold what a terminal obeys."""
    path = tmp_path_factory.mktemp("safe") / f"t{EVIL}\r.csv"
    rng = np.random.default_rng(0)
    with path.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow([f"n{EVIL}", f"c{EVIL}", f"label{EVIL}", "=cmd"])
        for i in range(40):
            class_name = f"yes{EVIL}" if i % 2 else "=1+1"
            town = f"town{EVIL}" if rng.random() < 0.5 else "Ulm"
            writer.writerow([f"{rng.normal() + i % 2:.3f}", town, class_name, "@SUM(A1)"])
    return path


@pytest.fixture(scope="module")
def hostile_model(hostile: Path) -> Path:
    from tests.cli.conftest import mercer

    path = hostile.with_suffix(".mercer")
    options = ["--target", f"label{EVIL}", "--kernel", "gaussian(2)", "--learner", "logistic"]
    done = mercer("fit", hostile, *options, "--model", path)
    assert done.exit_code == 0, done.stderr
    assert "red" in check(done.stdout, done.stderr)
    return path


def test_data_explain_and_compare_show_names_that_do_nothing(mercer, hostile, hostile_model):
    target = f"label{EVIL}"
    for command in (
        ["data", hostile, "--target", target],
        ["explain", hostile_model],
        ["compare", hostile, "--target", target, "--cv", 2, "--learner", "centroid", "--kernel",
         "linear()", "--out", hostile.with_suffix("")],
    ):  # fmt: skip
        done = mercer(*command)
        assert done.exit_code == 0, done.stderr
        assert "␛[31mred␇" in check(done.stdout, done.stderr), command


def test_json_is_safe_and_keeps_every_name(mercer, hostile, hostile_model):
    known = mercer("data", hostile, "--target", f"label{EVIL}", "--json")
    assert f"yes{EVIL}" in json.loads(check(known.stdout))["classes"]
    known = mercer("explain", hostile_model, "--json")
    assert f"yes{EVIL}" in json.loads(check(known.stdout))["classes"]


@pytest.mark.parametrize(
    "command",
    [
        ["data", f"./absent{EVIL}\r.csv"],
        ["fit", "TABLE", "--target", f"absent{EVIL}", "--kernel", "linear()", "--model", "m"],
        ["predict", f"absent{EVIL}.mercer"],
        ["explain", f"absent{EVIL}.mercer"],
        ["compare", "TABLE", "--columns", f"absent{EVIL}"],
        ["prove", f"linear() + '{EVIL}'"],
        ["prove", "linear()", f"--{EVIL}"],
        [EVIL],
        ["compare", "TABLE", "--target", "=cmd", "--out", "TABLE"],
    ],
)
def test_errors_show_what_was_typed_without_obeying_it(mercer, hostile, command):
    done = mercer(*(hostile if word == "TABLE" else word for word in command))
    assert done.exit_code == 2, done.stderr
    check(done.stdout, done.stderr)


def test_warnings_and_faults_are_safe(capsys, mercer):
    def warn():
        from mercer.cli.app import _one_line

        with warnings.catch_warnings():
            warnings.showwarning = _one_line
            warnings.warn(EVIL, stacklevel=1)
        raise RuntimeError(EVIL)

    assert _run(warn, debug=True) == 70
    assert "warning: ␛[31m" in check(capsys.readouterr().err)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_predictions_are_exact_in_a_file_and_safe_in_a_terminal(mercer, hostile, hostile_model):
    out = hostile.with_name("answers.csv")
    done = mercer("predict", hostile_model, hostile, "--keep", "=cmd", "--out", out)
    assert done.exit_code == 0, done.stderr
    with out.open(encoding="utf-8", newline="") as stream:
        header, *rows = csv.reader(stream)
    assert header == ["'=cmd", "prediction"]
    assert {a for a, _ in rows} == {"'@SUM(A1)"}
    assert {b for _, b in rows} == {f"yes{EVIL}", "'=1+1"}
    shown = Terminal()
    predict.write(shown, ["prediction"], [[[EVIL]]])
    assert "␛[31m" in check(shown.getvalue())


def test_numbers_are_written_as_they_are():
    numbers = ["-1", "+1", "-1.5e-3", "-inf", "-nan", 3, -2.5, np.float64(-1).item(), "-", "+", "="]
    assert [cell(v) for v in numbers] == [str(v) for v in numbers]
    for formula in ("=1", "+a", "-1-1", "@x", "\tx", "\r=1", "-2+3+cmd|' /C calc'!A0"):
        assert cell(formula) == f"'{formula}"


def test_text_in_any_script_is_left_alone():
    for text in ("größe", "数据", "עברית", "नमस्ते\u200d", "👩\u200d🔬", "a\tb\nc"):
        assert safe(text) == text
    assert safe("\udc80") == "\ufffd"
