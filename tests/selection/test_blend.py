"""The mean of finalists: weights, when it is taken, what is saved, and that every row is used."""

import time
from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import make_friedman1

import mercer
import mercer.onnx
from mercer.selection.metrics import accuracy, r2
from mercer.selection.racing.blend import blended, greedy
from mercer.selection.racing.clock import Clock
from mercer.selection.racing.entries import Data, Entry
from mercer.selection.racing.forecasts import Forecasts
from mercer.selection.trainers.base import Outcome
from mercer.selection.trainers.grid import trainers_for


def judged(said, truth, metric, index, classes=0):
    answers = said.argmax(axis=1) if classes else said
    scores = said if classes else None
    outcome = Outcome(answers, np.full(len(truth), np.nan), 1, 0.1, 0.1, 0, {0: 0.0}, 0, scores,
                      bool(classes))  # fmt: skip
    task = "classification" if classes else "regression"
    trainer = trainers_for(task)["ridge"]
    entry = Entry(mercer.Gaussian(1.0 + index), trainer, index, size=100)
    return replace(
        entry, scores=[metric(truth, answers)], outcomes=[outcome], final=True,
        tests=[np.arange(len(truth))], fitted={100: 1e-6}, chosen=[outcome],
    )  # fmt: skip


def data_of(y, classes, metric):
    return Data(np.zeros((len(y), 1)), y, classes, metric, [], np.arange(len(y)), 0)


def test_weights_are_those_of_the_least_loss():
    rng = np.random.default_rng(0)
    truth = rng.normal(size=400)
    said = [truth + 0.5 * rng.normal(size=400) for _ in range(2)] + [rng.normal(size=400)]
    weights = greedy(said, truth)
    tried = [(i / 5, j / 5, 1 - (i + j) / 5) for i in range(6) for j in range(6 - i)]
    best = min(tried, key=lambda w: np.mean((np.tensordot(w, said, axes=1) - truth) ** 2))
    assert weights == pytest.approx(best)


def test_errors_apart_are_averaged_and_chance_is_not():
    rng = np.random.default_rng(1)
    truth = rng.normal(size=300)
    apart = [truth + 0.5 * rng.normal(size=300) for _ in range(2)]
    entries = sorted((judged(s, truth, r2, i) for i, s in enumerate(apart)), key=Entry.rank)
    made = blended(entries, data_of(truth, 0, r2), 7)
    assert made.index == 7
    assert made.mean > entries[0].mean + 0.05
    assert made.name.count("×") == 2
    copies = [judged(apart[0] + 1e-3 * i, truth, r2, i) for i in (0, 1)]
    assert blended(copies, data_of(truth, 0, r2), 7) is None


def test_classes_are_averaged_by_probabilities():
    rng = np.random.default_rng(2)
    truth = rng.integers(2, size=500)
    said = []
    for _ in range(2):
        odds = (2 * truth - 1) + 1.5 * rng.normal(size=500)
        p = 1 / (1 + np.exp(-odds))
        said.append(np.column_stack([1 - p, p]))
    known = [judged(s, truth, accuracy, i, 2) for i, s in enumerate(said)]
    entries = sorted(known, key=Entry.rank)
    made = blended(entries, data_of(truth, 2, accuracy), 2)
    expected = accuracy(truth, (said[0] + said[1]).argmax(axis=1))
    weights = dict(zip([e.index for e in made.trainer.members], made.trainer.weights, strict=True))
    mean = sum(weights[i] * s for i, s in enumerate(said))
    assert made.outcomes[0].scores == pytest.approx(mean)
    assert made.mean >= expected - 0.02
    assert made.mean > entries[0].mean


