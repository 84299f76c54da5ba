"""New rows in blocks: what a stream gives is what a model is fed."""

import io

import numpy as np
import pytest

from mercer import KernelPerceptron, data
from mercer.data.row_files import rows_of_file
from mercer.data.rows import Schema, _mbox, _unescaped, read_rows, schema_of
from mercer.data.schema import DataError

pd = pytest.importorskip("pandas")


def blocks(text, schema, **options):
    raw = text if isinstance(text, bytes) else text.encode()
    return list(read_rows(io.BytesIO(raw), schema, **options))


def test_schema_of_a_model_without_one():
    X, y = data.moons(20)
    assert schema_of(KernelPerceptron().fit(X, y)) == Schema("vectors")
    named = KernelPerceptron().fit(pd.DataFrame(X, columns=["a", "b"]), y)
    assert schema_of(named).columns == ("a", "b")
    words = KernelPerceptron("spectrum(2)").fit(["abc", "bcd", "aaa"], [0, 1, 0])
    assert schema_of(words) == Schema("strings")


def test_blocks_of_a_table_without_types():
    first, second = blocks("b,a\n1,x\n2,y\n3,z\n", Schema("table", ("a", "b")), block=2)
    assert first.X.to_dict("list") == {"a": ["x", "y"], "b": [1, 2]}
    assert len(second.X) == 1


def test_empty_lines_at_the_top_are_skipped():
    (only,) = blocks("\n \n1,2\n3,4\n", Schema("vectors"))
    assert only.X.tolist() == [[1, 2], [3, 4]]


def test_tabs_are_read_as_such_when_asked():
    (only,) = blocks("a,x\tb\n1\t2\n", Schema("table", ("b",)), format="tsv")
    assert only.X["b"].tolist() == [2]


def test_sparse_rows_stay_sparse_for_a_sparse_model():
    (only,) = blocks("0 2:5\n", Schema("vectors", sparse=True), format="libsvm", width=3)
    assert only.X.toarray().tolist() == [[0, 5, 0]]


@pytest.mark.parametrize(
    ("line", "text"),
    [
        (b"plain\r\n", b"plain"),
        (rb"a\nb\tc\rd", b"a\nb\tc\rd"),
        (rb"a\\nb", rb"a\nb"),
        (rb"end\\", b"end\\"),
        (rb"odd \x", rb"odd \x"),
    ],
)
def test_escapes_in_a_line(line, text):
    assert _unescaped(line) == text


def test_mbox_begins_messages_after_empty_lines_only():
    lines = [b"From a\n", b"one\n", b"From here on\n", b"\n", b"From b\n", b"two\n"]
    assert list(_mbox(iter(lines))) == [b"one\nFrom here on\n\n", b"two\n"]
    assert list(_mbox(iter([b"no message\n"]))) == []


def test_strings_that_are_not_utf8_are_named():
    with pytest.raises(DataError, match="UTF-8"):
        blocks(b"caf\xe9\n", Schema("strings"))
    with pytest.raises(DataError, match="UTF-8"):
        blocks(b"caf\xe9\n", Schema("strings", ("text",), ("text",)))


def test_a_stream_that_fails_says_so_itself():
    class Broken(io.BytesIO):
        def read(self, *size):
            raise OSError(5, "Input/output error")

    with pytest.raises(OSError, match="Input/output"):
        list(read_rows(Broken(b"a,b\n1,2\n"), Schema("table", ("a",))))


def test_parquet_for_strings_and_vectors(tmp_path):
    pytest.importorskip("pyarrow")
    pd.DataFrame({"word": ["ab", None]}).to_parquet(tmp_path / "s.parquet")
    schema = Schema("strings", ("word",), ("text",))
    assert next(rows_of_file(tmp_path / "s.parquet", schema)).X == ["ab", ""]
    pd.DataFrame({"u": [1], "v": [2.5]}).to_parquet(tmp_path / "v.parquet")
    made = next(rows_of_file(tmp_path / "v.parquet", Schema("vectors")))
    assert np.array_equal(made.X, [[1.0, 2.5]])


def test_a_maildir_of_rows(tmp_path):
    import mailbox

    box = mailbox.Maildir(tmp_path / "box", create=True)
    box.add("Subject: one\n\nhello\n")
    (only,) = rows_of_file(tmp_path / "box", Schema("mail"))
    assert b"hello" in only.X[0]
