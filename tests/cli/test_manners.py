"""How the command speaks: nothing twice, no riddles, a hint where a name is wrong."""

import numpy as np
import pytest

import mercer as library
from mercer._escape.mathematics import in_characters
from mercer.cli.warm import _fit
from mercer.learners.catalog import find


def test_a_data_set_is_suggested(mercer):
    done = mercer("compare", "digit")
    assert done.exit_code == 2
    assert "Did you mean 'digits'?" in done.stderr
    far = mercer("compare", "zzzzqqq")
    assert "mercer data" in far.stderr
    assert "mean" not in far.stderr


def test_four_rows_are_compared_without_a_headline(mercer):
    done = mercer("compare", "xor", "--kernel", "polynomial(2)", "--learner", "ridge", "--cv", "2")
    assert done.exit_code == 0
    assert "100.00" in done.stdout
    assert "no part in the choice" not in done.stdout
    assert "ValueError" not in done.stdout + done.stderr


def test_a_data_set_is_shown(mercer):
    lines = mercer("data", "xor").stdout.splitlines()
    assert lines[2].split() == ["x0", "x1", "y"]
    assert len(lines) == 7
    digits = mercer("data", "digits").stdout
    assert "…" in digits
    assert "and 1789 more" in digits


def test_nothing_is_written_before_it_is_known_that_rows_can_be_read(mercer, tmp_path):
    X, y = library.data.moons(30)
    library.save(library.KernelRidgeClassifier("gaussian(1)").fit(X, y), tmp_path / "m.mercer")
    (tmp_path / "rows.csv").write_text("a,b\n1,2\n3,oops\n")
    done = mercer("predict", tmp_path / "m.mercer", tmp_path / "rows.csv")
    assert done.exit_code == 2
    assert done.stdout == ""
    out = tmp_path / "answers.csv"
    assert mercer("predict", tmp_path / "m.mercer", tmp_path / "rows.csv", "--out", out).exit_code
    assert not out.exists()


def test_columns_that_are_not_listed_are_counted(mercer, tmp_path):
    names = [f"c{i}" for i in range(23)]
    rows = [
        ",".join(names),
        *(",".join(map(str, r)) for r in np.random.default_rng(0).random((5, 23)).round(3)),
    ]
    (tmp_path / "t.csv").write_text("\n".join(rows) + "\n")
    assert "c19 and 3 more" in mercer("compare", tmp_path / "t.csv").stderr


def test_explain_writes_mathematics_not_latex(mercer):
    text = mercer("explain", "gaussian(2) * polynomial(3)").stdout
    assert "exp(−‖x − z‖² / 8) · (x · z)³" in text
    assert "\\" not in text


@pytest.mark.parametrize("name", sorted(library.kernels.KERNELS))
def test_every_kernel_can_be_written_in_characters(name):
    try:
        latex = library.kernels.KERNELS[name]().latex()
    except TypeError:
        pytest.skip("needs arguments")
    text = in_characters(latex)
    assert not set(text) & set("\\{}")


def test_facts_are_told_once(mercer, tmp_path):
    rows = ["a,same,label"] + [f"{i % 7}.5,1,{'uv'[i % 2]}" for i in range(40)]
    (tmp_path / "t.csv").write_text("\n".join(rows) + "\n")
    done = mercer(
        "compare", tmp_path / "t.csv", "--target", "label", "--kernel", "linear()", "--learner",
        "ridge", "--cv", "2", "--holdout", "none",
    )  # fmt: skip
    assert (done.stdout + done.stderr).count("constant columns left out: same") == 1


def test_warm_fits_every_way_of_a_learner(monkeypatch):
    monkeypatch.setattr("mercer.cli.warm.SHAPES", ((40, 2),))
    assert _fit(find("ridge", "regression"), "regression") == []
    assert _fit(find("svm", "classification"), "classification") == []
