"""A state of the page, checked: everything that comes from outside passes here first."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property, wraps
from inspect import signature
from typing import Any, ClassVar, Self

import numpy as np

from mercer.kernels import Kernel
from mercer.kernels.grammar import parse
from mercer.lab.compute.learners import LEARNERS, Learner
from mercer.lab.compute.presets import PRESETS, VIEW

MOST_POINTS = 1000
MOST_CLASSES = 10
MOST_CHARACTERS = 500
#: Points per side of the picture.
MOST_CELLS = 256
#: How far outside the picture a point may lie.
REACH = 3.2


def fields_of(given: Any, known: Mapping[str, Callable[[Any], Any]], what: str) -> dict[str, Any]:
    """The fields of an object, each read by its function; others are refused."""
    if not isinstance(given, dict):
        raise ValueError(f"{what} must be an object, got {type(given).__name__}")
    unknown = sorted(set(given) - set(known))
    if unknown:
        raise ValueError(f"{what} has no field {unknown[0][:40]!r}")
    missing = [name for name in known if name not in given]
    if missing:
        raise ValueError(f"{what} needs the field {missing[0]!r}")
    return {name: read(given[name]) for name, read in known.items()}


def takes(**known: Callable[[Any], Any]) -> Callable[..., Callable[[dict[str, Any]], Any]]:
    """Let a function of fields answer requests, each field read by its function."""

    def made(work: Callable[..., Any]) -> Callable[[dict[str, Any]], Any]:
        given = signature(work).parameters.values()
        usual = {p.name: p.default for p in given if p.default is not p.empty}
        return wraps(work)(lambda request: work(**fields_of(usual | request, known, "the request")))

    return made


def whole(low: int, high: int, what: str) -> Callable[[Any], int]:
    def read(value: Any) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            raise ValueError(f"{what} must be a whole number from {low} to {high}")
        return value

    return read


def number(low: float, high: float, what: str) -> Callable[[Any], float]:
    def read(value: Any) -> float:
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise ValueError(f"{what} must be a number")
        if not low <= value <= high:  # NaN is not
            raise ValueError(f"{what} must lie from {low:g} to {high:g}")
        return float(value)

    return read


def expression(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError(f"a kernel is a text, got {type(value).__name__}")
    if len(value) > MOST_CHARACTERS:
        raise ValueError(
            f"the expression has {len(value)} characters; the page takes {MOST_CHARACTERS}"
        )
    return value


def one_of(known: dict[str, Any], what: str) -> Callable[[Any], str]:
    def read(value: Any) -> str:
        if not isinstance(value, str) or value not in known:
            raise ValueError(f"{what} must be one of {', '.join(known)}")
        return value

    return read


def numbers(most: int, low: float, high: float, what: str) -> Callable[[Any], np.ndarray]:
    def read(value: Any) -> np.ndarray:
        if not isinstance(value, list) or len(value) > most:
            raise ValueError(f"{what} must be a list of at most {most} numbers")
        if any(isinstance(v, bool) or not isinstance(v, (int, float)) for v in value):
            raise ValueError(f"{what} must be numbers")
        array = np.array(value, dtype=np.float64)
        if not ((array >= low) & (array <= high)).all():
            raise ValueError(f"{what} must lie from {low:g} to {high:g}")
        return array

    return read


def options_of(value: Any) -> dict[str, float]:
    if not isinstance(value, dict) or len(value) > 8:
        raise ValueError("the options must be an object of a few numbers")
    read = number(-1e9, 1e9, "an option")
    return {str(name): read(given) for name, given in value.items()}


@dataclass(frozen=True)
class Source:
    """Which preset the points were drawn from, so that new ones can be drawn to test on."""

    preset: str
    n: int
    noise: float
    seed: int

    presets: ClassVar[dict[str, Any]] = PRESETS
    most_noise: ClassVar[float] = 1.0

    @classmethod
    def read(cls, given: Any) -> Self:
        known = {
            "preset": one_of(cls.presets, "the preset"),
            "n": whole(2, MOST_POINTS, "the number of points"),
            "noise": number(0.0, cls.most_noise, "the noise"),
            "seed": whole(0, 10**6, "the seed"),
        }
        return cls(**fields_of(given, known, "the source"))

    def points(self) -> tuple[np.ndarray, np.ndarray]:
        return PRESETS[self.preset].sample(self.n, self.noise, self.seed)


@dataclass(frozen=True, eq=False)
class Problem:
    """A kernel, a learner with its options, and where the examples come from."""

    kernel: str
    learner: str
    options: dict[str, Any]
    source: Any
    key: str

    learners: ClassVar[dict[str, Learner]] = LEARNERS
    sources: ClassVar[type[Source]] = Source
    examples: ClassVar[str] = "points of the plane"

    @classmethod
    def fields(cls, given: Any, **known: Callable[[Any], Any]) -> dict[str, Any]:
        """All fields of a state, those of this class and those in `known`."""
        known |= {
            "kernel": expression,
            "learner": one_of(cls.learners, "the learner"),
            "options": options_of,
            "source": lambda value: None if value is None else cls.sources.read(value),
        }
        key = json.dumps(given, sort_keys=True)
        return fields_of(given, known, "the state") | {"key": key}

    @cached_property
    def parsed(self) -> Kernel:
        kernel = parse(self.kernel)
        if kernel.takes != "vectors" or kernel.is_opaque:
            raise ValueError(f"{kernel!r} is not a kernel on {self.examples}")
        return kernel

    @property
    def entry(self) -> Learner:
        return self.learners[self.learner]

    @property
    def generated(self) -> bool:
        """Whether the points are those of the source, none moved, added or erased."""
        if self.source is None:
            return False
        mine: Any = self
        X, y = self.source.points()
        return np.array_equal(X.ravel(), mine.X.ravel()) and np.array_equal(y, mine.y)


@dataclass(frozen=True, eq=False)
class State(Problem):
    """The data, the kernel and the learner of the playground."""

    X: np.ndarray
    y: np.ndarray

    @classmethod
    def read(cls, given: Any) -> State:
        coordinates = numbers(2 * MOST_POINTS, -REACH, REACH, "coordinates")
        classes = numbers(MOST_POINTS, 0, MOST_CLASSES - 1, "classes")
        found = cls.fields(given, X=coordinates, y=classes)
        X, y = found.pop("X").reshape(-1, 2), found.pop("y").astype(int)
        if len(X) != len(y):
            raise ValueError(f"there are {len(X)} points and {len(y)} classes")
        return cls(**found, X=X, y=y)


def view_of(given: Any) -> np.ndarray:
    """The middle of the picture and half of its side; None is the whole plane."""
    return np.array([0.0, 0.0, VIEW]) if given is None else numbers(3, -9.0, 9.0, "the view")(given)


def lattice(size: int, view: Any = (0.0, 0.0, VIEW)) -> np.ndarray:
    """The points of a size × size picture, the top row first, its corners included."""
    side = view[2] * np.linspace(-1.0, 1.0, size)
    x, y = np.meshgrid(view[0] + side, view[1] + side[::-1])
    return np.column_stack([x.ravel(), y.ravel()])
