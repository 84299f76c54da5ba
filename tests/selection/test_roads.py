"""Every road in: a data set in each container and format, through compare and back out."""

import io

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import mercer
from mercer.data.dataset import Dataset

N = 48
OPTIONS = {"learners": ["ridge"], "cv": 2, "holdout": None}


def rows():
    random = np.random.default_rng(0)
    X = random.normal(size=(N, 3))
    return X, np.where(X[:, 0] + 0.3 * random.normal(size=N) > 0, "up", "down")


def frame():
    X, y = rows()
    return pd.DataFrame(X, columns=list("abc")).assign(label=y)


def texts():
    return [("good day " if i % 2 else "bad luck ") + str(i) for i in range(N)]


def csv(folder):
    frame().to_csv(folder / "t.csv", index=False)
    return folder / "t.csv", "label"


def tsv(folder):
    frame().to_csv(folder / "t.tsv", index=False, sep="\t")
    return folder / "t.tsv", "label"


def parquet(folder):
    pytest.importorskip("pyarrow", reason="Parquet needs pyarrow")
    frame().to_parquet(folder / "t.parquet")
    return folder / "t.parquet", "label"


def npz(folder):
    X, y = rows()
    np.savez(folder / "t.npz", X=X, y=(y == "up").astype(int))
    return folder / "t.npz", "y"


def libsvm(folder):
    from sklearn.datasets import dump_svmlight_file

    X, y = rows()
    dump_svmlight_file(X, (y == "up").astype(int), str(folder / "t.libsvm"))
    return folder / "t.libsvm", None


def fasta(folder):
    lines = [
        f">s{i} label={'ab'[i % 2]}\n{'ACGT'[i % 2 :: 2] * 4}{'ACGT'[i % 4]}" for i in range(N)
    ]
    (folder / "t.fasta").write_text("\n".join(lines) + "\n")
    return folder / "t.fasta", "label"


def mbox(folder):
    stream = io.StringIO()
    for i, text in enumerate(texts()):
        stream.write(f"From me\nSubject: hi\nX-Label: {'uv'[i % 2]}\n\n{text}\n\n")
    (folder / "t.mbox").write_text(stream.getvalue())
    return folder / "t.mbox", "X-Label"


FILES = [csv, tsv, parquet, npz, libsvm, fasta, mbox]


@pytest.mark.parametrize("make", FILES, ids=lambda make: make.__name__)
def test_a_file_is_compared_saved_and_asked(make, tmp_path):
    path, target = make(tmp_path)
    found = Dataset.of(path, target=target)
    kernels = ["spectrum(2)"] if found.kind == "strings" else ["gaussian(1)"]
    board = mercer.selection.compare(found, kernels=kernels, **OPTIONS)
    assert board.best_row.mean > 0.6
    mercer.save(board.best, tmp_path / "m.mercer")
    again = mercer.load(tmp_path / "m.mercer")
    assert (again.predict(found.X) == board.best.predict(found.X)).all()


def polars_frame():
    polars = pytest.importorskip("polars", reason="polars is not installed")
    return polars.DataFrame({c: frame()[c].tolist() for c in frame().columns})


def arrow_table():
    pyarrow = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    return pyarrow.Table.from_pandas(frame())


@pytest.mark.parametrize(
    "make",
    [
        lambda: (frame(), "label"),
        lambda: (polars_frame(), "label"),
        lambda: (arrow_table(), "label"),
        lambda: rows(),
        lambda: (sparse.csr_matrix(rows()[0]), rows()[1]),
        lambda: (rows()[0].tolist(), list(rows()[1])),
        lambda: (texts(), [i % 2 for i in range(N)]),
    ],
    ids=["pandas", "polars", "arrow", "arrays", "sparse", "lists", "strings"],
)
def test_a_container_is_compared(make):
    X, y = make()
    kernels = ["spectrum(3)"] if isinstance(X, list) and isinstance(X[0], str) else ["gaussian(1)"]
    board = mercer.selection.compare(X, y, kernels=kernels, **OPTIONS)
    assert board.n_rows == N
    assert board.best_row.mean > 0.6
