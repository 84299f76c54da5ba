"""Addresses of the laboratory, as boxes of the documentation and steps of tours hold them."""

from typing import Any
from urllib.parse import parse_qsl

from mercer.lab.compute.curves import SMOOTHERS, Series
from mercer.lab.compute.digits import Drawn
from mercer.lab.compute.learners import LEARNERS
from mercer.lab.compute.live import PANELS
from mercer.lab.compute.presets import PRESETS
from mercer.lab.compute.states import Source


def from_address(query: str) -> tuple[str, Any]:
    """The panel and the state that an address of the laboratory names; data of a preset only."""
    given = dict(parse_qsl(query))
    given.pop("beside", None)
    if (panel := given.pop("panel")) == "digits":
        return panel, Drawn.read(given)
    curves = panel == "curves"
    kernel, learner = given.pop("kernel"), given.pop("learner", "ridge")
    preset = given.pop("data")
    n, noise = (60, 0.5) if curves else (PRESETS[preset].n, PRESETS[preset].noise)
    numbers = {name: float(value) for name, value in given.items()}
    drawn = {
        "preset": preset,
        "n": round(numbers.pop("n", n)),
        "noise": numbers.pop("noise", noise),
        "seed": round(numbers.pop("seed", 0)),
    }
    known = (SMOOTHERS if curves else LEARNERS)[learner].options
    options = {o.name: numbers[o.name] for o in known if o.name in numbers}
    source = (Series if curves else Source).read(drawn)
    X, y = source.points()
    points = {"x": X.tolist()} if curves else {"X": X.ravel().tolist()}
    state = {"kernel": kernel, "learner": learner, "options": options, "source": drawn}
    return panel, PANELS[panel](state | points | {"y": y.tolist()})
