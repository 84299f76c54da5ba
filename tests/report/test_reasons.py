"""The section "Why these rows": the wrong and the unsure ones, and where two importances differ."""

from __future__ import annotations

import re

import numpy as np
import pytest

pytest.importorskip("matplotlib")
pytest.importorskip("pandas")
from mercer import report
from mercer._machine.deadline import announced
from mercer.report.reasons import reasons
from mercer.report.study import Importance, Study, held_back
from mercer.selection import compare


@pytest.fixture(scope="module")
def compared():
    import pandas as pd

    random = np.random.default_rng(0)
    frame = pd.DataFrame(random.normal(size=(150, 3)), columns=["a", "b", "$c$"])
    y = np.where(frame.a + 0.5 * frame.b + 0.6 * random.normal(size=150) > 0, "yes", "no")
    board = compare(frame, y, kernels=["gaussian(2)"], learners=["svm"], cv=3)
    return board, report.page._dataset(board, (frame, y))


def section(board, data, importance=None):
    return "".join(reasons(board, data, Study([], importance)))


def test_wrong_and_unsure_rows_are_explained(compared):
    board, data = compared
    text = section(board, data)
    held = held_back(board)
    wrong = [str(held.rows[i]) for i in held.worst(2)]
    assert re.findall(r"Row (\d+), wrong", text) == wrong
    unsure = re.findall(r"Row (\d+), unsure", text)
    least = np.nanmin(np.delete(held.certainty, held.worst(2)))
    assert held.certainty[np.flatnonzero(held.rows == int(unsure[0]))[0]] == least
    assert text.count("<svg") == 4
    assert (
        "interventional (not observational, which is E[f(X) | x_S]): v(S) = mean over 100" in text
    )


def test_a_sentence_where_importances_disagree(compared):
    board, data = compared
    falls, spread = np.array([0.3, 0.1]), np.zeros(2)
    assert "disagree" not in section(board, data, Importance(["a", "b"], falls, spread, 1))
    text = section(board, data, Importance(["b", "a"], falls, spread, 1))
    assert "a by mean |Shapley value|, a by slope times spread, b by score lost" in text


def test_kernels_that_do_not_factor_and_no_time_leave_it_out(compared):
    board, data = compared
    with announced(0.0, 1.0):
        assert section(board, data) == ""
    other = compare(data.X, data.y, kernels=["laplacian(1)"], learners=["ridge"], cv=3)
    assert section(other, data) == ""
