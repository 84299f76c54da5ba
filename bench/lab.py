"""The laboratory in a browser, 200 points: from a moved slider to the new picture on the screen.

    python bench/lab.py

The page itself measures: the slider of the first number moves in one frame, the server answers,
and the clock stops when the browser has drawn the frame that shows the new picture. Median and
95th percentile of the picture that follows a slider (48²), the median of the picture at rest
(192²), the time from opening the page to its first picture, the time per frame while the mouse
drags a point, and what a page waits while 200 others ask. Needs Playwright and Chromium.
"""

from __future__ import annotations

import contextlib
import json
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

import numpy as np
from _harness import Row, at_most, below, claim, main, skipped

from mercer.lab.compute.learners import LEARNERS
from mercer.lab.compute.states import Source
from mercer.lab.compute.wire import unpacked

COMPOSITE = "gaussian(0.3) + 0.5*gaussian(1) + polynomial(2, 1)"
MOVES, VISITS, CROWD = 40, 7, 200
MEDIAN, SLOWEST, FINE = below(40, "ms"), below(80, "ms"), below(120, "ms")
FIRST, FRAME, PATIENCE = below(1000, "ms"), below(20, "ms"), at_most(3, "wait")
CASES = [(learner, "gaussian(0.3)") for learner in LEARNERS] + [("ridge", COMPOSITE)]

SLIDE = """async (moves) => {
  const times = [], frame = () => new Promise(requestAnimationFrame);
  const {port1, port2} = new MessageChannel();
  // A message that is sent in a frame arrives when that frame has been drawn.
  const drawn = () => new Promise((done) => { port1.onmessage = done; port2.postMessage(null); });
  for (let i = 0; i < moves; i++) {
    const before = lab.panel.final, start = performance.now();
    lab.panel.box.slide(0, Number((0.2 + 0.005 * i + 0.0001 * Math.random()).toPrecision(4)));
    while (lab.panel.final === before) {
      if (performance.now() > start + 20000) throw new Error(lab.panel.message.textContent);
      await frame();
    }
    await drawn();
    times.push(performance.now() - start);
    await frame();
  }
  return times;
}"""
REST = """async (moves) => {
  const times = [];
  for (let i = 0; i < moves; i++) {
    const state = {...lab.panel.snapshot(), kernel: `gaussian(${0.2 + 0.01 * i})`};
    const start = performance.now();
    await lab.talk.ask("field", {state, size: 192, visits: false}, "beside");
    times.push(performance.now() - start);
  }
  return times;
}"""
#: Notes when the first picture is on the screen, in milliseconds since the page was asked for.
WATCH = """(() => {
  const look = () => window.lab?.panel?.plane?.field
    ? requestAnimationFrame(() => { window.first = performance.now(); })
    : requestAnimationFrame(look);
  requestAnimationFrame(look);
})()"""
COUNT = """() => {
  window.shown = [];
  const next = (now) => { window.shown.push(now); window.counting = requestAnimationFrame(next); };
  next(performance.now());
}"""


