"""Curves and Gram matrices without sockets."""

import numpy as np
import pytest

from mercer.lab.compute.curves import SMOOTHERS


@pytest.fixture
def line():
    """Makes a state of the panel of curves."""

    def make(learner="nadaraya", preset="sine_linear_noise", kernel="gaussian()", **options):
        from mercer.lab.compute.curves import Series

        source = {"preset": preset, "n": 30, "noise": 0.4, "seed": 2}
        x, y = Series.read(source).points()
        return {"kernel": kernel, "learner": learner, "options": options, "x": x.tolist(),
                "y": y.tolist(), "source": source}  # fmt: skip

    return make


@pytest.mark.parametrize("learner", list(SMOOTHERS))
def test_a_curve_lies_in_its_band(ask, line, learner):
    reply = ask("curve", state=line(learner))
    mean, low, high = (reply.arrays[name] for name in ("mean", "low", "high"))
    assert ((low <= mean + 1e-6) & (mean <= high + 1e-6)).all()
    assert 0.0 <= reply.facts["uncertain"] <= 10.0
    assert reply.arrays["truth"].shape == mean.shape


@pytest.mark.parametrize("learner", list(SMOOTHERS))
def test_the_leave_one_out_curve_has_the_error_of_the_slider(ask, line, learner):
    reply = ask("curve_errors", state=line(learner))
    tried, errors = reply.arrays["tried"], reply.arrays["errors"]
    best = reply.facts["best"]
    at_best = ask("curve_errors", state=line(learner, **{reply.facts["option"]: best}))
    assert at_best.facts["left_out"] == pytest.approx(errors.min(), rel=1e-4)
    assert tried[errors.argmin()] == pytest.approx(best, rel=1e-6)


@pytest.mark.parametrize("learner", list(SMOOTHERS))
def test_the_weights_of_a_query_make_its_value(ask, line, learner):
    state = line(learner)
    reply = ask("query", state=state, x=4.0)
    weights = reply.arrays["weights"]
    if learner == "local":
        assert weights.sum() == pytest.approx(1.0, rel=1e-5)
        left, right = (ask("query", state=state, x=x).facts["value"] for x in (3.99, 4.01))
        assert reply.facts["slope"] == pytest.approx((right - left) / 0.02, abs=1.0)
        return
    total = weights.sum() if learner == "ridge" else weights @ state["y"]
    assert total == pytest.approx(reply.facts["value"], rel=1e-4)


@pytest.mark.parametrize("learner", list(SMOOTHERS))
@pytest.mark.parametrize("moved", [False, True])
def test_a_script_prints_the_numbers_of_the_curve(ask, printed, line, learner, moved):
    state = line(learner)
    if moved:
        state["y"][0] = 3.25
    found = printed(ask("curve_script", state=state).facts["script"])
    errors = ask("curve_errors", state=state).facts
    assert found["training error"] == pytest.approx(ask("curve", state=state).facts["training"])
    assert found["left out"] == pytest.approx(errors["left_out"], rel=1e-6)
    assert found["new points"] == pytest.approx(errors["test"], rel=1e-6)


def test_one_more_point_of_the_series_lies_near_the_truth(ask, line):
    source = line()["source"] | {"noise": 0.0}
    one = ask("series", source=source, at=2.0).facts
    assert one["y"][0] == pytest.approx(1.0 + 2 * np.sin(2.0), abs=1e-4)
    assert ask("series", source=source, at=2.0).facts == one


def test_negative_eigenvalues_are_shown(ask, state):
    reply = ask("gram", state=state(kernel="squared_distance()", n=60))
    assert reply.arrays["values"].min() == pytest.approx(reply.facts["least"], rel=1e-5)
    assert reply.facts["rank"] == 4  # ‖x‖², ‖z‖² and two coordinates


def test_a_gram_matrix_is_ordered_by_class(ask, state):
    given = state(preset="three")
    reply = ask("gram", state=given)
    order = np.array(reply.facts["order"])
    assert (np.diff(np.array(given["y"])[order]) >= 0).all()
    K, places = reply.arrays["K"], reply.arrays["places"]
    assert K.shape == (40, 40)
    np.testing.assert_allclose(np.diag(K), 1.0, rtol=1e-6)
    assert reply.facts["least"] > -1e-9
    assert reply.arrays["values"].sum() == pytest.approx(40.0, rel=1e-3)
    # Distances in three dimensions are at most those in feature space.
    apart = np.linalg.norm(places[:, None] - places[None], axis=2)
    assert (np.square(apart) <= 2.0 - 2.0 * K + 1e-4).all()
