"""Tables in files, read in pieces: the same rows as the whole file gives, and the same commands."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

import mercer
from mercer.cli.app import app
from mercer.data.schema import DataError
from mercer.engines.cluster.tables import in_pieces, open_table, sampled
from mercer.engines.cluster.tables.lines import lines_of

RNG = np.random.default_rng(0)
FRAME = pd.DataFrame(RNG.normal(size=(300, 2)), columns=["a", "b"])
FRAME["town"] = RNG.choice(["Ulm", 'Bad "X", y', "two\nlines"], 300)
FRAME["y"] = np.sin(FRAME.a) + FRAME.b + (FRAME.town == "Ulm")
FRAME["label"] = np.where(FRAME.y > 0.5, "high", "low")


@pytest.fixture
def folder(tmp_path):
    FRAME[:140].to_csv(tmp_path / "0.csv", index=False)
    FRAME[140:].to_csv(tmp_path / "1.csv", index=False)
    return tmp_path


def _run(*args):
    done = CliRunner().invoke(app, [str(a) for a in args], catch_exceptions=False)
    assert done.exit_code == 0, done.output + done.stderr
    return done


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("last", [True, False], ids=["ended", "open"])
def test_lines_are_those_of_pandas(tmp_path, monkeypatch, end, last):
    path = tmp_path / "table.csv"
    text = FRAME.to_csv(index=False, lineterminator=end) + end + end  # empty lines at the end
    text = text.replace(end + "0.", end + end + "0.", 3)  # and some between
    path.write_bytes((text if last else text.rstrip()).encode())
    for block in (64, 1 << 20):
        monkeypatch.setattr("mercer.engines.cluster.tables.lines.SCANNED_BYTES", block)
        found = lines_of(str(path), 70)
        assert [size for _, size in found] == [70, 70, 70, 70, 20]
        whole = pd.concat([lines.load() for lines, _ in found], ignore_index=True)
        pd.testing.assert_frame_equal(whole, pd.read_csv(path))


def test_a_file_of_numbers_has_no_names(tmp_path):
    np.savetxt(tmp_path / "rows.csv", FRAME[["a", "b"]].to_numpy(), delimiter=",")
    rows = mercer.chunks(tmp_path / "rows.csv", rows=90)
    assert rows.names == ("x0", "x1")
    np.testing.assert_allclose(rows[:], FRAME[["a", "b"]])


def test_chunks_of_csv_files(folder):
    X, y = mercer.chunks(folder / "*.csv", "label", columns=["b", "a"], rows=50)
    assert X.sizes == (50, 50, 40, 50, 50, 50, 10)
    np.testing.assert_allclose(X[:], FRAME[["b", "a"]])
    np.testing.assert_array_equal(y[:], FRAME.label)
    model = mercer.KernelRidgeClassifier("gaussian(1)", n_centers=40, random_state=0).fit(X, y)
    assert (model.predict(X) == y[:]).mean() > 0.8
    with pytest.raises(DataError, match="column 'town' holds something that is no number"):
        mercer.chunks(folder, "label")[0][:]
    with pytest.raises(ValueError, match="has no column 'z'"):
        mercer.chunks(folder, "z")
    with pytest.raises(DataError, match="unpack it first"):
        lines_of(str(folder / "2.csv.gz"), 50)
    (folder / "2.parquet").touch()
    with pytest.raises(DataError, match="of one format at a time"):
        mercer.chunks(folder / "*")


def test_a_sample_is_a_data_set(folder):
    table = open_table(str(folder / "*.csv"), rows=50)
    frame = table.sample(60)
    assert 60 <= len(frame) <= 60 + len(table.pieces)
    assert set(frame.index) == set(range(len(frame)))
    found = sampled(table, "label")
    assert (found.task, len(found), found.table) == ("classification", 300, table)


def test_what_is_read_in_pieces(folder):
    assert in_pieces(str(folder / "*.csv"))
    assert in_pieces(str(folder))
    assert not in_pieces(str(folder / "0.csv"))
    assert not in_pieces("digits")
    with mercer.config(memory=40_000):
        assert in_pieces(str(folder / "0.csv"))


@pytest.mark.parametrize(("target", "learner"), [("y", "ridge"), ("label", "logistic")])
def test_the_commands_take_patterns(folder, target, learner):
    other = "label" if target == "y" else "y"
    common = ["--target", target, "--exclude", other, "--kernel", "gaussian(2)", "--learner"]
    options = ["--set", "alpha=1", "--set", "n_centers=30", "--set", "random_state=0"]
    options += ["--set", "solver=nystrom", "--set", "tol=1e-9"]
    FRAME.to_csv(folder / "all.txt", index=False)
    for source, name in (("?.csv", "pieces"), ("all.txt", "whole")):
        model = folder / f"{name}.mercer"
        _run("fit", folder / source, *common, learner, *options, "--model", model)
        more = ["--proba"] if target == "label" else []
        _run("predict", model, folder / source, *more, "--out", folder / f"{name}.out")
    ours, whole = (pd.read_csv(folder / f"{name}.out") for name in ("pieces", "whole"))
    np.testing.assert_allclose(ours, whole, atol=1e-3)


@pytest.mark.cluster
@pytest.mark.slow
def test_the_commands_work_on_a_cluster(folder):
    distributed = pytest.importorskip("distributed", reason="Dask is not installed")
    options = ["--target", "y", "--exclude", "label", "--kernel", "gaussian(2)", "--learner"]
    options += ["ridge", "--set", "alpha=1", "--set", "n_centers=30", "--set", "random_state=0"]
    made = []
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address="127.0.0.1:0"
    ) as cluster:
        for name, more in (("here", []), ("there", ["--cluster", cluster.scheduler_address])):
            model, out = folder / f"{name}.mercer", folder / f"{name}.out"
            kept = ["--checkpoint", folder / "sums"] if more else []
            _run("fit", folder / "?.csv", *options, "--model", model, *more, *kept)
            _run("predict", model, folder / "?.csv", "--block", "50", "--out", out, *more)
            made.append(pd.read_csv(out))
    pd.testing.assert_frame_equal(*made)
    assert list((folder / "sums").iterdir())


def test_rows_without_a_target_are_refused(folder):
    FRAME.assign(y=FRAME.y.where(FRAME.index > 3)).to_csv(folder / "2.csv", index=False)
    options = ["--target", "y", "--kernel", "gaussian(2)", "--learner", "ridge"]
    done = CliRunner().invoke(
        app, ["fit", str(folder / "*.csv"), *options, "--model", str(folder / "m.mercer")]
    )
    assert done.exit_code
    assert "have no target 'y'" in str(done.exception) + done.stderr


def test_a_comparison_looks_at_a_sample_of_pieces(folder, monkeypatch):
    dd = pytest.importorskip("dask.dataframe", reason="Dask is not installed")
    monkeypatch.setattr("mercer.engines.cluster.tables.LOOKED_AT_ROWS", 100)
    frame = dd.from_pandas(FRAME.drop(columns="y"), npartitions=3)
    options = {"kernels": ["linear()"], "learners": ["ridge"], "cv": 2, "holdout": None}
    board = mercer.compare(frame[frame["a"] > -9], "label", **options)
    assert board.task == "classification"
    assert 100 <= len(board.best[-1].X_fit_) <= 103
    rows = mercer.chunks(FRAME[["a", "b"]].to_numpy(), rows=70)
    few = mercer.compare(rows, FRAME.y.to_numpy(), **options)
    assert few.task == "regression"
    assert len(few.best[-1].X_fit_) == 100
