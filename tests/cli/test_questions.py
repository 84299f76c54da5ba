"""prove, explain, data, bench, lab, export: commands that answer and change nothing."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import mercer as package
from mercer import data
from mercer.data.toys import TOYS


@pytest.mark.parametrize(
    ("expression", "code", "words"),
    [
        ("gaussian(2) + linear()", 0, "✓ a kernel"),
        ("gaussian(1) - 2*linear()", 1, "cᵀKc = -1 < 0, in 50-digit arithmetic"),
        ("-gaussian()", 1, "✗ not a kernel"),
        ("exp(-|x-z|^2/2)", 0, "Gaussian()"),
        ("(1 + x·z)^2", 0, "Polynomial(degree=2"),
        ("min(x, z)", 0, "✓ a kernel for x ≥ 0"),
        ("|x-z|^2", 1, "✗ not a kernel"),
    ],
)
def test_prove(mercer, expression: str, code: int, words: str) -> None:
    done = mercer("prove", expression)
    assert done.exit_code == code
    assert words in done.stdout


def test_an_undecided_kernel_has_its_own_exit_code(mercer, monkeypatch) -> None:
    answer = package.Undecided(package.Gaussian(), "no rule", ("grids",))
    monkeypatch.setattr("mercer.prove", lambda k, n_features: answer)
    assert mercer("prove", "gaussian()").exit_code == 3
    found = json.loads(mercer("prove", "gaussian()", "--json").stdout)
    assert found["answer"] == "undecided"
    assert found["tried"] == ["grids"]


def test_prove_for_programs(mercer) -> None:
    yes = json.loads(mercer("prove", "2*gaussian(2)", "--json").stdout)
    assert yes["answer"] == "kernel"
    assert yes["proof"]["parts"][0]["kernel"] == "Gaussian(sigma=2.0)"
    done = mercer("prove", "uniform(1)", "--n-features", "1", "--json")
    assert done.exit_code == 1
    no = json.loads(done.stdout)
    c, points = np.array(no["vector"]), np.array(no["points"])
    K = package.parse(no["kernel"])(points)
    assert c @ K @ c == pytest.approx(no["value"])
    assert no["value"] < 0


def test_explain_an_expression(mercer) -> None:
    shown = mercer("explain", "gaussian(2) * polynomial(2)", "--columns", "3").stdout
    for word in ("formula", "exp2", "plan", "1000 × 1000", "yes, by rule", "exp(−‖x − z‖² / 8)"):
        assert word in shown
    known = json.loads(mercer("explain", "polynomial(2)", "--columns", "3", "--json").stdout)
    assert known["dimensions of φ"] == "6"
    assert "100000 × 100000" in mercer("explain", "linear()", "--rows", "100000").stdout
    assert "other than rows" in mercer("explain", "spectrum(3)").stdout


def test_explain_a_model(mercer, model: Path) -> None:
    shown = mercer("explain", model).stdout
    for word in ("KernelLogisticRegression", "Gaussian(sigma=2.0)", "alpha=0.1", "no, yes",
                 "age (number)", "since (date)", "predicts: label"):  # fmt: skip
        assert word in shown
    assert json.loads(mercer("explain", model, "--json").stdout)["takes"] == "table"
    assert mercer("explain", "nowhere.mercer").exit_code == 2


def test_explain_the_answer_for_a_row(mercer, tmp_path: Path) -> None:
    X, y = data.moons(40)
    fitted = package.KernelLogisticRegression("gaussian(0.5)").fit(X, y)
    fitted.save(tmp_path / "p.mercer")
    np.savetxt(tmp_path / "rows.csv", X, delimiter=",")
    asked = ("explain", tmp_path / "p.mercer", tmp_path / "rows.csv", "--row", "7")
    known = json.loads(mercer(*asked, "--json").stdout)
    found = package.explain_rows(fitted, X[7:8], np.delete(X, 7, axis=0))
    assert known["f(x)"] == pytest.approx(fitted.decision_function(X[7:8])[0])
    assert known["columns"]["x0"] == pytest.approx(found.values[0, 0])
    assert "exact" in known["method"]
    shown = mercer(*asked, "--proba", "--picture", tmp_path / "why.png").stdout
    assert "probability of" in shown
    assert (
        "interventional (not observational, which is E[f(X) | x_S]): v(S) = mean over 39" in shown
    )
    assert (tmp_path / "why.png").stat().st_size > 1000
    assert "there is no row 40" in mercer(*asked[:-1], "40").stderr


def test_explain_models_without_a_pipeline(mercer, tmp_path: Path) -> None:
    X, y = data.moons(20)
    package.KernelPerceptron("gaussian()").fit(X, y).save(tmp_path / "p.mercer")
    assert "columns: 2" in mercer("explain", tmp_path / "p.mercer").stdout
    package.save(package.KernelExpansion("linear()", X[:3], np.ones(3)), tmp_path / "f.mercer")
    assert "points kept: 3" in mercer("explain", tmp_path / "f.mercer").stdout


def test_data_lists_and_makes_sets(mercer, tmp_path: Path) -> None:
    listed = mercer("data").stdout
    assert all(name in listed for name in ("digits", *TOYS))
    assert set(json.loads(mercer("data", "--json").stdout)) == {"digits", *TOYS}
    done = mercer("data", "moons", "--rows", "7", "--noise", "0.3", "--seed", "2", "--out", "-")
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    X, y = data.moons(7, noise=0.3, random_state=2)
    assert [float(r["x1"]) for r in rows] == X[:, 1].tolist()
    assert [int(r["y"]) for r in rows] == y.tolist()
    mercer("data", "mail", "--rows", "4", "--out", tmp_path / "mail.csv")
    assert [r["y"] for r in csv.DictReader((tmp_path / "mail.csv").open())] == ["ham", "spam"] * 2
    mercer("data", "digits", "--out", tmp_path / "d.csv")
    assert data.load(tmp_path / "d.csv", "digit").X.shape[0] == 1797
    assert "Did you mean 'moons'" in mercer("data", "mons").stderr
    assert "cannot be chosen" in mercer("data", "digits", "--rows", "9").stderr
    assert "There are: digits" in mercer("data", "zzzz").stderr


def test_data_describes_a_file(mercer, table: Path) -> None:
    shown = mercer("data", table, "--target", "label").stdout
    for word in (
        "120 × 4 (table)",
        "town",
        "category",
        "date",
        "age (7)",
        "free text left out: id",
    ):
        assert word in shown
    known = json.loads(mercer("data", table, "--target", "label", "--json").stdout)
    assert known["classes"].keys() == {"yes", "no"}
    assert known["names"][0] == {"name": "age", "type": "number", "missing": 7, "distinct": 44}
    assert mercer("data", table, "--out", "x.csv").exit_code == 2
    assert "there is no file" in mercer("data", "no/such.csv").stderr


def test_what_a_file_holds_is_no_markup(mercer, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a,[bold]b\n[red]x,2020-01-31\ny,2021-12-01\n")
    shown = mercer("data", tmp_path / "t.csv").stdout
    assert "[bold]b" in shown
    assert "[red]x" in shown
    assert "2020-01-31 … 2021-12-01" in shown


def test_data_shows_the_first_of_many_columns(mercer, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    lines = [",".join(f"c{i}" for i in range(45))]
    lines += [",".join(f"{v:.3f}" for v in row) for row in rng.normal(size=(5, 45))]
    (tmp_path / "w.csv").write_text("\n".join(lines))
    assert "and 5 more" in mercer("data", tmp_path / "w.csv").stdout


def test_bench_runs_the_checkout_or_says_so(mercer, monkeypatch) -> None:
    from mercer.cli import bench

    script = bench.runner()
    assert script is not None
    assert script.name == "run.py"
    calls = []

    def run(command: list[str], check: bool) -> subprocess.CompletedProcess[bytes]:
        calls.append(command)
        return subprocess.CompletedProcess(command, 1)

    monkeypatch.setattr(subprocess, "run", run)
    assert mercer("bench", "composite").exit_code == 1
    assert calls == [[sys.executable, str(script), "composite"]]
    monkeypatch.setattr(bench, "runner", lambda: None)
    done = mercer("bench")
    assert done.exit_code == 2
    assert "make bench" in done.stderr


def test_export_writes_onnx(mercer, tmp_path: Path) -> None:
    pytest.importorskip("onnx")
    X, y = data.moons(30)
    package.KernelRidgeClassifier("gaussian()").fit(X, y).save(tmp_path / "m.mercer")
    done = mercer("export", tmp_path / "m.mercer", tmp_path / "m.onnx")
    assert done.exit_code == 0, done.stderr
    assert (tmp_path / "m.onnx").stat().st_size > 100
