"""Tables as they are found: types, gaps, dates, text, thousands of columns, and what is refused."""

import gzip
import io

import numpy as np
import pytest

import mercer
from mercer import data
from mercer.data import DataError, Dataset, Schema
from mercer.data.rows import read_rows
from mercer.data.schema import convert
from mercer.data.tables import find_separator

pd = pytest.importorskip("pandas")


def load(tmp_path, text, target=None, name="t.csv", **options):
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return data.load(path, target, **options)


def test_types_of_columns(tmp_path):
    found = load(
        tmp_path,
        "n,flag,day,kind,gone\n1,True,2020-01-01,a,?\n2.5,false,2020-01-02T03:04:05+01:00,b,3\n"
        "inf,TRUE,,a,4\n",
    )
    assert found.schema.types == ("number", "truth", "date", "category", "number")
    assert found.X["flag"].tolist() == [1.0, 0.0, 1.0]
    assert found.X["day"].tolist()[1] == pd.Timestamp("2020-01-02T02:04:05Z").timestamp()
    assert np.isnan(found.X["n"].iloc[2])
    notes = " ".join(found.notes)
    for words in ("infinite values read as missing: n", "dates read as seconds: day", "gone (1)"):
        assert words in notes


def test_gaps_are_counted_and_said(tmp_path):
    found = load(
        tmp_path,
        "n,kind,flag,word,whole\n1,a,True,x,1\n-,?,-,y,2\n--,b,,x,3\n4,,False,NA,4\n",
    )
    said = "missing values, filled in by the pipeline: n (2), kind (2), flag (2), word (1)"
    assert said in found.notes


def test_a_dash_among_words_is_a_word(tmp_path):
    found = load(tmp_path, "n,sign,y\n1,+,-\n-,-,+\n3,+,-\n4,-,+\n", "y")
    assert found.y.tolist() == ["-", "+", "-", "+"]
    assert found.X["sign"].tolist() == ["+", "-", "+", "-"]
    assert found.X["n"].isna().tolist() == [False, True, False, False]
    rows = io.BytesIO(b"n,sign\n-,-\n2,-\n")  # no plus here, and the words are the same
    (block,) = read_rows(rows, found.schema)
    assert block.X["sign"].tolist() == ["-", "-"]
    assert block.X["n"].isna().tolist() == [True, False]


def test_the_schema_brings_new_rows_into_the_same_form(tmp_path):
    found = load(tmp_path, "a,day,flag,kind\n1,2020-01-01,True,x\n2,2021-01-01,False,y\n")
    raw = pd.DataFrame(
        {"kind": ["x", None], "extra": [1, 2], "flag": [True, False], "a": ["3", ""],
         "day": [pd.Timestamp("2020-01-01"), pd.NaT]}
    )  # fmt: skip
    made = found.schema.table(raw)
    assert list(made.columns) == ["a", "day", "flag", "kind"]
    assert made.iloc[0].tolist() == [3.0, found.X["day"].iloc[0], 1.0, "x"]
    assert made.iloc[1].isna().tolist() == [True, True, False, True]
    with pytest.raises(DataError, match=r"'kind' \(did you mean 'Kind'\?\)"):
        found.schema.table(raw.rename(columns={"kind": "Kind"}))
    many = Schema("table", tuple(f"column {i}" for i in range(9)))
    with pytest.raises(DataError, match="and 4 more"):
        many.table(pd.DataFrame({"q": [1]}))


def test_other_types_of_dates_and_numbers():
    days = pd.Series(pd.to_timedelta([1, 2], unit="D"))
    assert convert(days, "date").tolist() == [86400.0, 172800.0]
    assert convert(pd.Series([5, 6]), "date").tolist() == [5.0, 6.0]
    assert convert(pd.Series(["1", " 0"]), "truth").tolist() == [1.0, 0.0]
    untouched = pd.Series(["x"])
    assert convert(untouched, "") is untouched
    frame = pd.DataFrame(
        {"wait": days, "n": pd.array([1, None], dtype="Int64"), "y": pd.array([1, 2], "Int64")}
    )
    found = Dataset.of(frame, "y")
    assert found.schema.types == ("date", "number")
    assert found.y.dtype == np.int64


def test_whole_targets_with_gaps_stay_whole(tmp_path):
    found = load(tmp_path, "a,y\n1,1\n2,\n3,2\n4,1\n", "y")
    assert found.y.tolist() == [1, 2, 1]
    assert found.y.dtype == np.int64


def test_truths_as_targets_are_words(tmp_path):
    assert load(tmp_path, "a,y\n1,True\n2,False\n", "y").y.tolist() == ["True", "False"]


def test_a_column_of_free_text_is_what_is_learned_from(tmp_path):
    lines = [f'row{i}\tit is number {i} and a "quote\tq{i % 2}' for i in range(60)]
    found = load(tmp_path, "id\ttext\tlabel\n" + "\n".join(lines), "label", "t.tsv")
    assert found.kind == "strings"
    assert found.X[7] == 'it is number 7 and a "quote'
    assert found.schema.columns == ("text",)
    assert "columns left out, different in (almost) every row: id" in found.notes


def test_text_beside_numbers_is_kept_and_names_are_left_out(tmp_path):
    lines = [f"{i},message number {i},{i % 2},id-{i}" for i in range(80)]
    text = "n,text,y,id\n" + "\n".join(lines)
    found = load(tmp_path, text, "y")
    assert list(found.X.columns) == ["n", "text"]
    assert "columns=['id']" in " ".join(found.notes)
    assert load(tmp_path, text, "y", columns=["text"]).kind == "strings"
    assert load(tmp_path, text, "y", columns="n").kind == "table"
    with pytest.raises(DataError, match="Did you mean 'text'"):
        load(tmp_path, text, "y", columns=["txet"])


