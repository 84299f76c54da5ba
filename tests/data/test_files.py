"""Arrays, images, sequences and mail in files, and files that promise what they do not hold."""

import gzip
import io
import mailbox
import struct
import zipfile

import numpy as np
import pytest

import mercer
from mercer import data
from mercer.data import DataError


def savez(path, **arrays):
    np.savez(path, **arrays)
    return path


def test_npz_in_its_forms(tmp_path):
    y = np.array([0.0, 1.0, 0.0, 1.0])
    path = savez(tmp_path / "a.npz", X_train=np.eye(4) > 0, y_train=y[:, None])
    found = data.load(path)
    assert found.X.dtype == np.uint8
    assert found.y.dtype == np.int64
    assert found.target == "y_train"
    color = savez(tmp_path / "b.npz", data=np.zeros((4, 2, 3, 3)), target=y)
    assert data.load(color).shape == (2, 9)
    assert data.load(savez(tmp_path / "c.npz", X=np.eye(3))).y is None
    real = savez(tmp_path / "d.npz", X=np.eye(4), z=np.linspace(0, 1, 4))
    assert data.load(real, "z").task == "regression"


@pytest.mark.parametrize(
    ("arrays", "target", "message"),
    [
        ({"Z": np.eye(2)}, None, "needs an array X"),
        ({"X": np.eye(2), "label": np.arange(2)}, "lable", "Did you mean 'label'"),
        ({"X": np.eye(2), "y": np.arange(2)}, "zzzz", "There are: X, y"),
        ({"X": np.arange(3)}, None, "rows of numbers"),
        ({"X": np.array([["a"]])}, None, "rows of numbers"),
        ({"X": np.zeros((2, 2, 2, 2, 2))}, None, "rows of numbers or images"),
        ({"X": np.zeros((0, 2))}, None, "no rows"),
        ({"X": np.eye(2), "y": np.arange(3)}, None, "2 rows but 3 targets"),
        ({"X": np.eye(2), "y": np.array([1.0, np.nan])}, None, "1 targets are missing"),
        ({"X": np.eye(2), "y": np.array([3, 3])}, None, "single value"),
    ],
)
def test_bad_archives_are_named(tmp_path, arrays, target, message):
    with pytest.raises(DataError, match=message):
        data.load(savez(tmp_path / "a.npz", **arrays), target)


def test_an_archive_is_not_believed(tmp_path):
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        header, {"shape": (10**12,), "fortran_order": False, "descr": "<f8"}
    )
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
        archive.writestr("X.npy", header.getvalue())
    with pytest.raises(DataError, match="claims shape"):
        data.load(tmp_path / "a.npz")
    np.savez_compressed(tmp_path / "b.npz", X=np.zeros((1000, 1000)))
    with mercer.config(memory="1MB"), pytest.raises(DataError, match="unpacks to 8 MB"):
        data.load(tmp_path / "b.npz")


def test_pickled_objects_are_refused(tmp_path):
    np.savez(tmp_path / "a.npz", X=np.array([{"a": 1}], dtype=object))
    with pytest.raises(DataError):
        data.load(tmp_path / "a.npz")


def test_libsvm_stays_sparse(tmp_path):
    (tmp_path / "a.svm").write_text("+1 1:0.5 9:2\n-1 3:1\n")
    found = data.load(tmp_path / "a.svm")
    assert found.X.shape == (2, 9)
    assert found.schema.sparse
    assert found.y.tolist() == [1, -1]
    (tmp_path / "b.svm").write_text("# only a comment\n")
    with pytest.raises(DataError, match="no rows"):
        data.load(tmp_path / "b.svm")


def idx(shape, content, kind=8):
    return bytes([0, 0, kind, len(shape)]) + struct.pack(f">{len(shape)}I", *shape) + content


def test_idx_packed_and_of_other_types(tmp_path):
    values = np.arange(8, dtype=">f4").reshape(2, 4)
    with gzip.open(tmp_path / "a.idx.gz", "wb") as stream:
        stream.write(idx((2, 4), values.tobytes(), 13))
    found = data.load(tmp_path / "a.idx.gz")
    assert found.shape == (1, 4)
    assert found.y is None
    assert found.X.dtype == np.float32
    assert (values == found.X).all()
    assert "no file of labels" in found.notes[0]


def test_bad_images_are_named(tmp_path):
    (tmp_path / "a-images-idx3-ubyte").write_bytes(idx((2, 1, 1), b"ab"))
    (tmp_path / "a-labels-idx1-ubyte").write_bytes(idx((3,), b"abc"))
    with pytest.raises(DataError, match="2 images but 3 labels"):
        data.load(tmp_path / "a-images-idx3-ubyte")
    (tmp_path / "b.idx").write_bytes(idx((3,), b"abc"))
    with pytest.raises(DataError, match="not images"):
        data.load(tmp_path / "b.idx")
    (tmp_path / "c.idx").write_bytes(bytes([0, 0, 8, 3, 0, 0]))
    with pytest.raises(DataError, match="within its header"):
        data.load(tmp_path / "c.idx")
    with gzip.open(tmp_path / "d.idx.gz", "wb") as stream:
        stream.write(idx((2**31, 2**31), b""))
    with pytest.raises(DataError, match="does not hold"):
        data.load(tmp_path / "d.idx.gz")


def test_fasta_with_comments_and_without_labels(tmp_path):
    (tmp_path / "a.fa").write_text("; a comment\n>one\nGA\n\nTT\n>two\nAC\n")
    found = data.load(tmp_path / "a.fa")
    assert found.X == ["GATT", "AC"]
    assert found.names == ("one", "two")
    assert found.task is None
    (tmp_path / "b.fa").write_text(";nothing\n")
    with pytest.raises(DataError, match="no sequence"):
        data.load(tmp_path / "b.fa")
    (tmp_path / "c.fa").write_text(">a x\nGA\n>b x\nTT\n")
    with pytest.raises(DataError, match="single value"):
        data.load(tmp_path / "c.fa", "kind")


def make_maildir(path, subjects):
    box = mailbox.Maildir(path, create=True)
    for subject in subjects:
        box.add(f"Subject: {subject}\n\nhello\n")


def test_a_folder_of_maildirs_is_labeled_by_its_names(tmp_path):
    make_maildir(tmp_path / "ham", ["a", "b"])
    make_maildir(tmp_path / "spam", ["c"])
    found = data.load(tmp_path)
    assert sorted(found.y) == ["ham", "ham", "spam"]
    assert data.load(tmp_path / "ham").y is None
    assert data.load(tmp_path / "ham", "Subject").task == "classification"
    with pytest.raises(DataError, match="has the header 'X-Label'"):
        data.load(tmp_path / "ham", "X-Label")
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match="no Maildir and holds none"):
        data.load(tmp_path / "empty")
