"""A state as a figure that moves without the server: in a chapter, or in a file to be sent."""

from __future__ import annotations

import base64
from dataclasses import asdict, replace
from typing import Any
from urllib.parse import parse_qsl

import numpy as np

from mercer.lab.compute.curves import SMOOTHERS, TRUTHS, CurveState, Series
from mercer.lab.compute.digits import Drawn, training
from mercer.lab.compute.learners import LEARNERS
from mercer.lab.compute.presets import PRESETS, TEST_ROWS, TEST_SEED
from mercer.lab.compute.states import Source, State, one_of, takes, whole
from mercer.lab.compute.wire import Reply
from mercer.live import kernel_for_page, page, sliders_of

#: Panels with a figure, and how their states are read.
PANELS: dict[str, Any] = {
    "playground": State.read, "gram": State.read, "curves": CurveState.read, "digits": Drawn.read,
}  # fmt: skip


def figure(panel: str, state: Any, beside: str = "") -> dict[str, Any]:
    """The figure of a state, as plain values for `mercer.live`; `beside` is a learner to go to."""
    if panel == "digits":  # the judges learn in the page
        X, labels = training()
        images = _text(np.round(16 * X).astype("u1"))
        return {"panel": panel, "given": state.given, "images": images, "labels": labels}
    if not state.entry.takes_kernel:
        raise ValueError(f"the {state.entry.title} needs the library: no page can do without it")
    kernel = state.parsed.fitted(state.X)  # type: ignore[attr-defined]
    sliders = sliders_of(state.kernel)
    spec: dict[str, Any] = {
        "panel": panel,
        "kernel": kernel_for_page(kernel, state.kernel, sliders),
        "points": _packed(state),
    }
    if panel == "gram":
        return spec | {"title": title(panel, state)}
    spec |= {"learner": state.learner} | _learner(panel, state)
    if beside:
        both = {name: replace(state, learner=name, options={}) for name in (state.learner, beside)}
        spec["others"] = {n: _learner(panel, one) | {"short": n} for n, one in both.items()}
    if isinstance(state, State) and state.source is not None and state.generated:
        source = state.source
        X, y = PRESETS[source.preset].sample(TEST_ROWS, source.noise, TEST_SEED + source.seed)
        spec["test"] = packed_points(X, y)
    return spec


def _learner(panel: str, state: Any) -> dict[str, Any]:
    """The numbers of a learner, and their sliders."""
    options = state.entry.options
    given = {o.name: state.options.get(o.name, o.default) for o in options}
    sliders = [asdict(option) for option in options]
    return {"title": title(panel, state), "options": given, "sliders": sliders}


def title(panel: str, state: Any) -> str:
    """What is seen, in a few words."""
    if panel == "digits":
        return "A drawn digit"
    known = TRUTHS if panel == "curves" else PRESETS
    if state.source is None:
        data = "points drawn by hand"
    else:
        entry: Any = known[state.source.preset]
        data = entry[0] if panel == "curves" else entry.title
    if panel == "gram":
        return f"The kernel matrix of {data}"
    name = state.entry.title
    return f"{name[0].upper()}{name[1:]}: {data}"


def packed_points(X: np.ndarray, y: np.ndarray) -> str:
    """Points as the page's address has them: a digit for each class, and whole numbers."""
    return "".join(map(str, y.tolist())) + "." + _text(np.round(X.ravel() * 1e4).astype("<i2"))


def _packed(state: Any) -> str:
    if isinstance(state, CurveState):
        return _text(np.concatenate([state.x, state.y]).astype("<f4"))
    return packed_points(state.X, state.y)


def _text(array: np.ndarray) -> str:
    return base64.urlsafe_b64encode(array.tobytes()).decode().rstrip("=")


def from_address(query: str) -> tuple[str, Any]:
    """The panel and the state that an address of the laboratory names; data of a preset only.

    >>> panel, state = from_address("panel=playground&data=xor&kernel=linear()&learner=svm&C=2")
    >>> panel, len(state.y), state.options
    ('playground', 4, {'C': 2.0})
    """
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


@takes(
    panel=one_of(PANELS, "the panel"),
    state=lambda value: value,
    beside=lambda value: value if value == "" else one_of(LEARNERS, "the learner")(value),
    visit=lambda value: None if value is None else whole(0, 10**6, "the visit")(value),
)
def share(panel: str, state: Any, beside: str = "", visit: int | None = None) -> Reply:
    """One HTML file of a state. It holds what is on the screen, and nothing of this machine."""
    problem = PANELS[panel](state)
    spec = figure(panel, problem, beside) | ({} if visit is None else {"visit": visit})
    return Reply({"page": page(spec, title(panel, problem))})