def test_numbers_with_words_among_them_are_said(tmp_path):
    lines = [f"{i * 1.5},{i % 3},{i % 2}" for i in range(70)]
    found = load(tmp_path, "a,b,y\n" + "\n".join(lines) + "\nabout 7,1,0\n", "y")
    assert "1 values are no numbers, like 'about 7'" in " ".join(found.notes)


def test_dates_in_an_ambiguous_order_are_said(tmp_path):
    found = load(tmp_path, "d,b\n01/02/2020,1\n03/04/2020,2\n")
    assert "day and month cannot be told apart" in " ".join(found.notes)


def test_thousands_of_columns(tmp_path):
    names = [f"c{i}" for i in range(3_000)]
    rows = np.random.default_rng(0).integers(0, 9, (4, 3_000)).astype(str)
    rows[:, 5] = "1"
    found = load(tmp_path, "\n".join(",".join(r) for r in [names, *rows]), "c7")
    assert found.X.shape == (4, 2_998 - sum((rows == rows[0]).all(axis=0)) + 1)


def test_too_many_columns_are_counted(tmp_path):
    with pytest.raises(DataError, match="100001 columns"):
        load(tmp_path, ",".join(f"c{i}" for i in range(100_001)) + "\n1\n")


@pytest.mark.slow
def test_a_hundred_thousand_columns(tmp_path):
    names = ",".join(f"c{i}" for i in range(100_000))
    rows = np.random.default_rng(0).integers(0, 9, (20, 100_000)).astype(str)
    found = load(tmp_path, names + "\n" + "\n".join(map(",".join, rows)), "c7")
    assert found.X.shape == (20, 99_999)
    with pytest.raises(DataError, match="Did you mean"):
        data.load(tmp_path / "t.csv", "c_99")


def test_separators_are_counted_outside_quotes():
    assert find_separator('"a,b,c";d') == ";"
    assert find_separator("single") == ","


def test_a_byte_order_mark_and_lines_of_windows(tmp_path):
    found = load(tmp_path, b"\xef\xbb\xbfa,b\r\n1,2\r\n3,4\r\n", "a")
    assert found.y.tolist() == [1, 3]


def test_rows_without_a_line_of_names(tmp_path):
    found = load(tmp_path, "1,2\n3,4\n5,7\n", "x1")
    assert found.y.tolist() == [2, 4, 7]
    assert "no line of names" in found.notes[0]


@pytest.mark.parametrize(
    ("text", "target", "message"),
    [
        ("a b c\n1 2 3\n", "c", "one column only: is the separator"),
        ("a,b\n1,2,3\n1,2,3\n", None, "more than the 2 fields"),
        ("a,b\n1,2\n1,2,3\n", None, "line 3"),
        ("a,b\n1,\n2,\n", "b", "empty in every row"),
        ("a,b\n1,inf\n2,1.5\n", "b", "infinite"),
        ('a,b\n1,"2\n', None, "cannot be read"),
    ],
)
def test_odd_tables_are_named(tmp_path, text, target, message):
    with pytest.raises(DataError, match=message):
        load(tmp_path, text, target)


def test_frames_with_doubled_names_and_without_rows():
    with pytest.raises(DataError, match="same name"):
        Dataset.of(pd.DataFrame([[1, 2]], columns=["a", "a"]))
    with pytest.raises(DataError, match="no rows"):
        Dataset.of(pd.DataFrame({"a": []}))
    assert Dataset.of(pd.DataFrame({"a": [None, None], "b": [1, 2]})).names == ("b",)


def test_files_beyond_the_memory_limit_are_refused(tmp_path):
    text = "a,b\n" + "1,2\n" * 50_000
    with mercer.config(memory="100KB"):
        with pytest.raises(DataError, match="the memory limit is 100 KB"):
            load(tmp_path, text)
        with gzip.open(tmp_path / "t.csv.gz", "wt") as stream:
            stream.write(text)
        with pytest.raises(DataError, match="more than the memory limit"):
            data.load(tmp_path / "t.csv.gz")


def test_parquet(tmp_path, monkeypatch):
    pytest.importorskip("pyarrow")
    frame = pd.DataFrame({"a": [1.0, 2.0], "d": pd.to_datetime(["2020-01-01", "2020-01-02"]),
                          "y": ["u", "v"]})  # fmt: skip
    frame.to_parquet(tmp_path / "t.parquet")
    found = data.load(tmp_path / "t.parquet", "y", columns=["d"])
    assert found.X["d"].diff().iloc[1] == 86400
    (tmp_path / "bad.parquet").write_bytes(b"PAR1 not really")
    with pytest.raises(DataError, match="cannot be read as parquet"):
        data.load(tmp_path / "bad.parquet")

    def absent(path):
        raise ImportError

    monkeypatch.setattr(pd, "read_parquet", absent)
    with pytest.raises(ImportError, match="pip install pyarrow"):
        data.load(tmp_path / "t.parquet")


def test_suggestions_ignore_case_and_blanks(tmp_path):
    with pytest.raises(DataError, match="Did you mean 'Label'"):
        load(tmp_path, "a, Label\n1,2\n", "LABEL")


def test_columns_are_for_tables(tmp_path):
    np.savez(tmp_path / "x.npz", X=np.eye(3))
    with pytest.raises(DataError, match="columns are chosen from tables"):
        data.load(tmp_path / "x.npz", columns=["a"])


def test_empty_names_get_a_number(tmp_path):
    assert load(tmp_path, ",b\n1,2\n3,4\n").names == ("unnamed 0", "b")
