"""The laboratory in a browser, 200 points: from a moved slider to the new picture on the screen.

The page itself measures: the slider of the first number moves, the server answers, the canvas is
painted, and the clock stops in the frame after. Median and 95th percentile of the picture that
follows a slider (48²), the median of the picture at rest (192²), and the frames per second while a
point is dragged. Needs Playwright and Chromium.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from _harness import Row, below, claim, main, skipped

LEARNERS = ("perceptron", "averaged", "voted", "svm", "ridge", "logistic", "smoother", "neighbors",
            "centroid")  # fmt: skip
COMPOSITE = "gaussian(0.3) + 0.5*gaussian(1) + polynomial(2, 1)"
MOVES = 40
MEDIAN, SLOWEST, FINE = below(40, "ms"), below(80, "ms"), below(120, "ms")
CASES = [(learner, "gaussian(0.3)") for learner in LEARNERS] + [("ridge", COMPOSITE)]

SLIDE = """async (moves) => {
  const times = [], frame = () => new Promise(requestAnimationFrame);
  for (let i = 0; i < moves; i++) {
    const before = lab.panel.final, start = performance.now();
    lab.panel.box.slide(0, Number((0.2 + 0.005 * i + 0.0001 * Math.random()).toPrecision(4)));
    while (lab.panel.final === before) await frame();
    await frame();
    times.push(performance.now() - start);
  }
  return times;
}"""
REST = """async (moves) => {
  const times = [];
  for (let i = 0; i < moves; i++) {
    const state = {...lab.panel.snapshot(), kernel: `gaussian(${0.2 + 0.01 * i})`};
    const start = performance.now();
    await lab.talk.ask("field", {state, size: 192, visits: false});
    times.push(performance.now() - start);
  }
  return times;
}"""


@contextmanager
def page() -> Iterator[Any]:
    """The page of a server of its own, in a browser."""
    from playwright.sync_api import sync_playwright

    command = [sys.executable, "-m", "mercer", "lab", "--no-browser"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        address = server.stdout.readline().strip()
        try:
            with sync_playwright() as playwright:
                browser = playwright.chromium.launch(
                    executable_path=shutil.which("chromium"), args=["--no-sandbox"]
                )
                found = browser.new_page(viewport={"width": 1440, "height": 900})
                found.set_default_timeout(120_000)
                found.goto(address)
                settled(found)
                yield found
                browser.close()
        finally:
            server.terminate()


def settled(found: Any) -> None:
    found.wait_for_function("() => window.lab.panel && window.lab.panel.settled")


def one(found: Any, learner: str, kernel: str) -> list[Row]:
    state = f"#panel=playground&data=moons&n=200&learner={learner}&kernel="
    # The old panel is still there until the browser has told of the new address.
    found.evaluate("(state) => { lab.panel.settled = false; location.hash = state; }",
                   state + kernel.replace("+", "%2B"))  # fmt: skip
    settled(found)
    found.evaluate(SLIDE, 5)
    times = np.array(found.evaluate(SLIDE, MOVES))
    what = f"lab, {learner}" + (", three kernels" if kernel == COMPOSITE else "")
    return [
        claim(f"{what}: slider to picture, median", float(np.median(times)), None, MEDIAN),
        claim(f"{what}: 95th percentile", float(np.quantile(times, 0.95)), None, SLOWEST),
    ]


def measure() -> list[Row]:
    try:
        import playwright  # noqa: F401
    except ImportError:
        return [skipped("lab", MEDIAN, "playwright is not installed")]
    if shutil.which("chromium") is None:
        return [skipped("lab", MEDIAN, "there is no chromium")]
    with page() as found:
        rows = [row for case in CASES for row in one(found, *case)]
        settled(found)
        fine = float(np.median(found.evaluate(REST, 15)))
        return [*rows, claim("lab, ridge: picture of 192², median", fine, None, FINE)]


if __name__ == "__main__":
    main(measure)
