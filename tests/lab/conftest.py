import contextlib
import io
import re
import shutil
import subprocess
import sys
import warnings
from importlib.util import find_spec

import pytest

if not (find_spec("starlette") and find_spec("uvicorn")):
    collect_ignore_glob = ["test_*.py"]  # the extra `lab` is not installed


CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
PATIENCE = 120_000  # ms: a loaded machine is slow, not wrong


@pytest.fixture
def state():
    """Makes a state of the playground as the page sends it."""
    from mercer.lab.compute.states import Source

    def make(learner="perceptron", preset="moons", kernel="gaussian(0.3)", n=40, **options):
        source = {"preset": preset, "n": n, "noise": 0.1, "seed": 3}
        X, y = Source.read(source).points()
        return {
            "kernel": kernel,
            "learner": learner,
            "options": options,
            "X": X.ravel().tolist(),
            "y": y.tolist(),
            "source": source,
        }

    return make


@pytest.fixture
def ask():
    """Asks as the page does, without a server: facts and arrays, or the words of an error."""
    import json

    from mercer.lab.compute.requests import answer
    from mercer.lab.compute.wire import unpacked

    def one(name, **body):
        # Through JSON, as over the wire.
        return unpacked(answer(json.loads(json.dumps({"id": 1, "ask": name, **body}))))

    return one


@pytest.fixture
def printed(tmp_path, monkeypatch):
    """Run a script in a folder of its own; return its numbers by the words before them."""
    monkeypatch.chdir(tmp_path)

    def run(script):
        out = io.StringIO()
        with contextlib.redirect_stdout(out), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            exec(compile(script, "script", "exec"), {})  # noqa: S102 (our own script)
        found = {}
        for line in out.getvalue().splitlines():
            if match := re.fullmatch(r"(\d+) mistakes in (\d+) visits", line):
                found["mistakes"], found["visits"] = int(match[1]), int(match[2])
            elif match := re.fullmatch(r"(.*?)\s+([0-9.e+-]+)(%?)", line):
                found[match[1]] = float(match[2]) / (100 if match[3] else 1)
        return found

    return run


@pytest.fixture(scope="module")
def address():
    """A server of its own."""
    command = [sys.executable, "-m", "mercer", "lab", "--no-browser"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        yield server.stdout.readline().strip()
        server.terminate()
        server.wait(30)


@pytest.fixture(scope="module")
def browser():
    sync = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    if CHROMIUM is None:
        pytest.skip("there is no chromium on this machine")
    with sync.sync_playwright() as playwright:
        try:
            found = playwright.chromium.launch(
                executable_path=CHROMIUM,
                args=["--no-sandbox", "--disable-background-networking", "--disable-gpu"],
            )
        except sync.Error as error:
            pytest.skip(f"chromium does not start here: {str(error)[:100]}")
        yield found
        found.close()


@pytest.fixture
def open_page(browser, address):
    """Opens the page; at the end there must have been no error in its console."""
    pages, errors = [], []

    def opened(state="", width=1440, height=900, theme="light", **more):
        page = browser.new_page(
            viewport={"width": width, "height": height}, color_scheme=theme,
            reduced_motion="reduce", **more,
        )  # fmt: skip
        page.set_default_timeout(PATIENCE)
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on("console", lambda m: m.type == "error" and errors.append(m.text))
        page.goto(f"{address}{state}")
        pages.append(page)
        return page

    yield opened
    for page in pages:
        page.close()
    assert errors == []
