"""Every road in: data in each format and each container through compare, fit, predict, explain and
export, from the shell and from Python.

The roads are made of the tables of formats and learners: a new format without a sample here, or a
learner that takes no road, makes a test fail.
"""

from __future__ import annotations

import gzip
import json
import mailbox
import struct
from email.message import EmailMessage

import numpy as np
import pytest

pytest.importorskip("click")
pytest.importorskip("pandas")
pytest.importorskip("matplotlib")
import pandas as pd
from click.testing import CliRunner
from scipy import sparse

import mercer
from mercer import report
from mercer._machine.deadline import announced
from mercer.cli.app import app
from mercer.data.dataset import Dataset
from mercer.data.formats import FORMATS
from mercer.data.row_files import STREAMED
from mercer.learners.catalog import TASKS, learners
from mercer.report.study import study
from mercer.selection.rivals.named import NAMED

N = 40
OPTIONS = {"learners": ["ridge"], "cv": 2, "holdout": 0.3}


def rows(task="classification"):
    random = np.random.default_rng(0)
    X = random.normal(size=(N, 3))
    y = X[:, 0] + 0.2 * random.normal(size=N)
    return X, (np.where(y > 0, "up", "down") if task == "classification" else y)


def frame(task="classification"):
    X, y = rows(task)
    return pd.DataFrame(X, columns=list("abc")).assign(label=y)


def texts():
    return [("good day " if i % 2 else "bad luck ") + str(i) for i in range(N)]


def message(i, text):
    made = EmailMessage()
    made["Subject"], made["X-Label"] = "hi", "uv"[i % 2]
    made.set_content(text)
    return made


# --- a sample of each format ----------------------------------------------------------------------


def csv(path):
    frame().to_csv(path, index=False)
    return "label"


def tsv(path):
    frame().to_csv(path, index=False, sep="\t")
    return "label"


def parquet(path):
    pytest.importorskip("pyarrow", reason="Parquet needs pyarrow")
    frame().to_parquet(path)
    return "label"


def npz(path):
    X, y = rows()
    np.savez(path, X=X, y=(y == "up").astype(int))
    return "y"


def libsvm(path):
    from sklearn.datasets import dump_svmlight_file

    X, y = rows()
    dump_svmlight_file(X, (y == "up").astype(int), str(path))
    return


def idx(path):
    """Images beside their labels: bright above, or bright below."""
    random = np.random.default_rng(0)
    labels = (np.arange(N) % 2).astype(np.uint8)
    images = random.integers(0, 100, size=(N, 4, 4), dtype=np.uint8)
    images[labels == 0, :2] += 100
    images[labels == 1, 2:] += 100
    path.write_bytes(b"\0\0\x08\x03" + struct.pack(">3I", *images.shape) + images.tobytes())
    beside = path.with_name(path.name.replace("images", "labels"))
    beside.write_bytes(b"\0\0\x08\x01" + struct.pack(">I", N) + labels.tobytes())
    return


def fasta(path):
    lines = [f">s{i} label={'ab'[i % 2]}\n{'AC' * 3 if i % 2 else 'GT' * 3}{'ACGT'[i % 4]}"
             for i in range(N)]  # fmt: skip
    path.write_text("\n".join(lines) + "\n")
    return "label"


def mbox(path):
    box = mailbox.mbox(path)
    for i, text in enumerate(texts()):
        box.add(message(i, text))
    box.close()
    return "X-Label"


def maildir(path):
    box = mailbox.Maildir(path)
    for i, text in enumerate(texts()):
        box.add(message(i, text))
    return "X-Label"


SAMPLES = {
    "csv": csv, "tsv": tsv, "parquet": parquet, "npz": npz, "libsvm": libsvm, "idx": idx,
    "fasta": fasta, "mbox": mbox, "maildir": maildir,
}  # fmt: skip
#: Kernels for rows that are no numbers.
KERNELS = {"strings": "spectrum(2)", "mail": "linear()"}


def sample(name, folder, ending=None):
    """A file of a format, the target in it, and a kernel for its rows."""
    endings = FORMATS[name].endings
    ending = ending or (endings[0] if endings else "")
    path = folder / f"images{ending}"
    target = SAMPLES[name](path)
    kind = Dataset.of(path, target=target).kind
    return path, target, KERNELS.get(kind, "gaussian(2)")


