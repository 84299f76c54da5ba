"""Curves: regression on a line, its band, its leave-one-out curve, the weights of one query."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

import mercer
from mercer import data
from mercer.lab.compute.learners import LEARNERS, Learner, Option
from mercer.lab.compute.presets import DECIMALS, TEST_ROWS, TEST_SEED
from mercer.lab.compute.states import MOST_POINTS, Problem, Source, number, numbers, takes
from mercer.lab.compute.wire import Reply

#: The line that is shown, and how high or low a point may lie.
LOW, HIGH, REACH = 0.0, 10.0, 1000.0
#: Points of a curve.
GRID = 300
#: Values of the option along the leave-one-out curve.
TRIED = 31
#: Points of a sample of a Gaussian process, and directions in which it varies.
FEW, DIRECTIONS = 81, 24

_WIDTH = Option("bandwidth", "h", 0.5, 0.05, 5.0)
SMOOTHERS = {
    "nadaraya": Learner("Nadaraya–Watson smoother", "NadarayaWatsonRegressor", (_WIDTH,)),
    "local": Learner("local linear regression", "LocalLinearRegressor", (_WIDTH,)),
    "ridge": Learner("ridge regression", "KernelRidge", LEARNERS["ridge"].options,
                     {"fit_intercept": False}),
}  # fmt: skip
#: The function without noise, as the data sets of `mercer.data` have it.
TRUTHS = {
    "sine_linear_noise": ("a wave on a slope", lambda x: x / 2 + 2 * np.sin(x)),
    "linear_noise": ("a line", lambda x: x),
    "pure_noise": ("noise alone", lambda x: 0.0 * x),
}


class Series(Source):
    """Which data set the points were drawn from."""

    presets = TRUTHS
    most_noise: ClassVar[float] = 5.0

    def points(self, n: int | None = None, more: int = 0) -> tuple[np.ndarray, np.ndarray]:
        make = getattr(data, self.preset)
        X, y = make(n or self.n, noise=self.noise, random_state=self.seed + more)
        return np.round(X[:, 0], DECIMALS), np.round(y, DECIMALS)

    def script(self, n: int | None = None, more: int = 0, X: str = "X", y: str = "y") -> list[str]:
        given = f"{n or self.n}, noise={self.noise!r}, random_state={self.seed + more}"
        return [
            f"{X}, {y} = data.{self.preset}({given})",
            f"{X}, {y} = np.round({X}, {DECIMALS}), np.round({y}, {DECIMALS})",
        ]


@dataclass(frozen=True, eq=False)
class CurveState(Problem):
    """The points, the kernel and the smoother."""

    x: np.ndarray
    y: np.ndarray

    learners = SMOOTHERS
    sources = Series
    examples = "numbers"

    @classmethod
    def read(cls, given: Any) -> CurveState:
        x = numbers(MOST_POINTS, LOW - 5, HIGH + 5, "x")
        y = numbers(MOST_POINTS, -REACH, REACH, "y")
        found = cls.fields(given, x=x, y=y)
        if len(found["x"]) != len(found["y"]):
            raise ValueError(f"there are {len(found['x'])} x and {len(found['y'])} y")
        return cls(**found)

    @property
    def X(self) -> np.ndarray:
        return self.x[:, None]

    def fit(self) -> Any:
        if len(self.y) < 3:
            raise ValueError("draw three points at least")
        return self.entry.make(self.parsed, self.options).fit(self.X, self.y)


_ON_THE_LINE = number(LOW, HIGH, "x")


@takes(source=Series.read, at=lambda v: None if v is None else _ON_THE_LINE(v))
def series(source: Series, at: float | None) -> Reply:
    """The points of a data set, or one more of them at a given x."""
    if at is None:
        x, y = source.points()
        return Reply({"x": x, "y": y})
    # The draw depends on where, so that the same question has the same answer.
    rng = np.random.default_rng([source.seed, round(1e4 * at)])
    y = TRUTHS[source.preset][1](at) + source.noise * rng.normal()
    return Reply({"x": [at], "y": [round(float(y), DECIMALS)]})


@takes(state=CurveState.read)
def curve(state: CurveState) -> Reply:
    """The curve, its band, and where it is least certain."""
    grid = np.linspace(LOW, HIGH, GRID)
    with warnings.catch_warnings(record=True, action="always") as told:
        model = state.fit()
    with warnings.catch_warnings(action="ignore"):
        mean, low, high = _band(state, model, grid[:, None])
        training = float(np.mean(np.square(model.predict(state.X) - state.y)))
    width = np.where(np.isfinite(high - low), high - low, np.inf)
    limit = 3 * float(np.ptp(state.y)) + 1.0
    facts = {
        "training": training,
        "uncertain": float(grid[int(width.argmax())]),
        "notes": [" ".join(str(w.message).split()) for w in told][:1],
        "kernel": repr(model.kernel_),
    }
    arrays = {
        "grid": grid,
        "mean": mean,
        "low": np.maximum(low, mean - limit),
        "high": np.minimum(high, mean + limit),
    }
    if state.source is not None:
        arrays["truth"] = TRUTHS[state.source.preset][1](grid)
    if state.learner == "ridge":
        arrays |= _samples(state, model)
    return Reply(facts, arrays)


def _samples(state: CurveState, model: Any) -> dict[str, np.ndarray]:
    """A factor F of the covariance of f on a few points: mean + F u is a sample, u ~ N(0, 1)."""
    few = np.linspace(LOW, HIGH, FEW)[:, None]
    mean, variance = model.latent_mean_and_variance(few)
    K = np.asarray(model.kernel_(np.vstack([state.X, few])), dtype=np.float64)
    n = len(state.y)
    alpha = state.entry.settings(state.options)["alpha"]
    rest = K[n:, n:] - K[n:, :n] @ np.linalg.solve(K[:n, :n] + alpha * np.eye(n), K[:n, n:])
    unit = variance.sum() / max(float(np.trace(rest)), 1e-300)
    values, vectors = np.linalg.eigh(rest * unit)
    kept = slice(FEW - 1, FEW - 1 - DIRECTIONS, -1)
    factor = vectors[:, kept] * np.sqrt(np.maximum(values[kept], 0.0))
    return {"few": few[:, 0], "middle": mean, "factor": factor}


def _band(state: CurveState, model: Any, X: np.ndarray) -> tuple[np.ndarray, ...]:
    """The value, and two standard deviations (smoothers: 95 %) below and above it."""
    if state.learner != "ridge":
        return tuple(np.asarray(part) for part in model.confidence_band(X))
    mean, variance = model.latent_mean_and_variance(X)
    return mean, mean - 2 * np.sqrt(variance), mean + 2 * np.sqrt(variance)


@takes(state=CurveState.read)
def curve_errors(state: CurveState) -> Reply:
    """Errors on points left out along the whole slider, with the least, and on new points."""
    (option,) = state.entry.options
    tried = np.geomspace(option.low, option.high, TRIED)
    with warnings.catch_warnings(action="ignore"):
        model = state.fit()
        errors = np.array([_left_out(state, {option.name: value}) for value in tried])
        now = _left_out(state, state.options)
        test = None
        if state.source is not None:
            x, y = state.source.points(TEST_ROWS, TEST_SEED)
            test = float(np.mean(np.square(model.predict(x[:, None]) - y)))
    best = float(tried[int(np.nanargmin(errors))]) if np.isfinite(errors).any() else None
    facts = {"left_out": now, "test": test, "best": best, "option": option.name}
    return Reply(facts, {"tried": tried, "errors": errors})


def _left_out(state: CurveState, options: dict[str, Any]) -> float:
    """The mean squared leave-one-out error, in closed form."""
    settings = state.entry.settings(options)
    make = getattr(mercer, state.entry.name)
    if state.learner == "ridge":
        model = make(state.parsed, alphas=[settings["alpha"]]).fit(state.X, state.y)
        return float(model.loo_errors_[0])
    model = make(state.parsed, **settings).fit(state.X, state.y)
    return float(np.mean(np.square(model.leave_one_out() - state.y)))


@takes(state=CurveState.read, x=_ON_THE_LINE)
def query(state: CurveState, x: float) -> Reply:
    """One x: the value there, the slope of a local line, and the weight of every point."""
    at = np.array([[x]])
    with warnings.catch_warnings(action="ignore"):
        model = state.fit()
        facts: dict[str, Any] = {"x": x, "value": float(model.predict(at)[0])}
        if state.learner == "ridge":
            weights = model.expansion_.contributions(at)
        else:
            h = model.bandwidth_
            k = np.asarray(model.kernel_(at / h, state.X / h), dtype=np.float64)[0]
            weights = k / k.sum() if k.sum() else k
        if state.learner == "local":
            facts["slope"] = float(np.ravel(model.gradient(at))[0])
    return Reply(facts, {"weights": weights})


@takes(state=CurveState.read)
def curve_script(state: CurveState) -> Reply:
    """A script that prints the numbers of the panel."""
    names = sorted([state.entry.name, *(["data"] if state.source else [])])
    imports = ["import numpy as np", f"from mercer import {', '.join(names)}"]
    points = [f"X = np.array({state.X.tolist()})", f"y = np.array({state.y.tolist()})"]
    if state.generated:
        points = state.source.script()
    fit = [f"model = {state.entry.script(state.kernel, state.options)}", "model.fit(X, y)",
           'print(f"training error {np.mean((model.predict(X) - y) ** 2):.9g}")']  # fmt: skip
    if state.learner == "ridge":
        alpha = state.entry.settings(state.options)["alpha"]
        left = f"{state.entry.name}({state.kernel!r}, alphas=[{alpha!r}]).fit(X, y).loo_errors_[0]"
    else:
        left = "np.mean((model.leave_one_out() - y) ** 2)"
    parts = [imports, points, fit, [f'print(f"left out       {{{left}:.9g}}")']]
    if state.source is not None:
        new = state.source.script(TEST_ROWS, TEST_SEED, "X_new", "y_new")
        error = "np.mean((model.predict(X_new) - y_new) ** 2)"
        parts.append([*new, f'print(f"new points     {{{error}:.9g}}")'])
    return Reply({"script": "\n\n".join("\n".join(part) for part in parts) + "\n"})
