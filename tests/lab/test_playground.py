"""The playground without sockets: a state in, numbers out."""

import itertools

import numpy as np
import pytest

import mercer
from mercer.lab.compute.learners import LEARNERS
from mercer.lab.compute.models import fitted, for_classes
from mercer.lab.compute.presets import PRESETS
from mercer.lab.compute.states import Source, State, lattice


@pytest.mark.parametrize("learner", list(LEARNERS))
@pytest.mark.parametrize("preset", ["moons", "three"])
def test_a_field_is_the_score_of_the_model(ask, state, learner, preset):
    given = state(learner, preset)
    reply = ask("field", state=given, size=8, visits=False)
    read = State.read(given)
    model = LEARNERS[learner].make(read.parsed, {}).fit(read.X, read.y)
    field = reply.arrays["field"]
    outputs = 1 if preset == "moons" else 3
    assert field.shape == (outputs, 8, 8)
    flat = field.reshape(outputs, -1)
    winner = (flat[0] > 0).astype(int) if outputs == 1 else flat.argmax(axis=0)
    clear = (
        np.abs(flat[0]) > 1e-6
        if outputs == 1
        else np.ptp(np.sort(flat, axis=0)[-2:], axis=0) > 1e-6
    )
    assert (winner == model.predict(lattice(8)))[clear].all()
    assert reply.facts["training"] == np.mean(model.predict(read.X) != read.y)


@pytest.mark.parametrize("learner", [n for n, one in LEARNERS.items() if one.takes_kernel])
@pytest.mark.parametrize("preset", ["moons", "three"])
def test_contributions_sum_to_the_score(ask, state, learner, preset):
    given = state(learner, preset)
    reply = ask("pixel", state=given, x=[0.3, -0.2], visit=None)
    total = reply.arrays["shares"].sum(axis=0)
    score = np.array(reply.facts["score"])
    if learner == "voted":  # every predictor votes; what is shown is the last one
        return
    read = State.read(given)
    model = LEARNERS[learner].make(read.parsed, {}).fit(read.X, read.y)
    if learner == "svm" and preset == "three":  # for and against each class, over its pairs
        pairs = model.set_params(decision_function_shape="ovo").decision_function([[0.3, -0.2]])
        score = for_classes(pairs, 3)[0]
        total = total + for_classes(model.intercept_[None], 3)[0]
    b = np.asarray(getattr(getattr(model, "expansion_", None), "intercept", 0.0))
    if learner == "centroid" and preset == "moons":
        b = b[1] - b[0]
    if learner == "svm" and preset == "three":
        b = 0.0
    np.testing.assert_allclose(total + b, score, atol=1e-5)


@pytest.mark.parametrize("learner", ["ridge", "svm", "neighbors"])
@pytest.mark.parametrize("preset", ["moons", "three"])
def test_coordinates_share_out_the_score_as_shapley_says(ask, state, learner, preset):
    given, x = state(learner, preset), [0.3, -0.2]
    reply = ask("pixel", state=given, x=x, visit=None)
    found = fitted(State.read(given))
    pushes, mean = np.array(reply.facts["coordinates"]), found.scores(found.state.X).mean(axis=0)
    np.testing.assert_allclose(pushes.sum(axis=0), reply.facts["score"] - mean, atol=1e-9)
    if learner == "ridge" or (learner, preset) == ("svm", "moons"):
        reasons = mercer.explain_rows(found.model, np.array([x]), found.state.X, method="exact")
        np.testing.assert_allclose(pushes, reasons.values.reshape(2, -1), atol=1e-9)


def test_the_visits_give_the_last_field(ask, state):
    """What the page sums up from the visits is what the server draws at the end."""
    given = state("perceptron")
    reply = ask("field", state=given, size=64, visits=True)
    arrays, moving = reply.arrays, ask("columns", state=given)
    assert moving.facts["size"] == 64
    alpha = np.zeros(len(given["y"]))
    np.add.at(alpha, arrays["index"].astype(int), arrays["update"][:, 0])
    used = arrays["used"].astype(int)
    assert set(np.flatnonzero(alpha)) <= set(used)
    field = alpha[used] @ moving.arrays["columns"]
    np.testing.assert_allclose(field, arrays["field"].ravel(), atol=1e-4)
    np.testing.assert_allclose(alpha, arrays["alpha"][:, 0])
    assert arrays["mistakes"][-1] == np.abs(arrays["update"]).sum()


def test_only_a_perceptron_moves_through_its_visits(ask, state):
    assert "visit by visit" in ask("columns", state=state("ridge")).facts["error"]


@pytest.mark.parametrize("learner", ["perceptron", "averaged", "voted"])
@pytest.mark.parametrize("preset", ["moons", "three"])
def test_a_pixel_is_explained_after_any_visit(ask, state, learner, preset):
    given, x = state(learner, preset), [0.3, -0.2]
    last = ask("pixel", state=given, x=x, visit=None)
    visits = len(ask("field", state=given, size=8, visits=True).arrays["index"])
    same = ask("pixel", state=given, x=x, visit=visits)
    np.testing.assert_allclose(same.arrays["shares"], last.arrays["shares"], atol=1e-6)
    np.testing.assert_allclose(same.facts["score"], last.facts["score"], atol=1e-9)
    before = ask("pixel", state=given, x=x, visit=0)
    assert not before.arrays["shares"].any()
    assert np.count_nonzero(ask("pixel", state=given, x=x, visit=1).arrays["shares"]) > 0


