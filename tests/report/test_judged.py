"""What the report says of rows kept back: per class, over thresholds, by column, by size."""

from __future__ import annotations

import csv
import io
from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("matplotlib")
pytest.importorskip("pandas")
import pandas as pd
from sklearn.base import clone

from mercer import data, report
from mercer._machine.deadline import announced, now
from mercer.data import Dataset
from mercer.report.classes import certainties, class_figures, per_class, recall_curves, roc_curves
from mercer.report.errors import errors, wrong_rows
from mercer.report.study import Importance, Point, held_back, more_rows, study
from mercer.report.tables import importance
from mercer.selection import compare
from mercer.selection.board.scoreboard import OutOfFold

CLASSES = np.array(["a", "b", "c"])


@pytest.fixture(scope="module")
def judged():
    """A table of two classes: one column tells them apart, one does not, and one is a number."""
    rng = np.random.default_rng(0)
    n = 90
    frame = pd.DataFrame({"=tells": rng.normal(size=n), "noise": rng.normal(size=n)})
    frame["number"] = np.arange(n)
    frame["label"] = np.where(frame["=tells"] + 0.4 * rng.normal(size=n) > 0, "yes", "no")
    found = Dataset.of(frame, target="label", source="toy.csv")
    board = compare(found, kernels=["gaussian(1)"], learners=["logistic"], cv=3, holdout=0.4)
    return board, found


def answers(scores, truth, part=None, probable=True):
    truth = np.asarray(truth)
    n = len(truth)
    part = np.zeros(n, dtype=int) if part is None else np.asarray(part)
    predicted = CLASSES[np.argmax(scores, axis=1)]
    return OutOfFold(np.arange(n), truth, predicted, np.full(n, np.nan), part,
                     np.asarray(scores, float), np.full(n, probable))  # fmt: skip


def three_classes(n=90, parts=1, seed=0):
    rng = np.random.default_rng(seed)
    truth = CLASSES[np.arange(n) % 3]
    scores = rng.random((n, 3)) + 0.6 * (truth[:, None] == CLASSES)
    scores /= scores.sum(axis=1, keepdims=True)
    return answers(scores, truth, (np.arange(n) // 3) % parts)


def test_figures_per_class_are_those_of_scikit_learn():
    from sklearn.metrics import average_precision_score, f1_score, roc_auc_score

    held = three_classes()
    rows = per_class(held, CLASSES)
    f1 = f1_score(held.truth, held.predicted, labels=CLASSES, average=None)
    for i, (label, row) in enumerate(zip(CLASSES, rows, strict=True)):
        mine = held.truth == label
        assert row["rows"] == 30
        assert row["recall"] == np.mean(held.predicted[mine] == label)
        assert row["precision"] == np.mean(held.truth[held.predicted == label] == label)
        assert row["F1"] == pytest.approx(f1[i])
        assert row["AUC"] == pytest.approx(roc_auc_score(mine, held.scores[:, i]))
        assert row["AP"] == pytest.approx(average_precision_score(mine, held.scores[:, i]))


def test_curves_of_several_fits_are_averaged_because_their_scales_differ():
    held = three_classes(parts=2)
    scaled = np.where((held.part == 1)[:, None], 100 * held.scores, held.scores)
    for curves in (roc_curves, recall_curves):
        same, other = curves(held, CLASSES), curves(replace(held, scores=scaled), CLASSES)
        assert [c.area for c in same] == [c.area for c in other]
        assert all(np.array_equal(a.y, b.y) for a, b in zip(same, other, strict=True))
    assert recall_curves(held, CLASSES)[0].y[-1] > 0.3  # whole class found, not everything taken


def test_a_class_that_was_never_asked_about_has_no_curve():
    held = three_classes()
    kept = held.truth != "c"
    held = OutOfFold(**{name: values[kept] for name, values in vars(held).items()})
    assert roc_curves(held, CLASSES)[2] is None
    assert np.isnan(per_class(held, CLASSES)[2]["AUC"])
    assert roc_curves(replace(held, scores=None), CLASSES) == []


def test_more_than_two_classes_have_curves_and_calibration():
    drawn = "".join(svg + words for svg, words in class_figures(three_classes(), CLASSES))
    for name in ("confusion matrix", "receiver operating characteristic", "precision over recall",
                 "calibration"):  # fmt: skip
        assert f'aria-label="{name}"' in drawn
    assert "each against the rest" in drawn
    assert certainties(replace(three_classes(), probable=np.zeros(90, dtype=bool))) is None


def test_the_page_is_about_rows_kept_back(judged, monkeypatch):
    board, found = judged
    monkeypatch.setattr("mercer.report.study.PATIENCE", 600.0)  # on a busy machine, too
    held = board.headline.predictions
    assert held_back(board) is held
    page = report.render(board, found)
    assert f"From {len(held.rows)} rows that took no part in the choice" in page
    assert f"{int((held.errors > 0).sum())} of 36 held-out rows were predicted wrongly" in page
    for name in ("receiver operating characteristic", "precision over recall", "learning curve"):
        assert f'aria-label="{name}"' in page
    assert held_back(replace(board, headline=None)) is board.oof


def test_a_column_matters_when_shuffling_it_costs_score(judged):
    board, found = judged
    done = study(board, found, seconds=60.0)
    assert done.importance.names == ["=tells", "noise"], "the column that numbers rows is not there"
    assert done.importance.fall[0] > 0.2 > 0.1 > abs(done.importance.fall[1])
    assert [p.rows for p in done.curve] == [27, 54]
    assert done.curve[-1].score == board.headline.score, "the same rows, the same fit"
    assert study(replace(board, headline=None), found).curve == []


def test_without_time_the_headline_is_the_only_point(judged):
    board, found = judged
    with announced(now(), 0.0):
        done = study(board, found)
    assert done.importance is None
    assert [p.score for p in done.curve] == [board.headline.score]
    assert "no time" in more_rows(done.curve, board.task)


def test_a_model_that_was_not_fitted_again_is_used_as_it_is(judged):
    board, found = judged
    held = board.headline.predictions.rows
    others = np.setdiff1d(np.arange(len(found)), held)
    model = clone(board.best).fit(found.X.iloc[others], found.y[others])
    slow = replace(board, best=model, saved=replace(board.saved, rows=len(others), seconds=1e6))
    done = study(slow, found, seconds=60.0)
    assert [p.rows for p in done.curve] == [54], "a fit on half of the rows would take too long"
    assert done.importance.names[0] == "=tells"


def test_sparse_rows_are_shuffled_too():
    from scipy.sparse import csr_matrix

    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 3)) * (rng.random((80, 3)) < 0.7)
    board = compare(csr_matrix(X), X[:, 1], kernels=["linear()"], learners=["ridge"], cv=3,
                    holdout=0.3)  # fmt: skip
    found = Dataset.of(csr_matrix(X), X[:, 1])
    assert study(board, found, seconds=60.0).importance.names[0] == "x1"


