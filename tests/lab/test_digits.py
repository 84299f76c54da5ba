"""Digits without sockets: what the page learns from, the script, and drawings that are none."""

import contextlib
import io

import numpy as np
import pytest

from mercer import data
from mercer.lab.compute.digits import LEARNED


def test_the_page_learns_from_the_bundled_digits(ask):
    reply = ask("digits")
    found = data.digits()
    assert reply.facts["labels"] == "".join(str(int(v)) for v in found.y[:LEARNED])
    np.testing.assert_array_equal(reply.arrays["images"], np.asarray(found.X)[:LEARNED])


def test_the_script_reads_a_drawing(ask):
    image = np.round(data.digits().X[LEARNED + 3], 4).tolist()
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(ask("digits_script", image=image).facts["script"], {})  # noqa: S102 (our own)
    said = [int(line.split()[-1]) for line in out.getvalue().splitlines()]
    assert said == 3 * [int(data.digits().y[LEARNED + 3])]


@pytest.mark.parametrize("bad", [[], [0.0] * 63, [2.0] * 64, [[0.0] * 64], "x", ["a"] * 64])
def test_other_things_are_no_drawings(ask, bad):
    assert "error" in ask("digits_script", image=bad).facts


@pytest.mark.parametrize("bad", ["x", {"strokes": 3}, {"strokes": "x" * 100_000}])
def test_other_things_are_not_shared(ask, bad):
    assert "error" in ask("share", panel="digits", state=bad).facts