def test_every_format_has_a_sample():
    assert set(SAMPLES) == set(FORMATS), "write a sample for the new format, and let it travel here"


@pytest.mark.parametrize(
    ("name", "ending"), [(n, e) for n, known in FORMATS.items() for e in known.endings]
)
def test_every_ending_is_read(name, ending, tmp_path):
    path, target, _ = sample(name, tmp_path, ending)
    found = Dataset.of(path, target=target)
    assert (len(found), found.task, len(np.unique(found.y))) == (N, "classification", 2)


@pytest.mark.parametrize("name", ["csv", "tsv", "libsvm", "idx", "fasta"])
def test_compressed_files_are_read(name, tmp_path):
    path, target, _ = sample(name, tmp_path)
    for plain in [*tmp_path.iterdir()]:
        plain.with_name(plain.name + ".gz").write_bytes(gzip.compress(plain.read_bytes()))
        plain.unlink()
    found = Dataset.of(path.with_name(path.name + ".gz"), target=target)
    assert (len(found), found.task) == (N, "classification")


# --- from the shell -------------------------------------------------------------------------------


def shell(*arguments, stdin=None):
    done = CliRunner().invoke(app, [str(a) for a in arguments], input=stdin)
    assert done.exit_code == 0, f"mercer {' '.join(map(str, arguments))}\n{done.output}"
    return done.stdout


def refused(*arguments):
    """The sentence of a command that cannot be done; no traceback."""
    done = CliRunner().invoke(app, [str(a) for a in arguments])
    assert done.exit_code == 2, done.output
    assert "Traceback" not in done.output
    return done.stderr


def answered(model, path):
    lines = shell("predict", model, path).splitlines()
    assert len(lines) == N + 1, lines[:3]
    return lines[1:]


@pytest.mark.parametrize("name", FORMATS)
def test_a_file_travels_through_the_shell(name, tmp_path):
    path, target, kernel = sample(name, tmp_path)
    asked = [path, *([] if target is None else ["--target", target])]
    compared, fitted = tmp_path / "compared.mercer", tmp_path / "fitted.mercer"
    few = ["--kernel", kernel, "--learner", "ridge"]
    board = shell("compare", *asked, *few, "--cv", "2", "--holdout", "none", "--model", compared,
                  "--json")  # fmt: skip
    assert json.loads(board)["best"]["mean"] > 0.6
    shell("fit", *asked, *few, "--model", fitted)
    truth = [str(y) for y in Dataset.of(path, target=target).y]
    for model in (compared, fitted):
        right = np.mean([a == b for a, b in zip(answered(model, path), truth, strict=True)])
        assert right > 0.8
        if name in STREAMED:
            piped = shell("predict", model, "--format", name, stdin=path.read_bytes())
            assert piped.splitlines()[1:] == answered(model, path)
        known = shell("explain", model, "--json")
        assert json.loads(known)["learner"] == "KernelRidgeClassifier"
        onnx_road(model, tmp_path / "m.onnx", path, target)


def onnx_road(model, out, path, target):
    pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    found = Dataset.of(path, target=target)
    if found.kind in KERNELS:
        assert "ONNX" in refused("export", model, out)
        return
    shell("export", model, out)
    assert out.stat().st_size > 100
    out.unlink()


@pytest.mark.parametrize(("learner", "task"), [(k.name, t) for t in TASKS for k in learners(t)])
def test_every_learner_takes_a_table(learner, task, tmp_path):
    path, model = tmp_path / "t.csv", tmp_path / "m.mercer"
    frame(task).to_csv(path, index=False)
    travel(path, "label", "gaussian(2)", learner, model)


@pytest.mark.slow
@pytest.mark.parametrize("learner", [k.name for k in learners("classification")])
@pytest.mark.parametrize("name", FORMATS)
def test_every_learner_takes_every_format(name, learner, tmp_path):
    path, target, kernel = sample(name, tmp_path)
    if kernel == KERNELS["strings"] and learner == "smoother":
        pytest.skip("bandwidths are of numbers")
    travel(path, target, kernel, learner, tmp_path / "m.mercer")


def travel(path, target, kernel, learner, model):
    asked = [path, *([] if target is None else ["--target", target])]
    shell("fit", *asked, "--kernel", kernel, "--learner", learner, "--model", model)
    answered(model, path)
    shell("explain", model)


