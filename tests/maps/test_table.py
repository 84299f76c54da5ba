"""Tables at prediction are not the table of the training: order, gaps, new values, text."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from mercer.maps.table import MISSING, CommonScale, TableColumns, TextColumn


@pytest.fixture
def table():
    return pd.DataFrame(
        {
            "age": [30.0, np.nan, 25.0, 41.0],
            "town": ["Ulm", None, "Bonn", "Ulm"],
            "born": ["1990-01-02", "1985-12-31", None, "2000-02-29"],
            "same": ["x"] * 4,
            "empty": [None] * 4,
            "ok": [True, False, True, True],
        }
    )


def test_columns_are_told_apart(table):
    columns = TableColumns().fit(table)
    assert columns.numbers_ == ["age", "ok"]
    assert columns.categories_ == ["town"]
    assert columns.dates_ == ["born"]
    assert columns.dropped_ == ["same", "empty"]
    assert list(columns.get_feature_names_out()) == ["age", "ok", "born", "town"]


def test_numbers_dates_and_categories_come_out_clean(table):
    clean = TableColumns().fit_transform(table)
    assert clean["age"].isna().tolist() == [False, True, False, False]
    assert clean["ok"].tolist() == [1.0, 0.0, 1.0, 1.0]
    assert clean["town"].tolist() == ["Ulm", MISSING, "Bonn", "Ulm"]
    assert clean["born"].iloc[0] == pd.Timestamp("1990-01-02").timestamp()
    assert np.isnan(clean["born"].iloc[2])


def test_order_and_extra_columns_do_not_matter(table):
    columns = TableColumns().fit(table)
    other = table[["ok", "born", "town", "age"]].assign(new=1)
    pd.testing.assert_frame_equal(columns.transform(other), columns.transform(table))


def test_text_is_read_as_numbers_and_dates(table):
    columns = TableColumns().fit(table)
    raw = pd.DataFrame(
        {"age": ["7", "old"], "town": [3, "Ulm"], "born": ["2001-01-01", 5.0], "ok": ["1", ""]}
    )
    clean = columns.transform(raw)
    assert clean["age"].iloc[0] == 7.0
    assert np.isnan(clean["age"].iloc[1])
    assert clean["town"].tolist() == ["3", "Ulm"]
    assert np.isnan(clean["ok"].iloc[1])


def test_numbers_that_arrive_as_dates_become_seconds():
    columns = TableColumns().fit(pd.DataFrame({"when": [0.0, 86400.0]}))
    clean = columns.transform(pd.DataFrame({"when": ["1970-01-02", "1970-01-03"]}))
    assert clean["when"].tolist() == [86400.0, 2 * 86400.0]
    stamps = pd.DataFrame({"when": pd.to_datetime(["1970-01-02"])})
    assert columns.transform(stamps)["when"].tolist() == [86400.0]


def test_dates_that_arrive_as_numbers_are_seconds(table):
    columns = TableColumns().fit(table)
    clean = columns.transform(table.assign(born=[1.0, 2.0, np.inf, 4.0]))
    assert clean["born"].tolist()[:2] == [1.0, 2.0]
    assert np.isnan(clean["born"].iloc[2])


def test_nullable_and_categorical_columns():
    table = pd.DataFrame(
        {
            "n": pd.array([1, None, 3], dtype="Int64"),
            "c": pd.Categorical(["a", None, "b"]),
            "s": pd.array(["u", pd.NA, "v"], dtype="string"),
        }
    )
    clean = TableColumns().fit_transform(table)
    assert clean["n"].iloc[0] == 1.0
    assert np.isnan(clean["n"].iloc[1])
    assert clean["c"].tolist() == ["a", MISSING, "b"]
    assert clean["s"].tolist() == ["u", MISSING, "v"]


def test_arrays_take_the_names_of_the_columns():
    columns = TableColumns().fit(pd.DataFrame({"a": [1, 2], "b": ["u", "v"]}))
    clean = columns.transform(np.array([[5, "w"]], dtype=object))
    assert clean.to_dict("list") == {"a": [5.0], "b": ["w"]}
    with pytest.raises(ValueError, match="X has 1 columns, expected 2"):
        columns.transform(np.array([[5]]))


def test_a_missing_column_is_named(table):
    columns = TableColumns().fit(table)
    with pytest.raises(ValueError, match=r"no column 'town'.*Did you mean 'towns'"):
        columns.transform(table.rename(columns={"town": "towns"}))


def test_hopeless_tables_are_refused():
    with pytest.raises(ValueError, match="every column is constant"):
        TableColumns().fit(pd.DataFrame({"a": [1, 1]}))
    twice = pd.DataFrame([[1, 2], [3, 4]], columns=["a", "a"])
    with pytest.raises(ValueError, match="same name: 'a'"):
        TableColumns().fit(twice)


def test_text_column_reads_tables_series_and_lists():
    table = pd.DataFrame({"n": [1, 2], "text": ["hello", None]})
    step = TextColumn("text").fit(table)
    assert step.transform(table) == ["hello", ""]
    assert step.transform(table["text"]) == ["hello", ""]
    assert step.transform(["a", b"b"]) == ["a", b"b"]
    assert TextColumn().fit(table).transform(table[["text"]]) == ["hello", ""]
    with pytest.raises(ValueError, match=r"no column 'text'.*Did you mean 'texts'"):
        step.transform(table.rename(columns={"text": "texts"}))


def test_common_scale_keeps_ratios_and_sparsity():
    X = np.array([[0.0, 2.0], [-4.0, 1.0]], dtype=np.float32)
    scaled = CommonScale().fit_transform(X)
    assert scaled.dtype == np.float32
    np.testing.assert_allclose(scaled, X / 4)
    rows = sparse.csr_matrix(X)
    assert sparse.issparse(CommonScale().fit(rows).transform(rows))
    assert CommonScale().fit(np.zeros((2, 2))).scale_ == 1.0
