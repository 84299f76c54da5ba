"""Every link of every tour leads to a state that the page can show."""

import json
import re
from importlib import resources
from pathlib import Path
from urllib.parse import parse_qs

import numpy as np
import pytest

from mercer.lab.compute.curves import SMOOTHERS, TRUTHS, Series
from mercer.lab.compute.learners import LEARNERS
from mercer.lab.compute.presets import PRESETS
from mercer.lab.compute.states import Source

TOURS = json.loads((resources.files("mercer.lab") / "static" / "tours.json").read_text("utf-8"))
LINK = re.compile(r"\[([^\]]+)\]\(((?:[^()]|\([^()]*\))*)\)")
CHAPTERS = sorted((Path(__file__).parents[2] / "docs" / "learn").glob("lecture_*.md"))
OPENED = re.compile(r"^```\{lab\} (.*)$", re.MULTILINE)
STATES = sorted({
    state
    for tour in TOURS
    for step in tour["steps"]
    for state in [step["state"], *(found[2] for found in LINK.finditer(step["text"]))]
} | {
    state for path in CHAPTERS for state in OPENED.findall(path.read_text("utf-8"))
} - {"panel=digits"})  # fmt: skip


def test_there_is_a_tour_per_lecture():
    assert [tour["id"] for tour in TOURS] == ["000", "001", "002", "003", "004"]
    for tour in TOURS:
        for step in tour["steps"]:
            assert LINK.search(step["text"]), step["title"]
            assert "[" not in LINK.sub("", step["text"])  # no link that the page would not see


@pytest.mark.parametrize("state", STATES)
def test_a_link_leads_to_a_picture(ask, state):
    given = {name: values[0] for name, values in parse_qs(state).items()}
    panel = given.pop("panel")
    if panel == "digits":
        assert re.fullmatch("t[0-9]", given.pop("strokes", "t0"))
        assert abs(float(given.pop("angle", 0))) <= 180
        assert not given
        return
    kernel, name = given.pop("kernel"), given.pop("data")
    learner = given.pop("learner", "perceptron")
    noise = float(given.pop("noise", 0.1))
    if panel == "curves":
        assert name in TRUTHS
        source = {"preset": name, "n": 20, "noise": noise, "seed": 0}
        x, y = Series.read(source).points()
        body = {"kernel": kernel, "learner": learner, "options": {}, "x": x.tolist(),
                "y": y.tolist(), "source": source}  # fmt: skip
        assert learner in SMOOTHERS
        reply = ask("curve", state=body)
    else:
        assert name in PRESETS
        assert given.pop("show", "K") in ("K", "distances", "flat", "turning", "product", "squares")
        assert given.pop("beside", learner) in LEARNERS
        assert 2 <= int(given.pop("n", 20)) <= 1000
        assert learner in LEARNERS
        source = {"preset": name, "n": 20, "noise": noise, "seed": 0}
        X, y = Source.read(source).points()
        known = {option.name for option in LEARNERS[learner].options}
        options = {name: float(value) for name, value in given.items() if name in known}
        assert set(given) <= known
        body = {"kernel": kernel, "learner": learner, "options": options, "X": X.ravel().tolist(),
                "y": y.tolist(), "source": source}  # fmt: skip
        reply = ask("gram", state=body) if panel == "gram" else ask(
            "field", state=body, size=8, visits=False
        )  # fmt: skip
    assert "error" not in reply.facts, reply.facts


def test_the_walk_of_the_first_tour_is_as_told(ask):
    """Two mistakes and f = 4x₁x₂, up to the scale of the picture."""
    source = {"preset": "xor", "n": PRESETS["xor"].n, "noise": PRESETS["xor"].noise, "seed": 0}
    points = ask("points", source=source).facts
    X = np.reshape(points["X"], (-1, 2))
    state = {"kernel": "polynomial(2)", "learner": "perceptron", "options": {}, "source": source,
             "X": points["X"], "y": points["y"]}  # fmt: skip
    text = next(s["text"] for s in TOURS[0]["steps"] if "4x₁x₂" in s["text"])
    assert "two mistakes" in text
    reply = ask("field", state=state, size=9, visits=True)
    assert reply.arrays["mistakes"][-1] == 2
    f = ask("pixel", state=state, x=X[0].tolist(), visit=None).facts["score"][0]
    beside = ask("pixel", state=state, x=[X[0, 0], 0.0], visit=None).facts["score"][0]
    assert abs(f) == pytest.approx(4 * abs(X[0].prod()) * np.abs(X).max() ** 2)
    assert abs(beside) < 1e-12
