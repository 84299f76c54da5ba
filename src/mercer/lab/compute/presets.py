"""Data sets to begin with: those of `mercer.data`, moved and scaled into the picture."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mercer import data

#: Half the side of the picture: x and y lie between −VIEW and VIEW.
VIEW = 1.5
#: Decimals of a coordinate. The page, its address and the script all have the same points.
DECIMALS = 4
#: Rows of a new sample on which errors are measured, and the seed that makes it a new one.
TEST_ROWS, TEST_SEED = 1000, 1_000_003

#: A turn by 37°: its sine and cosine are 0.6 and 0.8.
TURN = [[0.8, 0.6], [-0.6, 0.8]]


@dataclass(frozen=True)
class Preset:
    """A data set of `mercer.data`; (x − center) · scale lies in the picture."""

    title: str
    function: str
    n: int = 120
    noise: float = 0.05
    options: dict[str, Any] = field(default_factory=dict)
    center: tuple[float, float] = (0.0, 0.0)
    scale: float = 1.0
    #: Whether it has one coordinate: the other one is 0.
    line: bool = False
    #: Whether points are then spread across the line, and all is turned.
    band: bool = False

    def sample(self, n: int, noise: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
        """Points, and classes counted from 0."""
        make = getattr(data, self.function)
        X, y = make(n, noise=noise, random_state=seed, **self.options)
        if self.line:
            across = np.random.default_rng([seed, 1]).uniform(-2, 2, X.shape)
            X = np.hstack([X, across]) @ TURN if self.band else np.hstack([X, np.zeros_like(X)])
        X = np.round((X - np.array(self.center)) * self.scale, DECIMALS)
        return X, np.unique(y, return_inverse=True)[1]

    def script(self, n: int, noise: float, seed: int, X: str = "X", y: str = "y") -> list[str]:
        """The lines of Python that make the same points."""
        options = "".join(f", {name}={value!r}" for name, value in self.options.items())
        made = f"data.{self.function}({n}, noise={noise!r}, random_state={seed}{options})"
        moved = f"({X} - {list(self.center)})" if any(self.center) else X
        moved = moved if self.scale == 1.0 else f"{moved} * {self.scale!r}"
        random = f"np.random.default_rng([{seed}, 1]).uniform(-2, 2, {X}.shape)"
        across, turned = (random, f" @ {TURN}") if self.band else (f"np.zeros_like({X})", "")
        return [
            f"{X}, {y} = {made}",
            *([f"{X} = np.hstack([{X}, {across}]){turned}"] if self.line else []),
            f"{X} = np.round({moved}, {DECIMALS})",
            f"{y} = np.unique({y}, return_inverse=True)[1]",
        ]


PRESETS = {
    "spirals": Preset("two spirals", "spirals", noise=0.04, options={"turns": 1.0}, scale=1.25),
    "xor": Preset("the four points of XOR", "xor", n=4, noise=0.0),
    "noisy_xor": Preset("noisy XOR", "xor", n=80, noise=0.3, scale=0.8),
    "circles": Preset("two circles", "circles", n=100, noise=0.08),
    "moons": Preset("two moons", "moons", noise=0.12, center=(0.5, 0.25), scale=0.85),
    "checkerboard": Preset(
        "a checkerboard", "checkerboard", n=240, noise=0.0, center=(2.0, 2.0), scale=0.6
    ),
    "blobs": Preset("two clouds", "blobs", n=60, noise=0.35, options={"distance": 1.6}),
    "easy_line": Preset("an easy line", "easy_line", n=30, noise=0.0, scale=0.45, line=True),
    "hard_line": Preset("a hard line", "hard_line", n=30, noise=0.0, scale=0.45, line=True),
    "band": Preset("a slanted band", "hard_line", scale=0.42, line=True, band=True),
    "three": Preset("three clouds", "blobs", n=90, noise=0.3, options={"classes": 3}, scale=0.8),
    "five": Preset("five clouds", "blobs", n=120, noise=0.25,
                   options={"classes": 5, "distance": 1.2}),
}  # fmt: skip
