"""Files in every format, and files that are broken."""

import contextlib
import gzip
import struct

import numpy as np
import pytest
from sklearn.datasets import dump_svmlight_file

from mercer import data
from mercer.data import DataError

pd = pytest.importorskip("pandas")


def write(path, text):
    path.write_text(text, encoding="utf-8")
    return path


def test_a_table_says_what_it_noticed(tmp_path):
    path = write(
        tmp_path / "t.csv",
        "age,city,when,one,label\n30,Rome,2020-01-02,1,a\n,Oslo,2020-01-03,1,b\n"
        "41,Rome,2020-02-01,1,a\n50,Rome,2020-02-01,1,\n",
    )
    found = data.load(path, "label")
    assert list(found.X.columns) == ["age", "city", "when"]
    assert found.y.tolist() == ["a", "b", "a"]
    assert found.task == "classification"
    notes = " ".join(found.notes)
    for word in ("1 rows without a target", "constant columns left out: one", "age (1)", "dates"):
        assert word in notes
    assert found.X["when"].diff().iloc[1] == 86400


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
def test_the_separator_is_found(tmp_path, separator):
    lines = [separator.join(line) for line in ("xyz", "123", "456")]
    path = write(tmp_path / "t.csv", "\n".join(lines))
    assert data.load(path).X.to_numpy().tolist() == [[1, 2, 3], [4, 5, 6]]


def test_regression_is_told_from_classification():
    assert data.guess_task(np.linspace(0, 1, 50))[0] == "regression"
    assert data.guess_task(np.arange(50) % 3)[0] == "classification"
    assert data.guess_task(["a", "b"])[0] == "classification"
    assert data.guess_task(np.arange(50))[0] == "regression"


def test_gzipped_tables_and_npz_and_libsvm(tmp_path):
    with gzip.open(tmp_path / "t.tsv.gz", "wt") as stream:
        stream.write("x\ty\n1\t2\n3\t4\n")
    assert data.load(tmp_path / "t.tsv.gz").X.shape == (2, 2)
    X, y = np.arange(24.0).reshape(4, 2, 3), np.array([0, 1, 0, 1])
    np.savez(tmp_path / "t.npz", X=X, y=y)
    found = data.load(tmp_path / "t.npz")
    assert found.shape == (2, 3)
    assert found.X.shape == (4, 6)
    dump_svmlight_file(X.reshape(4, 6), y, str(tmp_path / "t.libsvm"))
    assert data.load(tmp_path / "t.libsvm").X.shape == (4, 6)


def test_images_find_their_labels(tmp_path):
    images = np.arange(2 * 3 * 4, dtype=np.uint8).reshape(2, 3, 4)
    head = bytes([0, 0, 8, 3]) + struct.pack(">3I", 2, 3, 4)
    (tmp_path / "train-images-idx3-ubyte").write_bytes(head + images.tobytes())
    (tmp_path / "train-labels-idx1-ubyte").write_bytes(
        bytes([0, 0, 8, 1]) + struct.pack(">I", 2) + bytes([7, 3])
    )
    found = data.load(tmp_path / "train-images-idx3-ubyte")
    assert found.shape == (3, 4)
    assert found.y.tolist() == [7, 3]
    assert (images.reshape(2, 12) == found.X).all()


def test_sequences_and_mail(tmp_path):
    path = write(tmp_path / "s.fasta", ">one | EI\nGATT\nACA\n>two | IE\nTAG\n")
    found = data.load(path, "kind")
    assert found.X == ["GATTACA", "TAG"]
    assert found.y.tolist() == ["EI", "IE"]
    mail = "From a@b Thu Jan  1 00:00:00 1970\nSubject: {}\nX-Kind: {}\n\nhello\n\n"
    path = write(tmp_path / "m.mbox", mail.format("one", "ham") + mail.format("two", "spam"))
    found = data.load(path, "X-Kind")
    assert found.y.tolist() == ["ham", "spam"]
    assert b"hello" in found.X[0]


@pytest.mark.parametrize(
    ("name", "content", "target", "message"),
    [
        ("t.csv", "", None, "empty"),
        ("t.csv", "   \n", None, "no rows"),
        ("t.csv", "a,b\n", None, "no rows"),
        ("t.csv", "a,b\n1,2\n", "lable", "There are: a, b"),
        ("t.csv", "label,b\n1,2\n0,3\n", "lable", "Did you mean 'label'"),
        ("t.csv", "a,a\n1,2\n", None, "same name"),
        ("t.csv", "a,y\n1,2\n2,2\n", "y", "single value"),
        ("t.csv", "a,y\n1,2\n1,3\n", "y", "constant"),
        ("t.csv", "y\n1\n2\n", "y", "no column beside"),
        ("t.csv", "a\0b", None, "not a text file"),
        ("t.xyz", "a", None, "does not say"),
        ("t.fasta", "GATTACA\n", None, "starts with >"),
        ("t.idx", "abcd", None, "IDX"),
        ("t.npz", "abc", None, "cannot be read"),
        ("t.mbox", "nothing here", None, "no message"),
    ],
)
def test_broken_files_are_named(tmp_path, name, content, target, message):
    with pytest.raises(DataError, match=message):
        data.load(write(tmp_path / name, content), target)


def test_other_mistakes_are_named(tmp_path):
    write(tmp_path / "table.csv", "a,b\n1,2\n")
    with pytest.raises(DataError, match=r"Did you mean 'table\.csv'"):
        data.load(tmp_path / "tabel.csv")
    with pytest.raises(DataError, match="folder"):
        data.load(tmp_path, format="csv")
    with pytest.raises(DataError, match="no reader"):
        data.load(tmp_path / "table.csv", format="cvs")
    (tmp_path / "latin.csv").write_bytes("a,b\né,1\n".encode("latin1"))
    with pytest.raises(DataError, match="UTF-8"):
        data.load(tmp_path / "latin.csv")
    (tmp_path / "x.idx").write_bytes(bytes([0, 0, 8, 2]) + struct.pack(">2I", 2**31, 2**31))
    with pytest.raises(DataError, match="promises"):
        data.load(tmp_path / "x.idx")


def test_mutated_tables_never_crash(tmp_path):
    original = b"age,city,label\n30,Rome,a\n41,Oslo,b\n52,Rome,a\n33,Bonn,b\n"
    rng = np.random.default_rng(0)
    path = tmp_path / "m.csv"
    for _ in range(200):
        content = bytearray(original)
        for at in rng.integers(0, len(content), 3):
            content[at] = rng.integers(0, 256)
        path.write_bytes(content)
        with contextlib.suppress(DataError):
            assert len(data.load(path, "label")) > 0
