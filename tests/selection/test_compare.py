"""The scoreboard: honest scores, the same folds for all, a winner that reads raw rows."""

import json
import os
import warnings
from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.pipeline import Pipeline

import mercer
from mercer import Gaussian, Linear
from mercer._machine.deadline import OutOfTime
from mercer.gram.host import HostGram
from mercer.selection import Scoreboard
from mercer.selection.choice import CHOICE_ROWS
from mercer.selection.racing.candidates import kernels_for, median_distance
from mercer.selection.racing.clock import Clock
from mercer.selection.racing.entries import Data
from mercer.selection.racing.race import Race

#: The race alone; what is kept from it is in test_holdout.py.
compare = partial(mercer.selection.compare, holdout=None, rivals=None)

FEW = {"kernels": [Linear(), Gaussian(1.0)], "learners": ["ridge", "svm"], "cv": 3}


@pytest.fixture(scope="module")
def moons():
    return compare(*mercer.data.moons(150), cv=3)


def table(n=90, seed=0):
    random = np.random.default_rng(seed)
    age, town = random.normal(40, 10, n), random.choice(["Ulm", "Bonn", "Köln"], n)
    label = np.where((age > 40) ^ (town == "Ulm"), "yes", "no")
    frame = pd.DataFrame({"age": age, "town": town, "same": 1, "label": label})
    frame.loc[:4, "age"] = np.nan
    return frame


# --- what is on the board ------------------------------------------------------------------------


def test_rows_are_complete_and_sorted(moons):
    assert isinstance(moons, Scoreboard)
    assert moons.rows[0] is moons.best_row
    done = [row.mean for row in moons.rows if not row.stopped]
    assert done == sorted(done, reverse=True)
    learners = {row.learner for row in moons.rows}
    assert learners == {
        "KernelRidgeClassifier",
        "KernelSVC",
        "KernelLogisticRegression",
        "KernelPerceptron",
        "KernelNeighborsClassifier",
        "NadarayaWatsonClassifier",
        "DummyClassifier",
    }
    for row in moons.rows:
        assert len(row.scores) == 3
        assert row.mean == pytest.approx(np.mean(row.scores))
        assert row.spread == pytest.approx(np.std(row.scores))
        assert row.rows_seen == 150
        assert row.fit_seconds >= 0
        assert row.memory_bytes > 0
        if row.kernel:
            assert repr(mercer.parse(row.kernel)) == row.kernel
            assert 0 < row.n_support <= 100
    assert moons.best_row.mean > 0.95
    assert moons.baseline.mean < 0.6
    assert (moons.task, moons.metric, moons.kind) == ("classification", "accuracy", "vectors")


