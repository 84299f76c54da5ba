"""The screen as a Python script, which prints the numbers that the page shows."""

from __future__ import annotations

from mercer.lab.compute.playground import FOLDS
from mercer.lab.compute.presets import PRESETS, TEST_ROWS, TEST_SEED
from mercer.lab.compute.states import State, takes
from mercer.lab.compute.wire import Reply

_LEFT_OUT = {
    "ridge": (
        'path = clone(model).set_params(alpha="auto", alphas=[model.alpha])',
        "loo = path.fit(X, y).loo_predictions_",
        "answers = model.classes_[(loo > 0).astype(int) if loo.ndim == 1 else loo.argmax(axis=1)]",
    ),
    "smoother": ("answers = model.classes_[model.leave_one_out().argmax(axis=1)]",),
    "neighbors": ("answers = model.predict(None)",),
}


@takes(state=State.read)
def script(state: State) -> Reply:
    """A script for a state of the playground."""
    entry = state.entry
    fit = [f"model = {entry.script(state.kernel, state.options)}", "model.fit(X, y)",
           'print(f"training error {np.mean(model.predict(X) != y):.6%}")']  # fmt: skip
    if entry.averaging is not None:
        fit.append('print(f"{model.n_mistakes_} mistakes in {model.n_visits_} visits")')
    names = [entry.name, "plot", *(["data"] if state.generated else [])]
    imports = ["import numpy as np", f"from mercer import {', '.join(sorted(names))}"]
    left_out, needs = _left_out(state)
    parts = [imports + needs, data_lines(state), fit, left_out]
    if state.generated:
        parts.append(_test(state))
    parts.append(["plot.decision_regions(model, X, y).figure.savefig('mercer.png')"])
    return Reply({"script": "\n\n".join("\n".join(part) for part in parts if part) + "\n"})


def data_lines(state: State) -> list[str]:
    """The lines that make X and y."""
    source = state.source
    if source is not None and state.generated:
        return PRESETS[source.preset].script(source.n, source.noise, source.seed)
    rows = ", ".join(f"[{x!r}, {y!r}]" for x, y in state.X.tolist())
    return [f"X = np.array([{rows}])", f"y = np.array({state.y.tolist()})"]


def _left_out(state: State) -> tuple[list[str], list[str]]:
    """The lines for the error on points left out, and what they import."""
    show = 'print(f"left out       {np.mean(answers != y):.6%}")'
    enough = state.learner != "neighbors" or state.options.get("n_neighbors", 5) < len(state.y)
    if state.learner in _LEFT_OUT and enough:
        needs = ["from sklearn.base import clone"] if state.learner == "ridge" else []
        return [*_LEFT_OUT[state.learner], show], needs
    folds = f"KFold({min(FOLDS, len(state.y))}, shuffle=True, random_state=0)"
    lines = [f"answers = cross_val_predict(model, X, y, cv={folds})", show]
    return lines, ["from sklearn.model_selection import KFold, cross_val_predict"]


def _test(state: State) -> list[str]:
    source = state.source
    assert source is not None
    seed = TEST_SEED + source.seed
    lines = PRESETS[source.preset].script(TEST_ROWS, source.noise, seed, "X_new", "y_new")
    return [*lines, 'print(f"new points     {np.mean(model.predict(X_new) != y_new):.6%}")']
