"""`on`: columns by index and by name, of arrays, CSR, DataFrames and records."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from mercer import Gaussian, Linear, Polynomial, Precomputed
from mercer.kernels import Delta, Hamming, Similarity, parse
from mercer.learners import KernelRidge

RNG = np.random.default_rng(3)
X = RNG.normal(size=(5, 4))


@pytest.fixture
def people() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "age": [30.0, 40.0, 35.0, 62.0],
            "height": [1.7, 1.8, 1.6, 1.75],
            "city": ["Rome", "Oslo", "Rome", "Bern"],
            "text": ["the cat", "a dog", "cat and dog", "the tree"],
        },
        index=[10, 3, 7, 3],
    )


def shared_letters(a: str, b: str) -> float:
    return float(len(set(a) & set(b)))


def test_indices_of_an_array_count_from_either_end() -> None:
    np.testing.assert_allclose(Linear().on([0, 2])(X), X[:, [0, 2]] @ X[:, [0, 2]].T)
    np.testing.assert_allclose(Linear().on(-1)(X), np.outer(X[:, 3], X[:, 3]))
    np.testing.assert_allclose(Linear().on([1, 1])(X), 2 * np.outer(X[:, 1], X[:, 1]))
    # The outer choice comes first: column 1 of the columns 3, 2.
    np.testing.assert_allclose(Linear().on(1).on([3, 2])(X), np.outer(X[:, 2], X[:, 2]))


@pytest.mark.parametrize("form", ["csr_matrix", "csc_matrix", "coo_matrix", "lil_array"])
def test_columns_of_any_sparse_format(form: str) -> None:
    S = getattr(sparse, form)(np.where(X > 0, X, 0))
    k = Gaussian().on([0, 2]) + Linear()
    np.testing.assert_allclose(k(S), k(np.where(X > 0, X, 0)), atol=1e-14)
    np.testing.assert_allclose(k.gram(S).block([1], slice(2, 5)), k(S)[[1], 2:5], atol=1e-14)


def test_names_of_a_frame(people) -> None:
    values = people[["age", "height"]].to_numpy()
    k = Gaussian(10.0).on("age") + Linear().on(["height"])
    np.testing.assert_allclose(
        k(people), Gaussian(10.0)(values[:, :1]) + np.outer(values[:, 1], values[:, 1])
    )
    # Positions work where no column has that name.
    np.testing.assert_array_equal(Linear().on([0, 1])(people), Linear()(values))


def test_names_of_a_polars_frame(people) -> None:
    polars = pytest.importorskip("polars")
    frame = polars.from_dicts(people.to_dict("records"))
    k = Gaussian(10.0).on(["age", "height"]) + Similarity(shared_letters).on("text")
    np.testing.assert_array_equal(k(frame), k(people))
    y = np.arange(len(people))
    model, same = (KernelRidge(Gaussian(10.0).on(["age"])).fit(rows, y) for rows in (frame, people))
    np.testing.assert_array_equal(model.predict(frame), same.predict(people))


def test_text_and_numbers_of_one_frame_make_one_kernel(people) -> None:
    k = (
        0.5 * Gaussian(10.0).on(["age"])
        + Delta().on("city") * Linear().on(["height"])
        + 0.1 * Similarity(shared_letters).on("text")
    )
    age, height = people["age"].to_numpy(), people["height"].to_numpy()
    city, text = list(people["city"]), list(people["text"])
    expected = [
        [
            0.5 * np.exp(-((age[i] - age[j]) ** 2) / 200)
            + (city[i] == city[j]) * height[i] * height[j]
            + 0.1 * shared_letters(text[i], text[j])
            for j in range(4)
        ]
        for i in range(4)
    ]
    np.testing.assert_allclose(k(people), expected)
    G = k.gram(people)
    np.testing.assert_allclose(G.block([2, 0], slice(1, 4)), np.array(expected)[[2, 0], 1:4])
    np.testing.assert_allclose(G.take(rows=[3, 3]).dense(), np.array(expected)[[3, 3]])
    np.testing.assert_allclose(G @ np.ones(4), np.sum(expected, axis=1))
    np.testing.assert_allclose(G.T.dense(), np.transpose(expected))
    np.testing.assert_allclose(k(people.iloc[:2], people.iloc[2:]), np.array(expected)[:2, 2:])
    np.testing.assert_allclose(k.diag(people), np.diag(expected))
    assert np.isclose(
        k.distance(people)[0, 1] ** 2, expected[0][0] - 2 * expected[0][1] + expected[1][1]
    )


def test_records_are_rows_with_names() -> None:
    records = [{"age": 1.0, "name": "ann"}, {"age": 3.0, "name": "bob"}]
    k = Linear().on("age") + Similarity(shared_letters).on("name")
    np.testing.assert_allclose(k(records), [[3.0, 3.0], [3.0, 11.0]])
    np.testing.assert_allclose(Linear().on(["age", "age"])(records), [[2.0, 6.0], [6.0, 18.0]])
    with pytest.raises(ValueError, match="there is no field 'size'"):
        Linear().on("size")(records)


def test_lists_that_mix_numbers_and_text() -> None:
    rows = [[1.0, "ann"], [3.0, "bob"]]
    k = Linear().on(0) + Similarity(shared_letters).on(1)
    np.testing.assert_allclose(k(rows), [[3.0, 3.0 - 0.0], [3.0, 11.0]])
    table = np.array(rows, dtype=object)
    np.testing.assert_allclose(k(table), k(rows))
    np.testing.assert_allclose(Linear().on([0])(table), [[1.0, 3.0], [3.0, 9.0]])


def test_a_column_that_does_not_exist(people) -> None:
    for k, data, message in [
        (Linear().on("weight"), people, "there is no column 'weight'; the columns are ['age',"),
        (Linear().on(["age", "weight"]), people, "there is no column 'weight'"),
        (Linear().on(9), people, "there is no column 9; there are 4"),
        (Linear().on(4), X, "there is no column 4; there are 4"),
        (Linear().on([-5]), X, "there is no column -5"),
        (Linear().on("age"), X, "'age' is a name, but the data is an array without names"),
        (Linear().on("age"), sparse.csr_matrix(X), "is a name, but the data is an array"),
    ]:
        with pytest.raises(ValueError) as told:
            k(data)
        assert message in str(told.value), k


def test_a_name_that_two_columns_have(people) -> None:
    twice = people[["age", "age"]]
    with pytest.raises(ValueError, match="more than one column 'age'; choose by index"):
        Linear().on("age")(twice)
    np.testing.assert_allclose(Linear().on(0)(twice), Linear().on("age")(people))


def test_integer_column_names_come_before_positions() -> None:
    frame = pd.DataFrame({5: [1.0, 2.0], 0: [3.0, 4.0]})
    np.testing.assert_allclose(Linear().on(5)(frame), [[1, 2], [2, 4]])
    np.testing.assert_allclose(Linear().on(0)(frame), [[9, 12], [12, 16]])
    np.testing.assert_allclose(Linear().on(1)(frame), [[9, 12], [12, 16]])


def test_text_columns_refuse_a_kernel_on_numbers(people) -> None:
    for k in (Gaussian(), Gaussian().on("city"), Gaussian().on(["age", "city"])):
        with pytest.raises(TypeError, match="needs numbers"):
            k(people)


@pytest.mark.parametrize("kernel", [Hamming(), Delta()])
def test_categories_of_any_type(kernel) -> None:
    frame = pd.DataFrame({"a": ["x", "y", "x"], "b": [1, 2, 1]})
    np.testing.assert_allclose(kernel(frame)[0], [1, 0, 1])
    np.testing.assert_allclose(kernel([["x", "p"], ["x", "p"], ["y", "q"]])[0], [1, 1, 0])
    np.testing.assert_allclose(kernel(["red", "blue", "red"]), [[1, 0, 1], [0, 1, 0], [1, 0, 1]])
    # The same label is the same number in every call, so new rows need no table.
    np.testing.assert_allclose(kernel(["red"], ["red", "blue"]), [[1, 0]])
    ids = np.array([[2**60], [2**60 + 1], [2**60]])
    np.testing.assert_allclose(kernel(ids), [[1, 0, 1], [0, 1, 0], [1, 0, 1]])
    np.testing.assert_allclose(kernel(np.array([[5], [2**60]])[:1], ids[:1] * 0 + 5), [[1]])


@pytest.mark.parametrize("missing", [None, np.nan, pd.NA, pd.NaT])
def test_missing_categories_are_told_about(missing) -> None:
    with pytest.raises(ValueError, match="a category is missing"):
        Delta()(pd.DataFrame({"a": pd.Series(["x", missing], dtype=object)}))


def test_a_frame_keeps_its_rows_when_the_index_repeats(people) -> None:
    """Rows are chosen by position, whatever the index says."""
    G = Similarity(shared_letters).on("text").gram(people)
    assert G.block([1], [3]) == shared_letters("a dog", "the tree")


def test_precomputed_takes_positions_of_columns() -> None:
    K = np.cov(RNG.normal(size=(4, 9)))
    np.testing.assert_array_equal(Precomputed()(K), K)
    np.testing.assert_array_equal(Precomputed()(K[:2], [3, 0]), K[:2][:, [3, 0]])
    np.testing.assert_array_equal((0.5 * Precomputed() + 1.0)(K), 0.5 * K + 1)
    np.testing.assert_array_equal((Precomputed() * Precomputed())(K, [1]), K[:, [1]] ** 2)
    scale = np.sqrt(np.diag(K))
    np.testing.assert_allclose(Precomputed().normalized()(K), K / np.outer(scale, scale))
    np.testing.assert_allclose(Precomputed().exp()(K), np.exp(K))
    np.testing.assert_array_equal(Precomputed().gram(K).T.dense(), K.T)
    np.testing.assert_array_equal(Precomputed().gram(K, [2, 1]).T.dense(), K[:, [2, 1]].T)
    np.testing.assert_array_equal(Precomputed()(sparse.csr_matrix(K)), K)
    assert Precomputed()(K.astype(np.float32)).dtype == np.float32
    skewed = np.triu(K)
    np.testing.assert_array_equal(Precomputed()(skewed), skewed)
    np.testing.assert_array_equal(Precomputed().gram(skewed).T.dense(), skewed.T)


def test_precomputed_says_what_is_wrong() -> None:
    K = np.eye(3)
    for given, kind, message in [
        ((K[:2],), ValueError, "must be square, got shape (2, 3)"),
        ((K, [3]), ValueError, "the model uses column 3, but the precomputed matrix has 3 columns"),
        ((K, [[0.0, 1.0]]), TypeError, "Z is a list of column positions"),
        ((K, [0.5]), TypeError, "Z is a list of column positions"),
        ((np.full((2, 2), np.nan),), ValueError, "contains NaN"),
        ((np.array([["a"]]),), TypeError, "text"),
        (([1.0, 2.0],), ValueError, "2-D"),
    ]:
        with pytest.raises(kind) as told:
            Precomputed()(*given)
        assert message in str(told.value), given
    with pytest.raises(ValueError, match="k\\(x, x\\) of new rows is not in a precomputed"):
        Precomputed().normalized()(K[:2], [0, 1])


def test_expressions_name_columns(people) -> None:
    k = parse(
        "0.5*gaussian(sigma=2).on(['age']) + polynomial(3, offset=1).on('height').normalized()"
    )
    expected = 0.5 * Gaussian(2.0).on(["age"]) + Polynomial(3, 1.0).on("height").normalized()
    np.testing.assert_array_equal(k(people), expected(people))


def test_the_diagonal_of_a_black_box_on_a_column(people) -> None:
    k = Similarity(shared_letters).on("text")
    np.testing.assert_array_equal(k.diag(people), [6, 5, 8, 5])
    normal = k.normalized()(people)
    np.testing.assert_allclose(np.diag(normal), 1.0)
    np.testing.assert_allclose(normal[0, 1], shared_letters("the cat", "a dog") / np.sqrt(6 * 5))


def test_categories_mix_types() -> None:
    rows = np.array(
        [[1, "a", True, 2.5], [1.0, "a", True, 2.5], [2, "b", False, 0.5]], dtype=object
    )
    np.testing.assert_allclose(Hamming()(rows), [[1, 1, 0], [1, 1, 0], [0, 0, 1]])


def test_columns_of_something_that_has_none() -> None:
    with pytest.raises(ValueError, match="selects columns of a 2-D array; the data has shape"):
        Linear().on(0)(np.arange(3.0))
    with pytest.raises(TypeError, match="2-D array of numbers; got str"):
        Linear().features("abc")