@pytest.mark.parametrize("task", ["regression", "classification"])
def test_a_blend_is_saved_exported_and_explained(task, tmp_path, monkeypatch):
    """Also where members have classes by name, and no probabilities of their own."""
    X, y = make_friedman1(900, noise=2.0, random_state=0)
    if task == "classification":  # thresholds, and what is smooth
        rng = np.random.default_rng(0)
        X = rng.normal(size=(1200, 8))
        smooth = 2.0 * np.sin(1.5 * X[:, 2] + X[:, 3]) + X[:, 4] * X[:, 5]
        c = 2.0 * np.sign(X[:, 0] - 0.3) * (X[:, 1] > 0) + smooth + 0.3 * rng.normal(size=1200) > 0
        y = np.array(["no", "yes"])[c.astype(int)]
    # Whatever the machine does meanwhile: forecasts are of work, and the clock stands still.
    monkeypatch.setattr(Clock, "spent", lambda self: 0.0)
    # A better boosting may leave nothing to a blend.
    monkeypatch.setattr("mercer.selection.racing.finals.Finals._tune", lambda self: None)
    board = mercer.compare(X[:800], y[:800], task=task, budget=40, kernels=["gaussian(2)"],
                           learners=["svm"], rivals=["boosting", "forest"],
                           holdout=0.2)  # fmt: skip
    assert board.best_row.learner == "blend"
    assert board.saved.rows == 800
    members = [r.mean for r in board.rows if r.learner != "blend" and not r.stopped]
    assert board.best_row.mean > max(members)
    assert any("a blend has won" in n for n in board.notes)
    file = tmp_path / "blend.mercer"
    mercer.save(board.best, file)
    again = mercer.load(file)
    assert np.array_equal(again.predict(X[800:]), board.best.predict(X[800:]))
    output = "margin" if task == "regression" else "probability"
    reasons = mercer.explain_rows(board.best, X[800:802], X[:20], output=output, walks=5)
    assert np.isfinite(reasons.values).all()
    onnxruntime = pytest.importorskip("onnxruntime")
    mercer.onnx.export(board.best, tmp_path / "blend.onnx", dtype="float64")
    session = onnxruntime.InferenceSession(tmp_path / "blend.onnx")
    said = session.run(None, {"X": X[800:]})[0].ravel()
    expected = board.best.predict(X[800:])
    same = np.isclose(said, expected) if task == "regression" else said == expected
    assert same.mean() > 0.99
    if task == "classification":
        assert again.predict_proba(X[800:]).sum(axis=1) == pytest.approx(1.0)


def test_the_last_fit_has_all_rows_on_a_crowded_machine(monkeypatch):
    """Forecasts say that there is no time for all of K: centers, and not fewer rows."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, 3))
    y = np.sin(X[:, 0]) + 0.1 * rng.normal(size=4000)
    real = Forecasts.fit_seconds

    def slow(self, entry, rows):
        return 1e3 * real(self, entry, rows) if entry.trainer.centers is None else 1e-3

    monkeypatch.setattr(Forecasts, "fit_seconds", slow)
    monkeypatch.setattr("mercer.selection.racing.finals.Finals.run", lambda self, fresh: None)
    begin = time.perf_counter()
    board = mercer.compare(X, y, budget=30, kernels=["gaussian(1)"], learners=["ridge"])
    assert time.perf_counter() - begin < 33
    assert board.saved.rows == 4000
    assert board.best[-1].n_centers in (3000, 1000)
    assert board.headline.score > 0.95


def test_where_the_time_is_over_centers_are_fitted_late(monkeypatch):
    """Also where equal rows keep the closed form of leave-one-out errors away."""
    rng = np.random.default_rng(0)
    X = np.repeat(rng.normal(size=(1500, 3)), 2, axis=0)
    y = np.where(np.sin(2 * X[:, 0]) + X[:, 1] > 0, "a", "b")
    monkeypatch.setattr(Forecasts, "fit_seconds", lambda self, entry, rows: 1e6)
    monkeypatch.setattr("mercer.selection.racing.finals.Finals.run", lambda self, fresh: None)
    board = mercer.compare(X, y, budget=30, kernels=["gaussian(1)"], learners=["ridge"])
    assert board.saved.rows == 3000
    assert (board.best[-1].solver, board.best[-1].n_centers) == ("nystrom", 1000)
    assert board.headline.score > 0.93
