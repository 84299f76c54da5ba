"""The moving picture of the laboratory in the README and the documentation: docs/_static/lab.webp.

    python tools/film.py [FILE]

A perceptron learns two spirals, one pixel is explained, σ moves, a Gaussian process takes over,
and XOR is lifted. Frames are pictures of the page after each step, not a recording in time, so a
slow machine makes the same film. Needs Playwright, Chromium and Pillow.
"""

from __future__ import annotations

import io
import shutil
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
from PIL import Image
from playwright.sync_api import sync_playwright

WIDTH, HEIGHT, SHOWN = 1040, 770, 900  # pixels of the page, and the width of the film
STEP, PAUSE = 80, 1500  # milliseconds of a frame that moves, and of one to look at
QUALITY = 55


def film(page: Any, address: str) -> Iterator[int]:
    """Plays the story; after each `yield` of a frame's duration the page is photographed."""
    goto(page, f"{address}#panel=playground&data=spirals&kernel=gaussian(0.2)&learner=perceptron")
    length = page.evaluate("lab.panel.playbar.length")
    yield PAUSE  # the first frame is what a viewer without motion shows
    # Most mistakes come early, so the beginning is slower.
    for part in np.linspace(0, 1, 40):
        page.evaluate("(t) => lab.panel.playbar.go(t)", round(length * part**2.5))
        yield STEP
    yield PAUSE
    for x, y in zip(
        np.linspace(170, 420, 24), 260 + 120 * np.sin(np.linspace(0, 5, 24)), strict=True
    ):
        before = page.evaluate("lab.panel.plane.pixel && lab.panel.plane.pixel.x.join()")
        page.locator(".stage canvas").first.hover(position={"x": x, "y": y})
        page.wait_for_function(
            "(before) => lab.panel.plane.pixel && lab.panel.plane.pixel.x.join() !== before",
            arg=before,
        )
        yield STEP
    page.mouse.move(5, 5)
    for part in [*range(133, 216, 6), *range(216, 155, -6)]:  # of the slider's 400 steps
        page.evaluate("() => { lab.panel.final = null; }")
        page.get_by_label("sigma").fill(str(part))
        page.wait_for_function("() => lab.panel.final !== null")
        yield STEP
    settled(page)
    yield PAUSE
    page.locator("select[aria-label=Learner]").select_option("process")
    page.wait_for_function("() => lab.panel.final && lab.panel.final.doubt && lab.panel.settled")
    yield PAUSE
    goto(page, f"{address}#panel=gram&data=noisy_xor&kernel=polynomial(2)&show=product")
    for part in np.linspace(0, 1, 30):
        page.evaluate(
            "([lift, angle]) => { Object.assign(lab.panel.space, {touched: true, angle});"
            " lab.panel.lift.show(lift); lab.panel.raise(lift); }",
            [float(part * part * (3 - 2 * part)), float(0.35 + 0.5 * part)],
        )
        yield STEP
    yield 2 * PAUSE


def goto(page: Any, address: str) -> None:
    page.goto("about:blank")
    page.goto(address)
    settled(page)


def settled(page: Any) -> None:
    page.wait_for_function("() => window.lab && window.lab.panel && window.lab.panel.settled")


def photographed(page: Any) -> Image.Image:
    page.evaluate(
        "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
    )
    with Image.open(io.BytesIO(page.screenshot())) as taken:
        return taken.convert("RGB").resize(
            (SHOWN, round(SHOWN * HEIGHT / WIDTH)), Image.Resampling.LANCZOS
        )


def main(path: str = "docs/_static/lab.webp") -> None:
    command = [sys.executable, "-m", "mercer", "lab", "--no-browser"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        address = server.stdout.readline().strip()
        try:
            with sync_playwright() as playwright:
                browser = playwright.chromium.launch(
                    executable_path=shutil.which("chromium"), args=["--no-sandbox"]
                )
                page = browser.new_page(
                    viewport={"width": WIDTH, "height": HEIGHT}, reduced_motion="reduce"
                )
                page.set_default_timeout(120_000)
                frames, durations = [], []
                for duration in film(page, address):
                    frames.append(photographed(page))
                    durations.append(duration)
                browser.close()
        finally:
            server.terminate()
    frames[0].save(
        path, save_all=True, append_images=frames[1:], duration=durations, loop=0,
        quality=QUALITY, method=4, minimize_size=True,
    )  # fmt: skip
    print(f"{path}: {len(frames)} frames, {sum(durations) / 1000:.0f} s")


if __name__ == "__main__":
    main(*sys.argv[1:])
