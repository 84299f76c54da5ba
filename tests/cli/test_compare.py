"""compare: from a file to a scoreboard, a report and a model."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

import mercer as package

FEW = ["--kernel", "gaussian(2)", "--kernel", "linear()", "--learner", "ridge", "--cv", "3",
       "--holdout", "none"]  # fmt: skip


def test_everything_is_written_and_the_model_predicts(mercer, table: Path, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    out = tmp_path / "found"
    done = mercer("compare", table, "--target", "label", *FEW, "--out", out)
    assert done.exit_code == 0, done.stderr
    for word in ("Gaussian(sigma=2.0)", "baseline", "accuracy", "best:", "✓ a kernel"):
        assert word in done.stdout
    assert "120 × 4 (table)" in done.stderr
    assert f"mercer predict {out / 'model.mercer'}" in done.stderr
    assert {p.name for p in out.iterdir()} == {
        "report.html", "report-errors.csv", "model.mercer", "scoreboard.csv", "scoreboard.json",
    }  # fmt: skip
    with (out / "scoreboard.csv").open() as stream:
        rows = list(csv.DictReader(stream))
    assert rows[0]["kernel"] == "Gaussian(sigma=2.0)"
    assert json.loads((out / "scoreboard.json").read_text())["task"] == "classification"
    assert "<h2>Scoreboard</h2>" in (out / "report.html").read_text(encoding="utf-8")
    said = mercer("predict", out / "model.mercer", table)
    assert said.stdout.count("yes") + said.stdout.count("no") == 120
    assert package.load(out / "model.mercer").schema_.types[2] == "date"


def test_json_is_all_there_is_on_stdout(mercer, table: Path, tmp_path: Path) -> None:
    done = mercer("compare", table, "--target", "label", *FEW, "--json",
                  "--model", tmp_path / "m.mercer")  # fmt: skip
    found = json.loads(done.stdout)
    assert found["best"]["kernel"] == "Gaussian(sigma=2.0)"
    assert found["written"] == {"model": str(tmp_path / "m.mercer")}
    assert len(found["rows"]) == 3


def test_without_data_it_takes_the_digits(mercer, monkeypatch) -> None:
    seen = []

    def compare(found, **options):
        budget = options["budget"] and 0 < options["budget"] < 900  # less the time until now
        seen.append((found.source, budget, options["search"], options["random_state"]))
        raise ValueError("enough")

    monkeypatch.setattr("mercer.selection.compare", compare)
    assert "enough" in mercer("compare", "--budget", "15min", "--search", "--seed", "4").stderr
    assert "enough" in mercer("compare", "moons").stderr
    assert seen == [("digits", True, True, 4), ("moons", None, False, 0)]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--kernel", "gausian(1)"], "Did you mean 'gaussian'?"),
        (["--budget", "soon"], "a budget looks like"),
        (["--learner", "forest"], "there is no learner 'forest'"),
        (["--metric", "goodness"], "goodness"),
        (["--target", "lable"], "Did you mean 'label'"),
        (["--report", "no/such/folder/r.html"], "there is no folder"),
        (["--model", "."], "is a folder"),
    ],
)
def test_bad_options_are_named(mercer, table: Path, options: list[str], words: str) -> None:
    done = mercer("compare", table, "--target", "label", *options)
    assert done.exit_code == 2
    assert words in done.stderr
    assert "Traceback" not in done.stderr


def test_a_file_is_no_folder(mercer, table: Path) -> None:
    done = mercer("compare", table, "--target", "label", "--out", table)
    assert "--out takes a folder" in done.stderr


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "is empty"),
        ("a,label\n1,x\n2,x\n", "single value"),
        ("a,label\n1,x\n1,y\n", "constant"),
        ("a,a,label\n1,2,x\n", "same name"),
        ("a b label\n1 2 x\n", "is the separator"),
        ("a,label\n1,x,3\n2,y,4\n", "more than the 2 fields"),
    ],
)
def test_bad_tables_are_named(mercer, tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "t.csv").write_text(text)
    done = mercer("compare", tmp_path / "t.csv", "--target", "label")
    assert done.exit_code == 2
    assert words in done.stderr


def test_a_kernel_that_does_not_suit_the_data_is_an_error(mercer, table: Path) -> None:
    """Learners that bring a kernel of their own do not make up for it."""
    options = ["--learner", "ridge", "--learner", "smoother", "--cv", "3"]
    done = mercer("compare", table, "--target", "label", "--kernel", "spectrum(3)", *options)
    assert done.exit_code == 2
    assert "no learner could be fitted with Spectrum(p=3)" in done.stderr
    assert "Name another kernel, or none for those that suit the data" in done.stderr


def test_columns_are_left_out_and_tell_which_rows_belong_together(mercer, table, tmp_path) -> None:
    done = mercer("compare", table, "--target", "label", *FEW, "--exclude", "age,since", "--groups",
                  "town", "--model", tmp_path / "m.mercer")  # fmt: skip
    assert done.exit_code == 0, done.stderr
    import mercer as library

    columns = library.load(tmp_path / "m.mercer").schema_.columns
    assert "member" in columns
    assert not {"age", "since", "town"} & set(columns)
    done = mercer("compare", table, "--exclude", "agee", "--target", "label")
    assert "no column 'agee'" in done.stderr