def test_scores_are_those_of_scikit_learn(moons):
    """A ridge row is what cross_val_score gives for the whole procedure on the same folds."""
    from sklearn.model_selection import StratifiedKFold, cross_val_score
    from sklearn.preprocessing import StandardScaler

    from mercer.selection.trainers.ridge import PENALTIES

    X, y = mercer.data.moons(150)
    Z = StandardScaler().fit_transform(X)
    row = next(
        r for r in moons.rows if r.learner == "KernelRidgeClassifier" and "Gaussian" in r.kernel
    )
    model = mercer.KernelRidgeClassifier(row.kernel, alphas=PENALTIES, solver="cholesky")
    folds = StratifiedKFold(3, shuffle=True, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = cross_val_score(model, Z, y, cv=folds)
    np.testing.assert_allclose(row.scores, expected, atol=0.021)  # one row more or less


def test_proof_and_oof(moons):
    assert moons.proof
    y = mercer.data.moons(150)[1]
    np.testing.assert_array_equal(moons.oof.rows, np.arange(150))
    np.testing.assert_array_equal(moons.oof.truth, y)
    right = np.mean(moons.oof.truth == moons.oof.predicted)
    assert right == pytest.approx(moons.best_row.mean, abs=0.01)
    worst = moons.oof.worst(5)
    assert (moons.oof.errors[worst] == 1).all()
    sure = moons.oof.certainty[worst]
    assert (np.diff(sure) <= 0).all()


def test_as_frame_dict_text_and_picture(moons):
    frame = moons.to_frame()
    assert len(frame) == len(moons.rows)
    assert frame["mean"].iloc[0] == moons.best_row.mean
    read = json.loads(json.dumps(moons.to_dict()))
    assert read["best"]["kernel"] == moons.best_row.kernel
    assert read["classes"] == [-1, 1]
    text = str(moons)
    assert max(len(line) for line in text.splitlines()) <= 80
    assert moons.best_row.learner in text
    assert "baseline" in text
    assert "baseline" not in repr(moons)
    ax = moons.plot()
    assert len(ax.get_yticklabels()) == 15


def test_the_board_uses_the_room_there_is(moons):
    from rich.console import Console

    wide = Console(width=140, record=True, file=open(os.devnull, "w"))  # noqa: SIM115
    wide.print(moons)
    assert any(len(line.rstrip()) > 80 for line in wide.export_text().splitlines())


# --- the winner ----------------------------------------------------------------------------------


def test_the_winner_reads_raw_tables_and_travels(tmp_path):
    frame = table()
    board = compare(frame, "label", **FEW)
    assert isinstance(board.best, Pipeline)
    assert any("left out: same" in note for note in board.notes)
    raw = frame.drop(columns=["label"])
    expected = board.best.predict(raw)
    assert set(expected) <= {"yes", "no"}
    assert np.mean(expected == frame["label"]) > 0.8
    other = raw[["town", "same", "age"]].copy()
    np.testing.assert_array_equal(board.best.predict(other), expected)
    other.loc[0, "town"] = "Paris"
    other.loc[1, "age"] = np.nan
    other["age"] = other["age"].astype(object)
    mercer.save(board.best, tmp_path / "m.mercer")
    loaded = mercer.load(tmp_path / "m.mercer")
    np.testing.assert_array_equal(loaded.predict(other), board.best.predict(other))


@pytest.mark.parametrize("n_classes", [2, 3])
def test_strings(tmp_path, n_classes):
    words = ["money win prize", "lunch at noon", "train is late"][:n_classes]
    X = [f"{words[i % n_classes]} {i}" for i in range(45)]
    y = np.array(["a", "b", "c"])[np.arange(45) % n_classes]
    board = compare(X, y, cv=3, learners=["ridge", "perceptron"])
    assert board.kind == "strings"
    assert board.best_row.mean > 0.95
    mercer.save(board.best, tmp_path / "m.mercer")
    assert mercer.load(tmp_path / "m.mercer").predict([words[0]]) == ["a"]
    frame = pd.DataFrame({"text": X})
    assert compare(frame, y, **{**FEW, "kernels": ["spectrum(3)"]}).best.predict(frame[:2]).size


def test_sequences_of_one_length_are_compared_place_by_place():
    random = np.random.default_rng(0)
    X = ["".join(random.choice(list("ACGT"), 12)) for _ in range(60)]
    made = kernels_for(X, "strings")
    assert any("WeightedDegree" in repr(k) for k in made)
    assert not any("BagOfWords" in repr(k) for k in made)
    assert all(k.claim(None).holds for k in made)


def test_mail():
    mails = [
        f"From: a{i}@x.org\nSubject: {'pills' if i % 2 else 'minutes'}\n\nhello {i % 7}".encode()
        for i in range(40)
    ]
    board = compare(mails, [i % 2 for i in range(40)], kernels=["linear()"], cv=3)
    assert board.best_row.mean == 1.0
    assert board.best.predict(mails[:2]).tolist() == [0, 1]


def test_sparse_rows(tmp_path):
    X = sparse.random(90, 60, 0.2, random_state=0, format="csr")
    y = np.asarray(X.sum(axis=1)).ravel() > 6
    board = compare(X, y, **FEW)
    mercer.save(board.best, tmp_path / "m")
    np.testing.assert_array_equal(mercer.load(tmp_path / "m").predict(X), board.best.predict(X))
    assert board.classes.tolist() == [False, True]


def test_images_share_a_scale():
    data = mercer.data.digits()
    board = compare(data.X[:200], data.y[:200], kernels=["gaussian(2)"], learners=["ridge"], cv=3)
    assert "common maximum" in " ".join(board.notes)
    assert board.best_row.mean > 0.9


def test_regression():
    X, y = mercer.data.sine_linear_noise(100)
    board = compare(X, y, cv=3)
    assert (board.task, board.metric, board.classes) == ("regression", "r2", None)
    assert {r.learner for r in board.rows} >= {"KernelRidge", "KernelSVR", "DummyRegressor"}
    assert board.best_row.mean > 0.8
    assert board.baseline.mean < 0.1
    assert board.oof.errors[board.oof.worst(1)[0]] == board.oof.errors.max()
    assert np.isnan(board.oof.certainty).all()
    other = compare(X, y, metric="neg_mean_absolute_error", **FEW)
    assert -1 < other.best_row.mean < 0
    assert "MAE" in str(other)


@pytest.mark.parametrize("scale", [1e-6, 1e6])
def test_the_units_of_the_target_do_not_matter(scale):
    X, y = mercer.data.sine_linear_noise(60)
    plain = compare(X, y, **FEW)
    scaled = compare(X, scale * y, **FEW)
    means = {r.name: r.mean for r in scaled.rows}
    for row in plain.rows:
        assert means[row.name] == pytest.approx(row.mean, abs=2e-3)


# --- options -------------------------------------------------------------------------------------


def test_the_same_seed_gives_the_same_board():
    X, y = mercer.data.circles(80)
    first, second = compare(X, y, **FEW), compare(X, y, **FEW)
    assert [(r.name, r.scores) for r in first.rows] == [(r.name, r.scores) for r in second.rows]
    np.testing.assert_array_equal(first.oof.predicted, second.oof.predicted)
    other = compare(X, y, random_state=1, **FEW)
    assert [r.scores for r in other.rows] != [r.scores for r in first.rows]


def test_repeats_and_splitters():
    from sklearn.model_selection import LeaveOneOut

    X, y = mercer.data.circles(40)
    board = compare(X, y, repeats=2, **FEW)
    assert {len(r.scores) for r in board.rows} == {6}
    assert len(board.oof.rows) == 40
    assert board.folds == "3-fold cross-validation, 2 times"
    single = compare(X, y, **{**FEW, "cv": LeaveOneOut(), "learners": ["ridge"]})
    assert len(single.best_row.scores) == 40


def test_learners_by_name_and_class():
    X, y = mercer.data.circles(40)
    board = compare(X, y, kernels=["gaussian(1)"], learners=["KernelSVC", "neighbours"], cv=3)
    assert {r.learner for r in board.rows if r.kernel} == {"KernelSVC", "KernelNeighborsClassifier"}
    with pytest.raises(ValueError, match="ridge, svm, logistic"):
        compare(X, y, learners=["forest"])
    with pytest.raises(ValueError, match="learners is empty"):
        compare(X, y, learners=[])
    only = compare(X, y, learners=["smoother"], cv=3)
    assert only.best_row.learner == "NadarayaWatsonClassifier"
    assert "bandwidth" in only.best_row.params


def test_widths_may_be_left_to_the_data():
    X, y = mercer.data.circles(40)
    board = compare(X, y, kernels=["rbf", "linear()"], learners=["ridge"], cv=3)
    best = mercer.parse(board.best_row.kernel)
    assert isinstance(best, Gaussian)
    assert best.sigma > 0


def test_what_belongs_elsewhere_is_told_where():
    from sklearn.svm import SVC

    X, y = mercer.data.moons(60)
    with pytest.raises(TypeError, match=r"got SVC\(\).*rivals="):
        compare(X, y, learners=[SVC()])
    with pytest.raises(mercer.data.DataError, match="objects of the type set"):
        compare([{1, 2}] * len(y), y)
    with pytest.raises(mercer.data.DataError, match="objects of the type tuple"):
        compare([(np.eye(2), ["a", "b"]), (np.eye(3), ["a", "b", "c"])] * 30, [0, 1] * 30)
    one = compare(X, y, kernels=["linear()"], learners="ridge", cv=2, holdout=None)
    assert next(row.learner for row in one.rows) == "KernelRidgeClassifier"


@pytest.mark.parametrize("progress", [False, True])
def test_progress_may_be_a_truth(progress):
    assert compare(*mercer.data.moons(60), **FEW, progress=progress).rows


def test_a_headline_is_one_sentence():
    headline = compare(*mercer.data.moons(60), **{**FEW, "holdout": 0.3}).headline
    for shown in (str(headline), repr(headline)):
        assert len(shown) < 200
        assert "\n" not in shown
    assert str(headline).startswith(f"{headline.score:.4g} (90 % interval ")


def test_progress_is_told():
    told = []
    X, y = mercer.data.circles(40)
    compare(X, y, progress=lambda text, share: told.append((text, share)), **FEW)
    assert any("KernelSVC" in text for text, _ in told)
    shares = [share for _, share in told]
    assert shares == sorted(shares)
    assert shares[0] == 0
    assert 0 < shares[-1] < 1
    timed = []
    compare(X, y, budget=20, progress=lambda text, share: timed.append(share), **FEW)
    assert timed == sorted(timed)


def test_a_kernel_that_fails_is_named():
    X, y = mercer.data.circles(40)
    board = compare(X, y, kernels=["chisquared()", "gaussian(1)"], learners=["ridge"], cv=3)
    assert any("ChiSquared" in n and "was left out" in n for n in board.notes)
    with pytest.raises(ValueError, match="nothing could be fitted"):
        compare(X, y, kernels=["chisquared()"], learners=["ridge"], cv=3)


def test_thirty_thousand_columns():
    random = np.random.default_rng(0)
    y = np.arange(30) % 2
    X = random.normal(size=(30, 30_000)).astype(np.float32)
    X[:, :2000] += y[:, None]
    board = compare(X, y, kernels=["linear()"], learners=["ridge"], cv=3)
    assert board.best_row.mean > 0.8
    frame = pd.DataFrame(X[:, :5_000])
    assert compare(frame, y, kernels=["linear()"], learners=["ridge"], cv=3).best_row.mean > 0.8


def test_ctrl_c_keeps_what_was_found(monkeypatch):
    real, runs = Race.run, []

    def run(self, entry, *rest):
        if len(runs) == 2:
            raise KeyboardInterrupt
        runs.append(entry)
        real(self, entry, *rest)

    monkeypatch.setattr(Race, "run", run)
    X, y = mercer.data.circles(40)
    board = compare(X, y, **FEW)
    assert len(board.rows) == 3
    assert any(note.startswith("interrupted") for note in board.notes)
    assert board.best.predict(X).shape == (40,)
    runs[:] = [1, 2]
    with pytest.raises(KeyboardInterrupt):
        compare(X, y, **FEW)


def test_a_hopeless_winner_still_comes_first():
    X, y = mercer.data.pure_noise(60)
    board = compare(X, y, **FEW)
    assert board.rows[0] is board.best_row
    assert board.baseline in board.rows[1:]
    assert any("no better than the baseline" in note for note in board.notes)


def test_rare_classes():
    X, y = mercer.data.circles(60)
    y = y.copy()
    y[:2] = 7
    board = compare(X, y, **FEW)
    assert "1 of 3 classes have fewer rows" in " ".join(board.notes)
    assert 0 < board.best_row.mean < 1


def test_search_grows_a_kernel():
    random = np.random.default_rng(0)
    t = random.uniform(0, 10, 80)[:, None]
    y = 0.5 * t[:, 0] + np.sin(3 * np.pi * t[:, 0]) + 0.1 * random.normal(size=80)
    board = compare(t, y, search=True, cv=3, learners=["ridge"])
    assert "Periodic" in board.best_row.kernel
    assert board.best_row.kernel == board.search.path[-1].expression
    assert "kernel search" in str(board)
    assert json.dumps(board.to_dict())
    assert "flattered" in " ".join(board.notes)


# --- many rows, little time ----------------------------------------------------------------------


def short_stages(monkeypatch):
    monkeypatch.setattr("mercer.selection.racing.race.FIRST_ROWS", 60)
    monkeypatch.setattr("mercer.selection.racing.race.SECOND_ROWS", 120)
    monkeypatch.setattr("mercer.selection.racing.race.STOPPED_ROWS", 50)
    monkeypatch.setattr("mercer.selection.racing.stages.KEEP", (4, 2))


def test_candidates_are_stopped_on_few_rows(monkeypatch):
    short_stages(monkeypatch)
    X, y = mercer.data.moons(240)
    board = compare(X, y, cv=3, learners=["ridge", "svm"])
    assert {r.rows_seen for r in board.rows} == {60, 120, 240}
    for row in board.rows:
        assert row.stopped == (row.rows_seen < 240)
        assert ("stopped after" in row.note) == row.stopped
    assert not board.best_row.stopped
    assert "stopped early" in str(board)
    places = [r.rows_seen for r in board.rows if r.kernel]
    assert places == sorted(places, reverse=True)


def test_the_better_ones_go_on(monkeypatch):
    short_stages(monkeypatch)
    X, y = mercer.data.circles(240)  # no line tells them apart
    lines = [Linear(), 2.0 * Linear(), Linear() + 1.0]
    round_ones = [Gaussian(0.3), Gaussian(0.5), Gaussian(1.0)]
    board = compare(X, y, cv=3, kernels=lines + round_ones, learners=["ridge"])
    seen = {row.kernel: row.rows_seen for row in board.rows if row.kernel}
    assert sorted(seen.values()) == [60, 60, 120, 120, 240, 240]
    assert all(seen[repr(k)] < 240 for k in lines)
    assert all(seen[repr(k)] > 60 for k in round_ones)


def test_the_best_of_every_learner_sees_the_second_stage(monkeypatch):
    short_stages(monkeypatch)
    monkeypatch.setattr("mercer.selection.racing.stages.KEEP", (1, 1))
    X, y = mercer.data.circles(240)
    learners = ["ridge", "svm", "perceptron"]
    board = compare(X, y, cv=3, kernels=["gaussian(0.5)", "linear()"], learners=learners)
    ran = [row for row in board.rows if row.kernel]
    everyone = {row.learner for row in ran}
    assert len(everyone) == 3
    assert {row.learner for row in ran if row.rows_seen >= 120} == everyone
    # Of the last stage only the judges are sure.
    judges = {"KernelRidgeClassifier", "KernelSVC"}
    assert judges <= {row.learner for row in ran if row.rows_seen == 240}


def test_large_data_are_drawn_and_fitted_whole(monkeypatch):
    monkeypatch.setattr("mercer.selection.choice.CHOICE_ROWS", 100)
    X, y = mercer.data.moons(300)
    board = compare(X, y, **FEW)
    assert "compared on 100 of 300 rows" in " ".join(board.notes)
    assert board.n_rows == 300
    assert len(board.oof.rows) == 100
    np.testing.assert_array_equal(board.oof.truth, y[board.oof.rows])
    model = board.best[-1]
    fitted = getattr(model, "X_fit_", None)
    seen = len(fitted) if fitted is not None else model.shape_fit_[0]
    assert seen == 300


def test_the_memory_limit_draws_fewer_rows():
    X, y = mercer.data.moons(500)
    with mercer.config(memory="4MB"):
        board = compare(X, y, **FEW)
    said = " ".join(board.notes)
    assert "compared on 353 of 500 rows" in said
    assert "KernelSVC was left out: MemoryError" in said  # its working set needs 20 MB
    assert board.best_row.learner == "KernelRidgeClassifier"
    assert CHOICE_ROWS > 500


def test_a_budget_is_kept_by_its_own_clock(monkeypatch):
    """A clock that jumps a second at every look: the race must end when it says so."""
    ticks = iter(np.arange(0.0, 1e6, 0.25))
    monkeypatch.setattr(Clock, "spent", lambda self: next(ticks))
    X, y = mercer.data.moons(120)
    board = compare(X, y, cv=3, budget=10)
    assert board.budget == 10
    assert any(not r.stopped for r in board.rows)
    looks = next(ticks) / 0.25
    assert looks < 250  # 38 candidates of three folds would have looked far oftener
    assert len(board.rows) < 30


def test_a_budget_over_several_stages(monkeypatch):
    short_stages(monkeypatch)
    X, y = mercer.data.moons(240)
    board = compare(X, y, budget=300, cv=3, learners=["ridge"])
    assert {r.rows_seen for r in board.rows if r.kernel} == {160}  # there was time for everyone
    ticks = iter(np.arange(0.0, 1e6, 0.2))
    monkeypatch.setattr(Clock, "spent", lambda self: next(ticks))
    board = compare(X, y, budget=10, cv=3, learners=["ridge"])
    assert {60, 160} <= {r.rows_seen for r in board.rows}  # some were stopped, some finished


def test_a_generous_budget_refines_and_repeats():
    X, y = mercer.data.circles(60)
    board = compare(X, y, budget="10min", **FEW)
    assert len(board.best_row.scores) == 12  # three cross-validations more
    assert len({r.kernel for r in board.rows}) > 3


def test_costs_grow_with_rows():
    X, y = mercer.data.moons(100)
    half = np.random.default_rng(0).permutation(100)
    splits = [[(half[:50], half[50:])] * 3]
    coded = (y > 0).astype(int)
    from mercer.selection.metrics import accuracy
    from mercer.selection.trainers.grid import trainers_for

    data = Data(X, coded, 2, accuracy, splits, np.arange(100), 0)
    race = Race(data, Clock(100.0), 1000, 0.5, print)
    trainers = trainers_for("classification")
    entry = race.add(Gaussian(1.0), trainers["ridge"])
    assert race.add(Gaussian(1.0), trainers["ridge"]) is entry
    assert race.cost(entry, 100) == 0.0  # nothing is known yet
    assert race.kept(entry) == 0.5
    race.run(entry, 100)
    assert race.cost(entry, 200) > 6 * entry.seconds * 3
    assert race.kept(entry) > 100 * entry.outcomes[0].fit_seconds * 0.5
    trainer, outcomes = trainers["ridge"], entry.outcomes
    assert race.drift(trainer) == 0.0
    one = np.median([o.fit_seconds + o.predict_seconds for o in outcomes]) / 67**2.6
    assert race.fit_seconds(entry, 8_000) > one * 8_000**2.6
    assert trainer.work(4_000) == pytest.approx(4_000**2.6)
    assert trainer.work(3_000) == pytest.approx(3 * 3_000**2.6)
    entry.history = {n: n**-0.8 for n in (100, 200, 400)}  # less work than was expected
    assert race.drift(trainer) == pytest.approx(-0.5)
    by_steps = race.add(Gaussian(1.0), trainers["svm"])  # which may grow as slowly as rows do
    by_steps.history = dict(entry.history)
    assert race.drift(trainers["svm"]) == pytest.approx(-0.8)
    entry.history = {n: n**0.1 for n in (100, 200, 400)}
    assert race.drift(trainer) == pytest.approx(0.1)
    entry.history, entry.fitted = {}, {1_000: 2e-9}  # a whole fit tells more than folds
    seconds = 2e-9 * trainer.work(1_000)
    assert race.fit_seconds(entry, 1_000) == pytest.approx(seconds * race.crowding, rel=0.2)
    assert not race.fits(entry, 8_000, 0.0)
    assert trainer.centers is None
    assert race.fits(entry, 8_000, 2e-9 * 3 * 8_000 * 1_000**1.6 * 1.4 * race.crowding)
    assert trainer.centers == 1_000
    assert trainer.final(Gaussian(1.0), outcomes, 1.0, np.zeros(2_000)).n_centers == 1_000
    trainer.centers = None
    large = trainer.final(Gaussian(1.0), outcomes, 1.0, np.zeros(40_000))
    middle = trainer.final(Gaussian(1.0), outcomes, 1.0, np.zeros(5_000))
    assert (middle.solver, middle.alphas) == ("auto", None)
    for memory, solver in (("8GB", "auto"), ("1GB", "nystrom")):  # K and a factor take 2.3 GB
        with mercer.config(memory=memory):
            assert trainer.final(Gaussian(1.0), outcomes, 1.0, np.zeros(12_000)).solver == solver
    assert len(trainer.final(Gaussian(1.0), outcomes, 1.0, np.zeros(3_000)).alphas) == 3
    assert (large.solver, large.n_centers, large.alphas) == ("nystrom", 3_000, None)
    sibling = race.add(Linear(), trainers["ridge"])
    assert race.cost(sibling, 100) > 0.0


def test_median_distance_of_copies():
    assert median_distance(np.ones((5, 2))) == 1.0
    rows = np.random.default_rng(0).normal(size=(1000, 50))
    assert median_distance(rows) == pytest.approx(10.0, rel=0.05)
    assert median_distance(rows, norm=1) > 50


# --- the parts -----------------------------------------------------------------------------------


def small_race(budget, n=120, sizes=(40, 120)):
    from mercer.selection.metrics import accuracy
    from mercer.selection.trainers.grid import trainers_for

    X, y = mercer.data.moons(n)
    half, order = (np.random.default_rng(seed).permutation(n) for seed in (0, 1))
    splits = [[(half[: n // 2], half[n // 2 :]), (half[n // 2 :], half[: n // 2])]]
    data = Data(X, (y > 0).astype(int), 2, accuracy, splits, order, 0)
    race = Race(data, Clock(budget), n, 0.0, lambda text: None)
    race.sizes = list(sizes)
    entry = race.add(Gaussian(1.0), trainers_for("classification")["ridge"])
    race.run(entry, sizes[0])
    return race, entry


def test_other_rows_judge_all_that_are_close_or_none(monkeypatch):
    from mercer.selection.racing.finals import Finals

    X, y = mercer.data.circles(60)
    real = Finals._judge

    def judge(self, entry, size, number):
        if number >= 4 and entry.trainer.learner == "KernelSVC":
            raise OutOfTime
        real(self, entry, size, number)

    monkeypatch.setattr(Finals, "_judge", judge)
    board = compare(X, y, budget="10min", kernels=["gaussian(0.3)"], learners=["ridge", "svm"],
                    cv=3, holdout=None)  # fmt: skip
    assert [len(r.scores) for r in board.rows if r.kernel and not r.stopped] == [4, 4]


def test_threads_are_held_back_for_small_and_busy(monkeypatch):
    from threadpoolctl import threadpool_info

    from mercer.selection.racing import race as module

    def blas():
        return {p["num_threads"] for p in threadpool_info() if p["user_api"] == "blas"}

    race, _ = small_race(100.0)
    monkeypatch.setattr(Clock, "crowding", lambda self: 1.0)
    with race.threads(100):
        assert blas() == {1}
    before = blas()
    with race.threads(5_000):
        assert blas() == before
    monkeypatch.setattr(Clock, "crowding", lambda self: module.CROWDED_CLOCK + 0.1)
    with race.threads(5_000):
        assert blas() == {1}
    with small_race(None)[0].threads(5_000):  # nothing hangs on a clock
        assert blas() == before


def test_an_inner_split_has_two_classes():
    from mercer.selection.metrics import accuracy
    from mercer.selection.trainers.base import Fold

    for seed in range(8):
        y = np.array([0, 1, 1, 1, 1, 1, 1, 1])
        fold = Fold(np.eye(8), np.eye(8), y, 2, accuracy, 1.0, seed, lambda: (None, None))
        fit, judge = fold.inner()
        assert len(np.unique(y[fit])) == 2
        assert sorted([*fit, *judge]) == list(range(8))


def test_no_penalty_can_be_found(monkeypatch):
    from mercer.selection.trainers.ridge import best_penalty
    from mercer.solvers.linear import exact as ridge_exact

    def singular(*arguments):
        raise np.linalg.LinAlgError

    monkeypatch.setattr(ridge_exact, "cholesky_path", singular)
    with pytest.raises(ValueError, match="singular for every penalty"):
        best_penalty(HostGram(mercer.Precomputed(), np.eye(3)), np.ones((3, 1)), 1.0, None)


def test_kernels_for_every_kind_are_proved():
    random = np.random.default_rng(0)
    dense = np.abs(random.normal(size=(40, 20)))
    for X, kind in (
        (dense, "vectors"),
        (dense, "pixels"),
        (np.hstack([dense] * 12), "vectors"),
        (sparse.csr_matrix(dense), "sparse"),
        (np.zeros((5, 2)), "vectors"),
    ):
        made = kernels_for(X, kind)
        assert len(made) == len(set(made)) >= 6
        assert all(k.claim(X.shape[1]).holds for k in made)


def test_a_matrix_that_is_not_finite_is_named():
    X, y = mercer.data.circles(40)
    kernels = ["gaussian(1)", "(1000 * linear()) ** 200"]
    board = compare(X, y, kernels=kernels, learners=["ridge"], cv=3)
    assert any("** 200 with" in n and "was left out" in n for n in board.notes)
    assert board.best_row.kernel == "Gaussian()"


def test_a_fold_without_rows_is_an_error_of_its_own():
    race, entry = small_race(None)
    race.data.order = np.concatenate(race.data.splits[0][0])  # the first 40 are all of one half
    race.run(entry, 30)
    assert "no rows to be tested on" in entry.failed


def test_who_has_failed_is_not_run_again(monkeypatch):
    race, entry = small_race(None)
    entry.failed = "ValueError: too odd"
    monkeypatch.setattr(Race, "matrix", lambda *_: pytest.fail("it was run"))
    race.run(entry, 120)
    assert entry.size == 40
    assert race.best() == []


def test_a_fold_starts_from_what_it_chose_itself(monkeypatch):
    race, entry = small_race(None)
    trainer, starts = type(entry.trainer), []
    fold = trainer.fold

    def noted(self, rows, start=None):
        starts.append(start)
        return fold(self, rows, start)

    monkeypatch.setattr(trainer, "fold", noted)
    picks = zip(entry.outcomes, (3, 5), strict=True)
    entry.outcomes = [replace(outcome, pick=pick) for outcome, pick in picks]
    race.run(entry, 120)
    assert starts == [3, 5]  # what another fold chose knows the rows this one is tested on
    race.data.splits *= 2
    race.run(entry, 120, repeat=1)
    assert starts[2:] == [None, None]


def test_many_folds_are_not_run_in_stages():
    X, y = mercer.data.moons(480)
    half = np.random.default_rng(0).permutation(480)
    splits = [[(half, half[i : i + 1]) for i in range(480)]]
    from mercer.selection.metrics import accuracy

    data = Data(X, (y > 0).astype(int), 2, accuracy, splits, half, 0)
    assert Race(data, Clock(None), 480, 0.0, print).sizes == [480]


def test_search_leaves_strings_alone():
    X = [f"{'good' if i % 2 else 'bad'} {i}" for i in range(30)]
    board = compare(X, [i % 2 for i in range(30)], search=True, cv=3, learners=["ridge"])
    assert board.search is None


def test_the_last_fit_has_a_setting_that_some_fold_was_judged_with():
    from mercer.selection.trainers.base import Outcome
    from mercer.selection.trainers.grid import pooled_best, trainers_for
    from mercer.selection.trainers.ridge import PENALTIES

    def outcome(pick, tried):
        return Outcome(np.zeros(1), np.zeros(1), 1, 0.1, 0.1, pick, tried)

    # Value 2 was tried by no fold; value 1 has the best mean, and no fold chose it.
    found = [outcome(0, {0: 0.9, 1: 0.88}), outcome(3, {1: 0.88, 3: 0.91, 4: 0.2})]
    assert pooled_best(found) in (0, 3)
    assert pooled_best([outcome(0, {})]) == 0
    ridge = trainers_for("regression", ["ridge"])["ridge"]
    model = ridge.final("linear()", [outcome(4, {}), outcome(8, {})], 1.0, np.zeros(4_000))
    assert model.alpha in (PENALTIES[4], PENALTIES[8])
