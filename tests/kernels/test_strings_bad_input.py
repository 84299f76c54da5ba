"""What is not a set of strings, and what no kernel on strings can be made of."""

from __future__ import annotations

import numpy as np
import pytest

import mercer

KERNELS = [
    mercer.Spectrum(2),
    mercer.kernels.Mismatch(2, 1),
    mercer.kernels.Subsequence(2),
    mercer.kernels.WeightedDegree(2),
    mercer.kernels.LocalAlignment(),
    mercer.kernels.BagOfWords(),
]


@pytest.mark.parametrize("k", KERNELS, ids=repr)
def test_empty_and_short_strings_are_like_nothing(k):
    assert np.array_equal(k(["", "", ""]), np.zeros((3, 3)))
    assert np.array_equal(k([""], ["abba", ""]), np.zeros((1, 2)))
    assert np.array_equal(k.normalized()(["", "ab"])[0], [0, 0])
    assert np.array_equal(k([[], []]), np.zeros((2, 2)))
    assert np.array_equal(k.diag([""]), [0])


def test_p_longer_than_the_strings():
    for k in (mercer.Spectrum(9), mercer.kernels.Mismatch(9, 2), mercer.kernels.Subsequence(9)):
        assert np.array_equal(k(["ab", "abc"]), np.zeros((2, 2)))


@pytest.mark.parametrize("k", KERNELS, ids=repr)
def test_bytes_are_not_mixed_with_str(k):
    with pytest.raises(TypeError, match="row 0 of X is str and row 1 is bytes: decode"):
        k(["ab", b"ab"])
    with pytest.raises(TypeError, match="X holds str and Z holds bytes: decode"):
        k(["ab"], [b"ab"])
    with pytest.raises(TypeError, match="one kind"):
        k([["a", "b"], "ab"])


@pytest.mark.parametrize("k", KERNELS, ids=repr)
@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (["ab", None], "row 1 of X is missing"),
        (["ab", float("nan")], "row 1 of X is missing"),
        ([1, 2], "row 0 of X is int 1"),
        ([{"a": 1}], "row 0 of X is dict"),
        ([3.5], "row 0 of X is float"),
        (np.array([[0.5, 1.0]]), "fractional"),
        (np.zeros((2, 2, 2)), "shape"),
        ([np.zeros((2, 2))], "ndarray"),
    ],
)
def test_rows_that_are_no_strings(k, rows, message):
    with pytest.raises(TypeError, match=message):
        k(rows)


@pytest.mark.parametrize("k", KERNELS, ids=repr)
def test_not_a_set_of_strings(k):
    with pytest.raises(TypeError, match="wrap it in a list"):
        k("ab")
    with pytest.raises(TypeError, match="wrap it in a list"):
        k.prepare("ab")
    with pytest.raises(ValueError, match="empty"):
        k([])
    sparse = pytest.importorskip("scipy.sparse")
    with pytest.raises(TypeError, match="sparse"):
        k(sparse.eye_array(2).tocsr())


def test_tokens_must_be_hashable():
    with pytest.raises(TypeError, match="row 1 holds list"):
        mercer.Spectrum(1)([["a"], [["b"]]])
    with pytest.raises(TypeError, match="row 0 holds tuple"):
        mercer.Spectrum(1)([[("a", [])]])


def test_tokens_of_any_type():
    tokens = [[1, "a", (2, 3), None], [1.0, "a", 7]]
    assert np.array_equal(mercer.Spectrum(1)(tokens), [[4, 2], [2, 3]])
    assert np.array_equal(mercer.Spectrum(1)(np.array([[1, 2], [2.0, 2]])), [[2, 2], [2, 4]])


def test_strange_letters():
    X = ["\ud800\udfff", "é\U0001f600é", "\x00\x00", "e\u0301"]
    K = mercer.Spectrum(1)(X)
    assert np.array_equal(np.diagonal(K), [2, 5, 4, 2])
    assert K[1, 3] == 0  # letters are code points; normalize the text first where that matters
    assert mercer.kernels.Subsequence(1, 1.0)(X)[1, 1] == 5


def test_an_alphabet_that_is_too_small_is_named():
    with pytest.raises(ValueError, match=r"5 different letters.*alphabet=5"):
        mercer.kernels.Mismatch(2, 1)(["abcd"], ["e"])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: mercer.Spectrum(0), "p must be"),
        (lambda: mercer.Spectrum(1.5), "p must be"),
        (lambda: mercer.Spectrum(2, blended=True, weights=(1, 1)), "not both"),
        (lambda: mercer.Spectrum(2, weights=(1,)), "one weight for each length"),
        (lambda: mercer.Spectrum(1, weights=(np.inf,)), "finite"),
        (lambda: mercer.kernels.Mismatch(2, 2), "less than p"),
        (lambda: mercer.kernels.Mismatch(2, 1, alphabet=0), "alphabet"),
        (lambda: mercer.kernels.Subsequence(2, 0.0), "decay must be a number, positive"),
        (lambda: mercer.kernels.Subsequence(2, np.nan), "finite"),
        (lambda: mercer.kernels.LocalAlignment(beta=-1), "beta must be a number, positive"),
        (
            lambda: mercer.kernels.LocalAlignment(gap_open=-1),
            "gap_open must be a number, at least 0",
        ),
        (lambda: mercer.kernels.LocalAlignment(beta=300.0), "beyond 200"),
        (lambda: mercer.kernels.BagOfWords(pattern="["), "not a pattern"),
    ],
)
def test_impossible_parameters(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_parameters_of_the_wrong_type():
    with pytest.raises(TypeError, match="p must be a whole number"):
        mercer.Spectrum("3")
    with pytest.raises(TypeError, match="list of p"):
        mercer.Spectrum(2, weights=3.0)
    with pytest.raises(TypeError, match="needs numbers"):
        mercer.Gaussian()(["ab", "cd"])
