"""fit and predict: one file in between, and rows in every form they come in."""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
import re
from pathlib import Path

import numpy as np
import pytest

import mercer as package
from mercer import data

ROWS = "age,town,since,member\n60,Rome,2020-01-02,True\n60,Oslo,2020-01-02,False\n"


def answers(done) -> list[str]:
    assert done.exit_code == 0, done.stderr
    return [row["prediction"] for row in csv.DictReader(io.StringIO(done.stdout))]


def test_the_model_learned_the_rule(mercer, model: Path) -> None:
    assert answers(mercer("predict", model, stdin=ROWS)) == ["yes", "no"]


def test_columns_in_another_order_and_more_of_them(mercer, model: Path) -> None:
    text = "town,extra,member,since,age\nRome,1,True,2020-01-02,60\nOslo,2,False,2020-01-02,60\n"
    assert answers(mercer("predict", model, stdin=text)) == ["yes", "no"]


def test_a_missing_column_is_named_with_the_nearest(mercer, model: Path) -> None:
    done = mercer("predict", model, stdin=ROWS.replace("town", "twon"))
    assert done.exit_code == 2
    assert "'town' (did you mean 'twon'?)" in done.stderr
    done = mercer("predict", model, stdin="60,1,2,3\n")
    assert "the first line must name the columns" in done.stderr


def test_unseen_categories_and_gaps_are_predicted_for(mercer, model: Path) -> None:
    text = "age,town,since,member\n,Timbuktu,,\n30,,2020-01-02,True\n"
    assert set(answers(mercer("predict", model, stdin=text))) <= {"yes", "no"}


def test_a_value_of_the_wrong_type_is_named_with_its_row(mercer, model: Path) -> None:
    bad = ROWS + "old,Rome,2020-01-02,True\n"
    done = mercer("predict", model, "--block", "2", stdin=bad)
    assert done.exit_code == 2
    assert "row 3: column 'age' holds 'old', which is not a number" in done.stderr
    for value, words in (("2020-13-45", "not a date"), ("perhaps", "not True or False")):
        part = ROWS.replace("2020-01-02,True" if "-" in value else "True", value + ",True"
                            if "-" in value else value, 1)  # fmt: skip
        assert words in mercer("predict", model, stdin=part).stderr


def test_without_probabilities_it_is_said_how_to_have_them(mercer, tmp_path: Path) -> None:
    path = tmp_path / "m.mercer"
    mercer("fit", "moons", "--kernel", "linear()", "--learner", "ridge", "--model", path)
    said = mercer("predict", path, "--proba").stderr
    assert "--probabilities" in said


def test_probabilities_and_kept_columns(mercer, model: Path, tmp_path: Path) -> None:
    text = ROWS.replace("age,", "id,age,").replace("60,Rome", "a,60,Rome").replace(
        "60,Oslo", '"b,b",60,Oslo')  # fmt: skip
    done = mercer("predict", model, "--proba", "--keep", "id", stdin=text)
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    assert [row["id"] for row in rows] == ["a", "b,b"]
    assert float(rows[0]["p(yes)"]) > 0.5 > float(rows[1]["p(yes)"])
    assert float(rows[0]["p(yes)"]) + float(rows[0]["p(no)"]) == pytest.approx(1, abs=1e-5)
    missing = mercer("predict", model, "--keep", "name", stdin=text)
    assert "no column 'name' to keep" in missing.stderr


def test_files_of_rows(mercer, model: Path, tmp_path: Path) -> None:
    expected = ["yes", "no"]
    with gzip.open(tmp_path / "r.csv.gz", "wt") as stream:
        stream.write(ROWS)
    assert answers(mercer("predict", model, tmp_path / "r.csv.gz")) == expected
    (tmp_path / "rows.dat").write_text(ROWS)
    assert answers(mercer("predict", model, tmp_path / "rows.dat")) == expected
    done = mercer("predict", model, tmp_path / "rows.dat", "--out", tmp_path / "a.csv")
    assert "2 rows" in done.stderr
    assert (tmp_path / "a.csv").read_text() == "prediction\nyes\nno\n"
    pytest.importorskip("pyarrow")
    import pandas as pd

    frame = pd.read_csv(io.StringIO(ROWS)).assign(id=["a", "b"])
    frame["since"] = pd.to_datetime(frame["since"])
    frame.to_parquet(tmp_path / "r.parquet")
    done = mercer("predict", model, tmp_path / "r.parquet", "--keep", "id", "--block", "1")
    assert answers(done) == expected
    assert done.stdout.splitlines()[1] == "a,yes"
    assert "to keep" in mercer("predict", model, tmp_path / "r.parquet", "--keep", "z").stderr