def winners():
    """What `compare` may save: each rival and some learners, for numbers, for two classes with
    calibrated probabilities, and for three."""
    for name in (*NAMED, "ridge", "logistic", "neighbors"):
        for classes in (0, 2, 3):
            if name in NAMED or classes or name in {k.name for k in learners("regression")}:
                yield name, classes, classes == 2


@pytest.mark.parametrize(("name", "classes", "probabilities"), list(winners()))
def test_every_winner_is_exported(name, classes, probabilities, tmp_path, monkeypatch):
    runtime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")

    def let_it_win(standing):
        return next(e for e in standing if e.trainer.entry.name == name)

    monkeypatch.setattr("mercer.selection.choice.first_stored", let_it_win)
    X, y = rows("regression")
    if classes:
        y = np.array(["low", "mid", "up"])[np.digitize(y, [-0.5, 0.5][: classes - 1])]
    model = mercer.selection.compare(
        X, y, kernels=["gaussian(2)"], rivals=[name] if name in NAMED else None, holdout=None,
        learners=["ridge" if name in NAMED else name], cv=2, probabilities=probabilities,
    ).best  # fmt: skip
    mercer.save(model, tmp_path / "m.mercer")
    mercer.onnx.export(mercer.load(tmp_path / "m.mercer"), tmp_path / "m.onnx", dtype="float64")
    session = runtime.InferenceSession(str(tmp_path / "m.onnx"))
    names = [output.name for output in session.get_outputs()]
    found = dict(zip(names, session.run(None, {"X": X}), strict=True))
    if not classes:
        np.testing.assert_allclose(found["prediction"], model.predict(X), rtol=1e-6, atol=1e-9)
        return
    assert np.array_equal(found["label"], model.predict(X))
    assert hasattr(model, "predict_proba") or not probabilities
    if hasattr(model, "predict_proba"):
        np.testing.assert_allclose(found["probabilities"], model.predict_proba(X), atol=1e-6)


# --- whole numbers as classes ---------------------------------------------------------------------


def letters(even):
    """Rows of 26 classes, 1 to 26: evenly spread, or every other ten times as rare."""
    random = np.random.default_rng(0)
    y = np.repeat(np.arange(1, 27), 6 if even else np.where(np.arange(26) % 2, 20, 2))
    X = np.column_stack([np.cos(y), np.sin(y), y % 5]) + 0.1 * random.normal(size=(len(y), 3))
    return X, y


def written(name, path, X, y):
    """Numbers and whole-number targets in a format, and what the target is called there."""
    from sklearn.datasets import dump_svmlight_file

    table = pd.DataFrame(X, columns=list("abc")).assign(label=y)
    if name in ("csv", "tsv"):
        table.to_csv(path, index=False, sep="\t" if name == "tsv" else ",")
    elif name == "parquet":
        pytest.importorskip("pyarrow", reason="Parquet needs pyarrow")
        table.assign(label=y.astype(float)).to_parquet(path)
    elif name == "npz":
        np.savez(path, X=X, label=y.astype(np.float32))
    elif name == "libsvm":
        dump_svmlight_file(X, y, str(path))
    return "label"


@pytest.mark.parametrize("name", ["csv", "tsv", "parquet", "npz", "libsvm"])
def test_whole_numbers_are_classes_where_they_look_like_labels_or_are_asked_for(name, tmp_path):
    path, model = tmp_path / f"letters{FORMATS[name].endings[0]}", tmp_path / "m.mercer"
    target = written(name, path, *letters(even=True))
    assert Dataset.of(path, target=target).task == "classification"
    X, y = letters(even=False)
    written(name, path, X, y)
    assert Dataset.of(path, target=target).task == "regression"
    asked = [path, "--target", target, "--kernel", "gaussian(1)", "--task", "classification"]
    shell("fit", *asked, "--learner", "centroid", "--model", model)
    known = json.loads(shell("explain", model, "--json"))
    assert (known["learner"], len(known["classes"])) == ("KernelCentroidClassifier", 26)
    said = np.array(shell("predict", model, path).splitlines()[1:])
    assert np.mean(said == y.astype(str)) > 0.9, "whole numbers, as they were given"
    if name == "libsvm":
        options = ["--learner", "centroid", "--cv", 2, "--holdout", "none", "--json"]
        board = json.loads(shell("compare", *asked, *options))
        assert (board["task"], len(board["classes"])) == ("classification", 26)