@contextmanager
def serving() -> Iterator[str]:
    """The address of a server of its own."""
    command = [sys.executable, "-m", "mercer", "lab", "--no-browser"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        try:
            yield server.stdout.readline().strip()
        finally:
            server.terminate()


@contextmanager
def browsing() -> Iterator[Callable[[str], Any]]:
    """Opens pages."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )

        def opened(address: str) -> Any:
            page = browser.new_page(viewport={"width": 1440, "height": 900})
            page.set_default_timeout(120_000)
            page.add_init_script(WATCH)
            page.goto(address)
            settled(page)
            return page

        yield opened
        browser.close()


def settled(page: Any) -> None:
    page.wait_for_function("() => window.lab.panel && window.lab.panel.settled")


def shown(page: Any, learner: str, kernel: str) -> None:
    state = f"#panel=playground&data=moons&n=200&learner={learner}&kernel="
    # The old panel is still there until the browser has told of the new address.
    page.evaluate(
        "(state) => { lab.panel.settled = false; location.hash = state; }",
        state + kernel.replace("+", "%2B"),
    )
    settled(page)


def one(page: Any, learner: str, kernel: str) -> list[Row]:
    """A slider moves: what a person waits for."""
    shown(page, learner, kernel)
    page.evaluate(SLIDE, 5)
    times = np.array(page.evaluate(SLIDE, MOVES))
    what = f"lab, {learner}" + (", three kernels" if kernel == COMPOSITE else "")
    settled(page)
    return [
        claim(f"{what}: slider to picture, median", float(np.median(times)), None, MEDIAN),
        claim(f"{what}: 95th percentile", float(np.quantile(times, 0.95)), None, SLOWEST),
        claim(f"{what}: 192²", float(np.median(page.evaluate(REST, 9))), None, FINE),
    ]


def dragged(page: Any, seconds: float = 3.0) -> Row:
    """The mouse moves a point around while frames are counted."""
    shown(page, "ridge", "gaussian(0.3)")
    box = page.locator(".stage canvas").first.bounding_box()
    x, y = page.evaluate("lab.panel.plane.toScreen(...lab.panel.state.X.slice(0, 2))")
    page.mouse.move(box["x"] + x, box["y"] + y)
    page.mouse.down()
    page.evaluate(COUNT)
    end, angle = time.monotonic() + seconds, 0.0
    while time.monotonic() < end:
        angle += 0.05
        page.mouse.move(box["x"] + 300 + 200 * np.cos(angle), box["y"] + 300 + 200 * np.sin(angle))
    frames = page.evaluate("() => { cancelAnimationFrame(window.counting); return window.shown; }")
    page.mouse.up()
    each = float(np.diff(frames).mean())
    return claim(
        "lab: time per frame while a point is dragged", each, None, FRAME,
        f"{1000 / each:.0f} frames a second",
    )  # fmt: skip


# --- others ask, too ---------------------------------------------------------------------------


def state(sigma: float) -> dict[str, Any]:
    source = {"preset": "moons", "n": 200, "noise": 0.1, "seed": 0}
    X, y = Source.read(source).points()
    return {"kernel": f"gaussian({sigma:.6f})", "learner": "ridge", "options": {},
            "X": X.ravel().tolist(), "y": y.tolist(), "source": None}  # fmt: skip


def connected(address: str) -> Any:
    from websockets.sync.client import connect
    from websockets.typing import Origin

    parts = urlsplit(address)
    client = connect(
        f"ws://{parts.netloc}/talk?{parts.query}", origin=Origin(f"http://{parts.netloc}"),
        max_size=None, open_timeout=60,
    )  # fmt: skip
    client.recv()
    return client


def asked(client: Any, number: int, **body: Any) -> float:
    """Milliseconds until the answer to this request is there."""
    start = time.perf_counter()
    client.send(json.dumps({"id": number, **body}))
    while unpacked(client.recv(timeout=60)).facts.get("id") not in (number, None):
        pass
    return 1e3 * (time.perf_counter() - start)


def waited(client: Any, times: int = 40) -> float:
    """The median wait for a coarse picture, with a moment between two questions."""
    found = []
    for i in range(times):
        body = {"state": state(0.2 + 0.01 * i + 1e-5 * time.perf_counter() % 1e-3), "size": 48}
        found.append(asked(client, i + 1, ask="field", visits=False, **body))
        time.sleep(0.03)
    return float(np.median(found))


def crowd(address: str, over: threading.Event) -> None:
    """Pages that all ask at once, again and again, some of them nonsense; and slow writers."""
    parts = urlsplit(address)
    slow = [socket.create_connection((parts.hostname, parts.port)) for _ in range(50)]
    for one in slow:
        one.sendall(b"GET / HTTP/1.1\r\nHost: ")
    clients = [connected(address) for _ in range(CROWD)]
    big = state(0.3) | {"X": [0.0] * 20_000, "y": [0] * 10_000}
    bodies: list[dict[str, Any]] = [
        {"ask": "field", "state": state(0.31), "size": 48, "visits": False},
        {"ask": "field", "state": big, "size": 48, "visits": False},
        {"ask": "kernel", "text": "x" * 500_000},
        {"ask": "proof", "text": "gaussian(1)*sigmoid(1,1)+1"},
    ]
    number = 0
    while not over.is_set():
        for i, client in enumerate(clients):
            number += 1
            body = bodies[0 if i % 20 else (i // 20) % 4]
            with contextlib.suppress(Exception):
                client.send(json.dumps({"id": number, **body}))
        over.wait(1.0)
    for one in [*slow, *clients]:
        with contextlib.suppress(Exception):
            one.close()


def crowded(address: str) -> Row:
    client = connected(address)
    waited(client, 10)
    alone = waited(client)
    over = threading.Event()
    script = "import lab, sys, threading; lab.crowd(sys.argv[1], threading.Event())"
    with subprocess.Popen([sys.executable, "-c", script, address], cwd=sys.path[0]) as others:
        time.sleep(8.0)  # until all of them are there
        among = waited(client)
        over.set()
        others.kill()
    client.close()
    return claim(f"lab: wait of a page among {CROWD} others, against alone", among, alone, PATIENCE)


def measure() -> list[Row]:
    try:
        import playwright  # noqa: F401
    except ImportError:
        return [skipped("lab", MEDIAN, "playwright is not installed")]
    if shutil.which("chromium") is None:
        return [skipped("lab", MEDIAN, "there is no chromium")]
    with serving() as address:
        with browsing() as opened:
            page = opened(address)
            rows = [row for case in CASES for row in one(page, *case)]
            rows.append(dragged(page))
            page.close()
            first = []
            for _ in range(VISITS):
                page = opened(address)
                first.append(page.evaluate("window.first"))
                page.close()
        wait = float(np.median(first))
        rows.append(claim("lab: from opening the page to its first picture", wait, None, FIRST))
        return [*rows, crowded(address)]


if __name__ == "__main__":
    main(measure)
