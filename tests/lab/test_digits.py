"""Digits without sockets: three learners, the images that voted, the script."""

import contextlib
import io

import numpy as np
import pytest

from mercer import data
from mercer.lab.compute.digits import LEARNED


@pytest.fixture(scope="module")
def drawings():
    """Digits that were not learned from."""
    found = data.digits()
    return np.asarray(found.X)[LEARNED:], np.asarray(found.y).astype(int)[LEARNED:]


def test_three_learners_read_digits(ask, drawings):
    X, y = drawings
    reply = ask("digits", images=X[:30].tolist())
    names = [one["name"] for one in reply.facts["answers"]]
    assert names == ["perceptron", "svm", "tangent"]
    for one in reply.facts["answers"]:
        assert np.mean(np.array(one["said"]) == y[:30]) > 0.8
        assert reply.arrays[one["name"]].shape == (8, 64)
        assert len(one["voters"]) == 8
    for one in reply.facts["answers"][:2]:  # the first four speak for the answer
        weights = [v["weight"] for v in one["voters"]]
        assert min(weights[:4]) > 0 > max(weights[4:])
        assert one["voters"][0]["label"] == one["said"][0]


def test_the_script_gives_the_same_answers(ask, drawings):
    image = np.round(drawings[0][3], 4).tolist()
    said = [one["said"][0] for one in ask("digits", images=[image]).facts["answers"]]
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(ask("digits_script", images=[image]).facts["script"], {})  # noqa: S102 (our own)
    assert [int(line.split()[-1]) for line in out.getvalue().splitlines()] == said


@pytest.mark.parametrize(
    "bad", [[], [[0.0] * 63], [[2.0] * 64], [[0.0] * 64] * 40, "x", [["a"] * 64]]
)
def test_other_things_are_no_drawings(ask, bad):
    assert "error" in ask("digits", images=bad).facts