def test_a_regression_of_few_whole_numbers_can_be_asked_for(tmp_path):
    path = tmp_path / "t.csv"
    frame().assign(label=np.arange(N) % 3).to_csv(path, index=False)
    few = ["--target", "label", "--kernel", "gaussian(1)", "--learner", "ridge"]
    done = shell("fit", path, *few, "--task", "regression", "--model", tmp_path / "m.mercer")
    assert done.startswith("KernelRidge with")


# --- from Python ----------------------------------------------------------------------------------


def polars_frame():
    polars = pytest.importorskip("polars", reason="polars is not installed")
    return polars.DataFrame({c: frame()[c].tolist() for c in frame().columns})


def arrow_table():
    pyarrow = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    return pyarrow.Table.from_pandas(frame())


def images():
    X = np.random.default_rng(0).random((N, 4, 4))
    y = np.arange(N) % 2
    X[y == 1, :2] += 1
    return X, y


#: Examples and targets; where the targets are a column, its name.
CONTAINERS = {
    "pandas": lambda: (frame(), "label"),
    "polars": lambda: (polars_frame(), "label"),
    "arrow": lambda: (arrow_table(), "label"),
    "arrays": rows,
    "float32": lambda: (rows()[0].astype(np.float32), rows()[1]),
    "whole numbers": lambda: (np.round(10 * rows()[0]).astype(int), rows()[1]),
    "objects": lambda: (rows()[0].astype(object), rows()[1]),
    "images": images,
    "csr matrix": lambda: (sparse.csr_matrix(rows()[0]), rows()[1]),
    "csr array": lambda: (sparse.csr_array(rows()[0]), rows()[1]),
    "coo": lambda: (sparse.coo_matrix(rows()[0]), rows()[1]),
    "lists": lambda: (rows()[0].tolist(), list(rows()[1])),
    "series of targets": lambda: (frame()[["a", "b", "c"]], frame()["label"]),
    "strings": lambda: (texts(), [i % 2 for i in range(N)]),
    "array of strings": lambda: (np.array(texts()), np.arange(N) % 2),
    "bytes": lambda: ([bytes(message(i, t)) for i, t in enumerate(texts())], np.arange(N) % 2),
    "messages": lambda: ([message(i, t) for i, t in enumerate(texts())], np.arange(N) % 2),
}


def new_rows(X, y):
    """The same examples in the same container, without their targets."""
    if not isinstance(y, str):
        return X
    return (
        X.drop(columns=[y])
        if isinstance(X, pd.DataFrame)
        else X.drop(y)
        if hasattr(X, "with_columns")
        else X.drop_columns([y])
    )


@pytest.mark.parametrize("name", CONTAINERS)
def test_a_container_travels_through_python(name, tmp_path):
    X, y = CONTAINERS[name]()
    found = Dataset.of(X, y)
    kernel = KERNELS.get(found.kind, "gaussian(2)")
    board = mercer.selection.compare(X, y, kernels=[kernel], **OPTIONS)
    assert (board.n_rows, board.best_row.mean > 0.6) == (N, True)
    mercer.save(board.best, tmp_path / "m.mercer")
    asked = new_rows(X, y)
    said = board.best.predict(asked)
    assert np.mean(said == found.y) > 0.8
    assert np.array_equal(mercer.load(tmp_path / "m.mercer").predict(asked), said)
    assert shell("explain", tmp_path / "m.mercer")
    if found.kind not in KERNELS:
        mercer.onnx.export(board.best, tmp_path / "m.onnx")
    with announced(0.0, 1.0):  # without pictures
        reported = report.write(board, (X, y), tmp_path / "r.html")
    assert "Class by class" in reported.read_text("utf-8")
    assert study(board, found, seconds=60.0).curve[-1].rows == round(0.7 * N)


@pytest.mark.parametrize(
    "name", [n for n in CONTAINERS if n not in ("images", "bytes", "messages")]
)
def test_a_learner_is_fitted_on_a_container(name):
    """Learners take rows and strings; it is `compare` that makes rows of images and messages."""
    X, y = CONTAINERS[name]()
    asked, found = new_rows(X, y), Dataset.of(X, y)
    kernel = KERNELS.get(found.kind, "gaussian(2)")
    model = mercer.KernelRidgeClassifier(kernel).fit(asked, found.y)
    assert np.mean(model.predict(asked) == found.y) > 0.8