def test_bad_files_of_rows(mercer, model: Path, tmp_path: Path) -> None:
    assert "there is no file" in mercer("predict", model, tmp_path / "no.csv").stderr
    assert "folder" in mercer("predict", model, tmp_path, "--format", "csv").stderr
    assert "there is no file" in mercer("predict", tmp_path / "no.mercer", stdin=ROWS).stderr
    latin = ROWS.replace("Rome", "Orléans").encode("latin1")
    assert "UTF-8" in mercer("predict", model, stdin=latin).stderr
    ragged = mercer("predict", model, stdin=ROWS + "1,2,3,4,5,6,7\n")
    assert ragged.exit_code == 2
    assert "line 4" in ragged.stderr
    assert mercer("predict", model, stdin="").stdout == "prediction\n"


def test_every_block_is_predicted_like_the_whole(mercer, model: Path, table: Path) -> None:
    whole = answers(mercer("predict", model, table))
    assert answers(mercer("predict", model, table, "--block", "7")) == whole
    assert len(whole) == 120
    fitted = package.load(model)
    import pandas as pd

    raw = fitted.predict(pd.read_csv(table))  # the pipeline alone, on the raw table
    assert raw.tolist() == whole


def test_vectors_with_and_without_a_header(mercer, tmp_path: Path) -> None:
    X, y = data.moons(60)
    path = tmp_path / "m.mercer"
    np.savez(tmp_path / "moons.npz", X=X, y=y)
    done = mercer("fit", tmp_path / "moons.npz", "--kernel", "gaussian(0.5)", "--model", path)
    assert done.exit_code == 0, done.stderr
    lines = "\n".join(",".join(map(repr, row)) for row in X.tolist())
    expected = [str(v) for v in package.load(path).predict(X)]
    assert answers(mercer("predict", path, stdin=lines)) == expected
    assert answers(mercer("predict", path, stdin="a;b\n" + lines.replace(",", ";"))) == expected
    labeled = "\n".join(f"{line},{v}" for line, v in zip(lines.split(), y, strict=True))
    assert answers(mercer("predict", path, stdin=f"a,b,y\n{labeled}")) == expected
    assert answers(mercer("predict", path, tmp_path / "moons.npz", "--block", "9")) == expected
    sparse = "\n".join(f"0 1:{a!r} 2:{b!r}" for a, b in X.tolist())
    assert answers(mercer("predict", path, "--format", "libsvm", stdin=sparse)) == expected
    assert "rows of 2 numbers" in mercer("predict", path, stdin="1,2,3\n").stderr
    np.savez(tmp_path / "wide.npz", X=np.ones((2, 3)))
    assert "rows of 2 numbers" in mercer("predict", path, tmp_path / "wide.npz").stderr
    keep = mercer("predict", path, tmp_path / "moons.npz", "--keep", "x")
    assert "no named columns" in keep.stderr
    proba = mercer("predict", path, "--proba", stdin=lines)
    assert proba.exit_code == 2
    assert "KernelSVC gives no probabilities" in proba.stderr


def sequences(n: int = 80) -> tuple[list[str], list[str]]:
    rng = np.random.default_rng(0)
    X = ["".join(rng.choice(list("ab"), 12, p=[p, 1 - p])) for p in rng.uniform(0.1, 0.9, n)]
    return X, ["many" if x.count("a") > 6 else "few" for x in X]


def test_strings_one_a_line_as_a_table_and_as_fasta(mercer, tmp_path: Path) -> None:
    X, y = sequences()
    path, model = tmp_path / "s.tsv", tmp_path / "s.mercer"
    path.write_text("label\tword\n" + "\n".join(f"{b}\t{a}" for a, b in zip(X, y, strict=True)))
    options = ["--target", "label", "--kernel", "spectrum(1)", "--learner", "ridge"]
    done = mercer("fit", path, *options, "--model", model)
    assert done.exit_code == 0, done.stderr
    expected = ["many", "few"]
    assert answers(mercer("predict", model, stdin="aaaaaaaaabab\nbbbbbabbbbab\n")) == expected
    assert answers(mercer("predict", model, stdin="n,word\n1,aaaaaaaaabab\n2,bbbbbabbbbab\n")) == (
        expected
    )
    fasta = ">one\naaaaaa\naaabab\n>two\nbbbbbabbbbab\n"
    assert answers(mercer("predict", model, stdin=fasta)) == expected
    assert mercer("predict", model, "--format", "fasta", stdin="aa\n").exit_code == 2
    assert "can be kept" in mercer("predict", model, "--keep", "x", stdin="ab\n").stderr
    kept = mercer("predict", model, "--keep", "n", stdin="n,word\n7,aaaaaaaaabab\n")
    assert kept.stdout == "n,prediction\n7,many\n"