def curve(before, after):
    return [Point(n, 0.0, 0.0, 0.0, np.asarray(losses, float))
            for n, losses in ((100, before), (200, after))]  # fmt: skip


def test_whether_more_rows_help_is_said_in_a_sentence():
    wrong = np.arange(1000) < 200
    better = np.arange(1000) < 120
    assert "still falling" in more_rows(curve(wrong, better), "classification")
    assert "the curve is level" in more_rows(curve(wrong, wrong), "classification")
    assert "too few to tell" in more_rows(curve(wrong[:20], np.arange(20) < 19), "classification")
    assert "no error left" in more_rows(curve(better, better & False), "classification")
    assert "20.00 % to 12.00 %" in more_rows(curve(wrong, better), "classification")
    assert "2 (RMS)" in more_rows(curve(np.full(50, 4.0), np.full(50, 1.0)), "regression")


def test_wrong_rows_are_a_file_that_no_spreadsheet_executes(judged):
    board, found = judged
    held = board.headline.predictions
    rows = list(csv.reader(io.StringIO(wrong_rows(board, found))))
    assert rows[0] == ["row", "truth", "predicted", "certainty", "'=tells", "noise", "number"]
    wrong = np.flatnonzero(held.errors)
    assert sorted(int(r[0]) for r in rows[1:]) == sorted(held.rows[wrong].tolist())
    sure = [float(r[3]) for r in rows[1:]]
    assert sure == sorted(sure, reverse=True)
    first = found.X.iloc[int(rows[1][0])]
    assert float(rows[1][4]) == first["=tells"]


def test_the_file_of_numbers_has_the_largest_error_first():
    X, y = data.sine_linear_noise(40)
    found = Dataset.of(X, y)
    board = compare(found, kernels=["gaussian(1)"], learners=["ridge"], cv=3, holdout=0.5)
    rows = list(csv.reader(io.StringIO(wrong_rows(board, found))))[1:]
    sizes = [abs(float(r[3])) for r in rows]
    assert len(rows) == 20
    assert sizes == sorted(sizes, reverse=True)


def test_columns_without_a_bar_are_counted():
    names = [f"c{i}" for i in range(20)]
    found = Importance(names, np.linspace(0.2, 0, 20), np.zeros(20), left_out=7)
    words = "".join(importance(found, "accuracy"))
    assert words.count('class="bar"') == 15
    assert "5 more columns" in words
    assert "no time for 7 other columns" in words


def test_wrong_rows_show_the_columns_that_matter():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(120, 9)), columns=[f"c{i}" for i in range(9)])
    found = Dataset.of(frame, np.where(frame["c8"] > 0.3 * rng.normal(size=120), "u", "v"))
    board = compare(found, kernels=["linear()"], learners=["ridge"], cv=3, holdout=0.4)
    known = study(board, found, 20.0).importance
    assert known.names[0] == "c8"
    shown = str(errors(board, found, known=known))
    assert ">c8</th>" in shown
    assert "The most important 6 of 9 columns" in shown
    assert "The first 6 of 9 columns" in errors(board, found)