def test_bounds_hold_at_every_visit(ask, state):
    given = state("perceptron", "xor", "polynomial(2)", n=4)
    given |= {"X": [1, 1, -1, 1, -1, -1, 1, -1], "y": [1, 0, 1, 0], "source": None}
    field = ask("field", state=given, size=8, visits=True)
    errors = ask("errors", state=given)
    mistakes, norm = field.arrays["mistakes"], field.arrays["norm"]
    assert errors.facts["bound"] == pytest.approx(2.0)  # (R/ρ)² = 4/2
    assert errors.facts["margin"] == pytest.approx(2**0.5)
    assert (norm <= field.facts["visits"]["radius"] * mistakes + 1e-6).all()
    aligned = errors.arrays["alignment"]
    assert (aligned >= errors.facts["margin"] * mistakes - 1e-6).all()
    assert errors.facts["test"] is None  # drawn by hand: there is nothing to draw new points from


@pytest.mark.parametrize(
    ("learner", "how"),
    [
        *((name, "leaving one out") for name in ("ridge", "smoother", "neighbors")),
        ("svm", "5 folds"),
    ],
)
def test_the_error_on_points_left_out(ask, state, learner, how):
    given = state(learner, n=24)
    reply = ask("errors", state=given)
    assert reply.facts["how"] == how
    if how != "leaving one out":
        return
    read = State.read(given)
    wrong = 0
    for i in range(len(read.y)):
        rest = np.arange(len(read.y)) != i
        model = LEARNERS[learner].make(read.parsed, {}).fit(read.X[rest], read.y[rest])
        wrong += model.predict(read.X[i : i + 1])[0] != read.y[i]
    assert reply.facts["left_out"] == pytest.approx(wrong / len(read.y))


@pytest.mark.parametrize("name", list(PRESETS))
def test_presets_lie_in_the_picture(name):
    entry = PRESETS[name]
    X, y = entry.sample(entry.n, entry.noise, 0)
    assert np.quantile(np.abs(X), 0.95) < 1.5
    assert (np.unique(y) == np.arange(len(np.unique(y)))).all()


BAD = [
    ({"X": [float("nan"), 0.0]}, "must lie from"),
    ({"X": [1e9, 0.0]}, "must lie from"),
    ({"X": [0.0] * 20_002}, "at most 2000"),
    ({"X": [[0.0]]}, "must be numbers"),
    ({"y": [0, 1, 2]}, "points and 3 classes"),
    ({"y": [11]}, "from 0 to 9"),
    ({"kernel": "gaussian(1)" + " " * 1_000_000}, "characters"),
    ({"kernel": 3}, "is a text"),
    ({"kernel": "spectrum(3)"}, "not a kernel on points"),
    ({"learner": "oracle"}, "one of"),
    ({"learner": ["svm"]}, "one of"),
    ({"options": {"C": 10.0}}, "has no option"),
    ({"options": {"epochs": 10**9}}, "epochs must lie"),
    ({"options": [1]}, "object"),
    ({"unknown": 1}, "no field 'unknown'"),
    ({"source": {"preset": "spirals"}}, "needs the field"),
    ({"source": {"preset": "spirals", "n": 10**9, "noise": 0.1, "seed": 0}}, "whole number from"),
]


@pytest.mark.parametrize(("change", "words"), BAD)
def test_bad_states_are_refused_in_words(ask, state, change, words):
    reply = ask("field", state=state() | change, size=8, visits=False)
    assert words in reply.facts["error"]


def test_too_few_classes_are_said(ask, state):
    given = state()
    given["y"] = [0] * len(given["y"])
    assert "two classes" in ask("field", state=given, size=8, visits=False).facts["error"]


def test_a_trace_is_the_steps(state):
    read = State.read(state(preset="three"))
    model = mercer.KernelPerceptron("gaussian(0.3)", random_state=0)
    trace, steps = model.trace(read.X, read.y), list(model.steps(read.X, read.y))
    assert len(trace) == len(steps)
    np.testing.assert_allclose(trace.squared_norm, [s.squared_norm for s in steps])
    np.testing.assert_array_equal(trace.score, [s.score for s in steps])
    alpha = np.zeros((len(read.y), 3))
    np.add.at(alpha, trace.index, trace.update)
    np.testing.assert_allclose(alpha, steps[-1].alpha)


