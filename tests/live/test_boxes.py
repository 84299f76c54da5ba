"""What the boxes "Move it" of the chapters say of their figures, by the library's numbers."""

import json
import re
from pathlib import Path
from urllib.parse import parse_qsl

import numpy as np
import pytest

pytest.importorskip("starlette")

from mercer.lab.compute.curves import curve, curve_errors
from mercer.lab.compute.grams import gram
from mercer.lab.compute.live import from_address
from mercer.lab.compute.models import fitted
from mercer.lab.compute.playground import errors, errors_over

CHAPTERS = Path(__file__).parents[2] / "docs" / "learn"
WORDS = {
    query: " ".join(said.split())
    for path in sorted(CHAPTERS.glob("lecture_*.md"))
    for query, said in re.findall(
        r"^```\{lab\} (.*)\n((?:.+\n)+?)```$", path.read_text("utf-8"), re.MULTILINE
    )
}


def of(panel, data, kernel, learner="", more=""):
    """The box, its words, and its state; the box must be there."""
    query = f"panel={panel}&data={data}&kernel={kernel.replace('+', '%2B')}"
    query += f"&learner={learner}" * bool(learner) + more
    (found,) = (one for one in WORDS if sorted(parse_qsl(one)) == sorted(parse_qsl(query)))
    return WORDS[found], from_address(found)[1]


def wrong(state, kernel=None):
    given = json.loads(state.key) | ({} if kernel is None else {"kernel": kernel})
    return errors({"state": given}).facts["training"]


def least(state, kernel=None):
    given = json.loads(state.key) | ({} if kernel is None else {"kernel": kernel})
    return gram({"state": given}).facts["least"]


def test_no_box_offers_what_only_the_laboratory_has():
    for query, said in WORDS.items():
        here, *_ = re.split("[Ii]n the laboratory", said)
        told = re.search(r"counterexample|proof|replace|Replace|`[^`]*\(.*?\)`", here)
        assert not told, (query, said)
        assert "ompare" not in here or "beside=" in query, query


@pytest.mark.parametrize(
    ("data", "kernel", "learner", "other", "more"),
    [
        ("circles", "linear()+linear()**2+1", "perceptron", "linear()+1", ""),
        ("circles", "polynomial(2,1)", "ridge", "linear()+1", ""),
        ("checkerboard", "gaussian(0.2)", "perceptron", "polynomial(2,1)", ""),
        ("noisy_xor", "linear()+linear()**2", "perceptron", "linear()+1", ""),
        ("moons", "gaussian(0.3)-0.2*gaussian(1)", "perceptron",
         "gaussian(0.3)-0.5*gaussian(1)", ""),
        ("spirals", "gaussian(0.2)", "perceptron", "linear()+1", ""),
        ("circles", "gaussian(0.4)", "perceptron", "linear()+1", "&noise=0.05"),
    ],
)  # fmt: skip
def test_what_separates_and_what_does_not(data, kernel, learner, other, more):
    _, state = of("playground", data, kernel, learner, more)
    assert wrong(state) == 0
    assert wrong(state, other) > 0.2


@pytest.mark.parametrize(
    ("data", "kernel"),
    [("moons", "sigmoid(1,-1)"), ("circles", "squared_distance()"), ("moons", "uniform(0.6)")],
)
def test_red_eigenvalues_are_below_0(data, kernel):
    said, state = of("gram", data, kernel)
    assert "red" in said
    assert least(state) < -1


def test_splines_of_odd_and_of_even_degree():
    said, state = of("gram", "moons", "bspline(3,0.5)")
    assert "Change the 3 to 2" in said
    assert least(state) > 0 > -0.01 > least(state, "bspline(2,0.5)")


def test_a_wider_gaussian_has_fewer_eigenvalues_that_count():
    said, state = of("gram", "circles", "gaussian(0.5)")
    assert "fewer of them count" in said
    ranks = [
        gram({"state": json.loads(state.key) | {"kernel": f"gaussian({sigma})"}}).facts["rank"]
        for sigma in (0.5, 1, 2)
    ]
    assert ranks == sorted(ranks, reverse=True)
    assert ranks[0] > 2 * ranks[-1]


def test_errors_over_sigma_are_least_in_the_middle():
    _, state = of("playground", "noisy_xor", "gaussian(0.05)", "svm", "&noise=0.45")
    found = errors_over({"state": json.loads(state.key), "number": 0}).arrays
    assert (found["training"][:5] == 0).all()
    best = int(np.nanargmin(found["left_out"]))
    assert 2 < best < len(found["tried"]) - 3
    assert found["left_out"][best] + 0.1 < min(found["left_out"][0], found["left_out"][-1])


def test_a_point_outside_of_the_dashed_lines_may_move():
    said, state = of("playground", "blobs", "linear()", "svm", "&noise=0.2")
    assert "dashed lines" in said
    model = fitted(state).model
    f = model.decision_function(state.X)
    far = int(np.abs(f).argmax())
    X = state.X.copy()
    X[far] *= 1.2
    again = type(model)(model.kernel, C=model.C).fit(X, state.y)
    np.testing.assert_allclose(again.decision_function(state.X), f, atol=1e-2)


def test_the_errors_move_apart_with_lambda():
    _, state = of("curves", "sine_linear_noise", "gaussian(1)", "ridge")
    training, left = [], []
    for alpha in (1e-4, 0.1, 100.0):
        given = json.loads(state.key) | {"options": {"alpha": alpha}}
        training.append(curve({"state": given}).facts["training"])
        left.append(curve_errors({"state": given}).facts["left_out"])
    assert training == sorted(training)
    assert left[0] - training[0] > 1.5 * (left[1] - training[1])
    assert left[1] < min(left[0], left[2])


def test_degree_one_is_a_line():
    said, state = of("curves", "sine_linear_noise", "polynomial(3,1)", "ridge")
    assert "Degree 1 is a line" in said
    mean = curve({"state": json.loads(state.key) | {"kernel": "polynomial(1,1)"}}).arrays["mean"]
    assert np.abs(np.diff(mean, 2)).max() < 1e-9