def test_mail_as_mbox_and_one_a_line(mercer, tmp_path: Path) -> None:
    letter = "From a@b Thu Jan  1 00:00:00 1970\nSubject: {0}\nX-Kind: {1}\n\n{0} {0} now\n\n"
    words = [("win money", "spam"), ("see you", "ham")] * 8
    path, model = tmp_path / "m.mbox", tmp_path / "m.mercer"
    path.write_text("".join(letter.format(*w) for w in words))
    options = ["--target", "X-Kind", "--kernel", "linear()", "--learner", "ridge"]
    done = mercer("fit", path, *options, "--model", model)
    assert done.exit_code == 0, done.stderr
    assert answers(mercer("predict", model, path)) == [w[1] for w in words]
    assert answers(mercer("predict", model, stdin=path.read_bytes())) == [w[1] for w in words]
    line = r"Subject: win money\n\nwin money win money now" + "\n"
    assert answers(mercer("predict", model, stdin=line)) == ["spam"]


def test_fit_scores_and_speaks_json(mercer, table: Path, tmp_path: Path) -> None:
    path = tmp_path / "m.mercer"
    options = ["fit", table, "--target", "label", "--kernel", "gaussian(2)", "--model", path]
    done = mercer(*options, "--cv", "3")
    assert re.search(r"accuracy on 3 held-out folds: 0\.\d+", done.stdout)
    assert "wrote" in done.stderr
    found = json.loads(mercer(*options, "--cv", "3", "--json", "--learner", "svc").stdout)
    assert found["learner"] == "KernelSVC"
    assert len(found["scores"]) == 3
    assert package.load(path).schema_.target == "label"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--learner", "rigde"], "Did you mean 'ridge'"),
        (["--learner", "zzz"], "There are: ridge, svm"),
        (["--learner", "svr"], "does not do classification"),
        (["--learner", "KernelOneClass"], "there is no learner"),
        (["--set", "D=3"], "KernelSVC has no setting 'D'. There are: C"),
        (["--set", "toll=3", "--learner", "KernelSVC"], "Did you mean 'tol'"),
        (["--set", "C"], "NAME=VALUE"),
        (["--set", "probability=maybe"], "probability must be True or False"),
        (["--kernel", "gaussian("], "not a kernel expression"),
        (["--target", "lable"], "Did you mean 'label'"),
        (["--columns", "age,twon"], "Did you mean 'town'"),
        (["--format", "cvs"], "Did you mean 'csv'"),
        (["--memory", "much"], "memory"),
    ],
)
def test_bad_options_are_named(mercer, table: Path, tmp_path: Path, options, words: str) -> None:
    given = ["--target", "label", "--kernel", "gaussian(2)", "--model", tmp_path / "m.mercer"]
    done = mercer("fit", table, *given, *options)
    assert done.exit_code == 2
    assert words in done.stderr
    assert not (tmp_path / "m.mercer").exists()


def test_without_a_target_the_columns_are_listed(mercer, table: Path, tmp_path: Path) -> None:
    done = mercer("fit", table, "--kernel", "linear()", "--model", tmp_path / "m.mercer")
    assert done.exit_code == 2
    assert "--target NAME; its columns: age, town, since, member, label" in done.stderr


def test_only_some_columns(mercer, table: Path, tmp_path: Path) -> None:
    path = tmp_path / "m.mercer"
    given = [
        "--target",
        "label",
        "--columns",
        "town, age",
        "--kernel",
        "linear()",
        "--threads",
        "1",
    ]
    assert mercer("fit", table, *given, "--model", path, "--threads", "1").exit_code == 0
    assert package.load(path).schema_.columns == ("town", "age")


def test_a_full_disk_keeps_the_old_model(mercer, table: Path, tmp_path: Path, monkeypatch) -> None:
    path = tmp_path / "m.mercer"
    given = ["fit", table, "--target", "label", "--kernel", "gaussian(2)", "--model", path]
    assert mercer(*given).exit_code == 0
    old = path.read_bytes()

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    done = mercer(*given, "--set", "C=7")
    assert done.exit_code == 2
    assert "is full" in done.stderr
    assert path.read_bytes() == old
    assert [p.name for p in tmp_path.iterdir()] == ["m.mercer"]


@pytest.mark.posix
@pytest.mark.parametrize(
    "command",
    [
        ("fit", "moons", "--kernel", "gaussian(1)", "--model"),
        ("compare", "xor", "--kernel", "linear()", "--cv", "2", "--report"),
        ("compare", "xor", "--kernel", "linear()", "--cv", "2", "--model"),
    ],
)
def test_a_pipe_is_refused_as_output_before_anything_is_fitted(
    mercer, command, tmp_path: Path, monkeypatch
) -> None:
    monkeypatch.setattr("mercer.cli.fit.fit_all", lambda *a: pytest.fail("fitted first"))
    monkeypatch.setattr("mercer.compare", lambda *a, **k: pytest.fail("compared first"))
    os.mkfifo(tmp_path / "pipe")
    done = mercer(*command, tmp_path / "pipe")
    assert done.exit_code == 2
    assert "pipe is a pipe, a terminal or another device" in done.stderr
    assert (tmp_path / "pipe").is_fifo()