@pytest.mark.parametrize("learner", ["perceptron", "averaged", "voted"])
@pytest.mark.parametrize("preset", ["moons", "three"])
def test_errors_after_every_visit_end_where_the_model_is(ask, state, learner, preset):
    given = state(learner, preset)
    reply = ask("errors", state=given)
    path = reply.arrays["training_path"]
    assert len(path) == len(ask("field", state=given, size=8, visits=True).arrays["index"])
    assert path[-1] == pytest.approx(reply.facts["training"], abs=0.011)  # ties of votes
    assert path.max() > path[-1]
    left = reply.arrays["left_path"]
    assert len(left) == len(path)
    assert left[-1] == pytest.approx(reply.facts["left_out"], abs=0.026)  # a vote may be a tie
    assert left.max() > left[-1]
    if learner == "perceptron":
        read = State.read(given)
        model = LEARNERS[learner].make(read.parsed, {})
        steps = list(model.steps(read.X, read.y))
        K = np.asarray(read.parsed(read.X))
        scores = K @ steps[5].alpha
        classes = np.unique(read.y)
        said = classes[(scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)]
        assert path[5] == pytest.approx(np.mean(said != read.y))


def test_errors_over_a_number_are_those_of_the_fits(ask, state):
    given = state("svm", "noisy_xor", "gaussian(0.5)", n=60)
    given["source"]["noise"] = 0.45
    X, y = Source.read(given["source"]).points()
    given |= {"X": X.ravel().tolist(), "y": y.tolist()}
    over = ask("errors_over", state=given, number=0).arrays
    assert len(set(over["left_out"].tolist())) > 3
    for i in (0, 7, 14):
        same = given | {"kernel": f"gaussian({over['tried'][i]:.4g})"}
        errors = ask("errors", state=same).facts
        assert over["training"][i] == pytest.approx(errors["training"])
        assert over["left_out"][i] == pytest.approx(errors["left_out"])


def test_a_view_is_a_part_of_the_picture(ask, state):
    given = state("svm", "moons")
    near = ask("field", state=given, size=9, visits=False, view=[0.5, -0.25, 0.5]).arrays["field"]
    model = LEARNERS["svm"].make(State.read(given).parsed, {})
    model.fit(np.reshape(given["X"], (-1, 2)), given["y"])
    corner = model.decision_function([[0.0, 0.25], [1.0, 0.25]])
    np.testing.assert_allclose(near[0, 0, [0, -1]], corner, rtol=1e-5)


def test_new_points_are_asked_only_where_all_points_are_of_the_sample(ask, state):
    given = state("ridge", "moons")
    assert ask("errors", state=given).facts["test"] is not None
    given["X"][0] += 0.5
    assert ask("errors", state=given).facts["test"] is None
    assert "X_new" not in ask("script", state=given).facts["script"]


def test_the_walk_is_the_lecture_s(ask):
    source = {"preset": "xor", "n": PRESETS["xor"].n, "noise": PRESETS["xor"].noise, "seed": 0}
    points = ask("points", source=source).facts
    given = {"kernel": "polynomial(2)", "learner": "walk", "options": {}, "source": source,
             "X": points["X"], "y": points["y"]}  # fmt: skip
    reply = ask("field", state=given, size=9, visits=True)
    assert reply.arrays["mistakes"][-1] == 1
    assert reply.arrays["index"].tolist()[:4] == [0, 1, 2, 3]


def test_the_ellipse_is_that_of_the_learned_metric(ask, state):
    given = state("learned", "blobs", n=60, rounds=2)
    metrics = ask("field", state=given, size=8, visits=False).arrays["metrics"]
    read = State.read(given)
    model = LEARNERS["learned"].make(None, {"rounds": 2}).fit(read.X, read.y)
    assert metrics.shape == (3, 2, 2)
    scale = model.inputs_.scale
    np.testing.assert_allclose(metrics[-1] * np.outer(scale, scale), model.metric_, rtol=1e-5)
    assert np.linalg.eigvalsh(metrics).min() > -1e-6


def test_a_metric_is_learned_round_by_round(ask):
    """The ellipse of a slanted band turns along it, and fewer new points are wrong."""
    source = {"preset": "band", "n": 120, "noise": 0.05, "seed": 0}
    points = ask("points", source=source).facts
    given = {"kernel": "linear()", "learner": "learned", "options": {"rounds": 3}, "source": source,
             "X": points["X"], "y": points["y"]}  # fmt: skip
    turned = ask("field", state=given, size=8, visits=False).arrays["metrics"]
    across = [abs(np.linalg.eigh(M)[1][:, -1] @ [0.8, 0.6]) for M in turned]
    assert across[-1] > 0.99 > across[0]
    sizes = [np.linalg.eigvalsh(M) for M in turned]
    assert all(a[0] / a[1] > 3 * b[0] / b[1] for a, b in itertools.pairwise(sizes))
    errors = ask("errors", state=given)
    paths = errors.arrays
    assert {len(path) for path in paths.values()} == {4}
    assert paths["test_path"][-1] == pytest.approx(errors.facts["test"])
    assert paths["left_path"][-1] == pytest.approx(errors.facts["left_out"])
    fixed = ask("errors", state=given | {"options": {"rounds": 0}}).facts
    assert paths["test_path"][0] == pytest.approx(fixed["test"])
    assert paths["test_path"][-1] < 0.75 * fixed["test"]
