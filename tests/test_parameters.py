"""Declared parameters: every rule takes what it says, refuses the rest, and says so."""

import math

import numpy as np
import pytest

from mercer._parameters import (
    Among,
    Anything,
    Count,
    Either,
    Flag,
    Maybe,
    NonNegative,
    Number,
    OneOf,
    Pair,
    Positive,
    Several,
    Share,
    check_parameters,
    checked,
)

CHECKS = [
    (Positive(), [1, 0.5, np.float32(2)], "a number, positive and finite"),
    (Positive(infinite=True), [math.inf, 3], "a number, positive"),
    (NonNegative(), [0, 7.5], "a number, at least 0 and finite"),
    (Share(), [1, 0.25], "a number, positive and at most 1"),
    (Number(0, 1, open_low=True, open_high=True), [0.5], "a number, positive and below 1"),
    (Number(-1, open_low=True), [0], "a number, above -1 and finite"),
    (Number(), [-3], "a number, finite"),
    (Count(), [1, np.int64(4)], "a whole number of at least 1"),
    (Count(0), [0], "a whole number of at least 0"),
    (OneOf("a", "b"), ["a"], "one of 'a', 'b'"),
    (OneOf("a", more=lambda: ["b"]), ["b"], "one of 'a', 'b'"),
    (Flag(), [True, np.False_], "True or False"),
    (Maybe(Count()), [None, 2], "a whole number of at least 1, or None"),
    (Either(OneOf("auto"), Positive()), ["auto", 2.0], "'auto', or a number, positive"),
    (Several(Positive()), [1.0, [1, 2], np.ones(3)], "or a list of such"),
    (Several(OneOf("a", "b")), [["a"], {"b"}, ("a", "b")], "or a list of such"),
    (Pair(Count()), [(2, 3), [4, np.int64(5)]], "a pair, each a whole number"),
    (Among(-1), [-1, np.int64(-1)], "one of -1"),
    (Count(0, 3), [0, 3], "a whole number from 0 to 3"),
    (Anything(), [object()], "anything"),
]


@pytest.mark.parametrize(("check", "good", "words"), CHECKS, ids=[words for *_, words in CHECKS])
def test_a_check_takes_what_it_says_and_refuses_the_rest(check, good, words):
    assert words in check.words
    for value in good:
        check(value)
    for value in check.bad():
        with pytest.raises((TypeError, ValueError)):
            check(value)


def test_the_error_names_class_parameter_rule_and_value():
    class Model:
        alpha = -1.0
        steps = "many"

    with pytest.raises(ValueError, match=r"Model: alpha must be a number, positive .*got -1.0"):
        check_parameters(Model(), {"alpha": Positive()})
    with pytest.raises(TypeError, match=r"Model: steps must be a whole number .*got 'many'"):
        check_parameters(Model(), {"steps": Count()})
    with pytest.raises(ValueError, match=r"\(it is a share\)"):
        checked("Model", "nu", 2.0, Share(), "it is a share")


def test_values_come_as_they_are_used():
    assert type(checked("Model", "alpha", np.float32(0.5), Positive())) is float
    assert type(checked("Model", "steps", np.int32(3), Count())) is int
    np.testing.assert_array_equal(checked("Model", "grid", [1, 2], Several(Positive())), [1.0, 2.0])


def test_only_defaults_are_taken_as_they_are():
    class Model:
        def __init__(self, alpha=1.0):
            self.alpha = alpha

    check_parameters(Model(), {"alpha": Positive()})
    with pytest.raises(ValueError, match="alpha must be a number, positive"):
        check_parameters(Model(-1.0), {"alpha": Positive()})


@pytest.mark.parametrize("number", [2**63, 10**400])
def test_a_number_that_no_array_holds_is_refused_with_its_size(number):
    size = "larger than every float" if number > 1e308 else "more than 64 bits"
    with pytest.raises(ValueError, match=f"Model: steps must be a whole number .*{size}"):
        checked("Model", "steps", number, Count())
    checked("Model", "steps", 2**63 - 1, Count())
