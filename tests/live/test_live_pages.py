"""Figures in a page of their own: opened from a file, without a network, moved and measured."""

import json
import re
import shutil
import subprocess
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from mercer.lab.compute.live import figure, from_address, title
from mercer.lab.compute.models import fitted
from mercer.live import embedded, page, script

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
DOCS = Path(__file__).parent.parent.parent / "docs"
#: What the boxes "Move it" of the chapters show.
BOXES = sorted(
    {
        found
        for path in sorted(DOCS.rglob("*.md"))
        for found in re.findall(
            r"^```\{lab\} (.*)$", path.read_text(encoding="utf-8"), re.MULTILINE
        )
    }
)
MOST_BYTES = 300_000
FRAME = 16.0  # ms


def written(query, folder):
    panel, state = from_address(query)
    path = folder / "page.html"
    path.write_text(page(figure(panel, state), title(panel, state)), encoding="utf-8")
    return state, path


def test_every_box_of_the_chapters_has_a_figure():
    assert len(BOXES) > 30
    for query in BOXES:
        panel, state = from_address(query)
        spec = figure(panel, state)
        assert json.loads(json.dumps(spec, allow_nan=False)) == spec, query
        assert len(page(spec, "x")) < MOST_BYTES, query


@pytest.mark.skipif(shutil.which("node") is None, reason="Node is not installed")
@pytest.mark.parametrize("first", ["mercer", "learners", "figures"])
def test_the_script_is_javascript(first, tmp_path):
    (tmp_path / "script.js").write_text(script(first), encoding="utf-8")
    done = subprocess.run(
        ["node", "--check", tmp_path / "script.js"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


def test_a_page_holds_nothing_but_itself():
    panel, state = from_address("panel=playground&data=moons&kernel=gaussian(0.3)&learner=svm")
    text = page(figure(panel, state), "</title><script>alert(1)</script>")
    assert "<script>alert" not in text
    assert "token" not in text
    assert not re.search(r"""(src|href)=["'](?!data:)""", text)
    assert "import " not in script()
    assert "</script>" not in embedded({"title": "</script>"}).removesuffix("</script></div>")


def test_a_state_of_the_laboratory_is_shared_as_a_page(ask_share):
    reply = ask_share("panel=playground&data=circles&kernel=gaussian(0.4)&learner=perceptron")
    assert reply.facts["page"].startswith("<!doctype html>")
    assert len(reply.facts["page"]) < MOST_BYTES


@pytest.fixture
def ask_share():
    from mercer.lab.compute.requests import answer
    from mercer.lab.compute.wire import unpacked

    def ask(query):
        panel, state = from_address(query)
        return unpacked(
            answer({"id": 1, "ask": "share", "panel": panel, "state": json.loads(state.key)})
        )

    return ask


@pytest.fixture(scope="module")
def browser():
    if not (CHROMIUM and find_spec("playwright")):
        pytest.skip("Playwright or Chromium is not installed")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=CHROMIUM,
            args=["--no-sandbox", "--disable-gpu", "--disable-background-networking"],
        )
        yield browser
        browser.close()


@pytest.fixture
def opened(browser, tmp_path):
    """Opens a state's page from a file; a request or an error of a script fails the test."""
    wrong, pages = [], []

    def show(query, size=(1440, 900), **settings):
        state, path = written(query, tmp_path)
        page = browser.new_page(viewport={"width": size[0], "height": size[1]}, **settings)
        pages.append(page)
        page.set_default_timeout(120_000)
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("request", lambda one: one.url.startswith("file:") or wrong.append(one.url))
        page.goto(path.as_uri())
        settle(page)
        return state, page

    yield show
    for one in pages:
        one.close()
    assert not wrong


def settle(page):
    page.wait_for_function("() => document.querySelector('.mercer-live').figure?.settled")


SLIDE = """async () => {
  const input = document.querySelector(".side input[type=range]"), times = [];
  for (let r = 0; input && r < 9; r++) {
    await new Promise(requestAnimationFrame);
    const began = performance.now();
    input.value = Number(input.min) + (r * 7 % 10) / 10 * (Number(input.max) - Number(input.min));
    input.dispatchEvent(new Event("input", {bubbles: true}));
    times.push(performance.now() - began);
  }
  return times.sort((a, b) => a - b)[4] ?? 0;
}"""


@pytest.mark.slow
@pytest.mark.parametrize("query", BOXES)
def test_every_figure_moves(opened, query):
    _, page = opened(query)
    if "panel=digits" in query:
        said = page.inner_text(".answers")
        page.focus(".stage canvas")
        page.keyboard.press("5")
        settle(page)
        assert page.inner_text(".answers") != said
        return
    before = page.evaluate("document.querySelector('.main canvas').toDataURL()")
    text = page.inner_text(".k")
    page.evaluate(SLIDE)
    settle(page)
    if page.locator(".side input").count():
        assert page.evaluate("document.querySelector('.main canvas').toDataURL()") != before
        assert (
            page.inner_text(".k") != text or not figure(*from_address(query))["kernel"]["numbers"]
        )
    assert not page.evaluate("document.querySelector('.mercer-live').figure.failed")


def test_the_errors_shown_are_the_library_s(opened):
    state, page = opened(
        "panel=playground&data=moons&kernel=gaussian(0.3)&learner=perceptron&noise=0.2"
    )
    found = fitted(state)
    training = found.errors(state.X, state.y)
    assert f"training error {100 * training:.1f} %" in page.inner_text(".said")
    index = page.evaluate("[...document.querySelector('.mercer-live').figure.model.trace.index]")
    assert np.array_equal(index, found.trace.index)
    assert f"{found.model.n_mistakes_} mistake" in page.inner_text(".where")


@pytest.mark.parametrize("learner", ["perceptron", "averaged", "voted"])
@pytest.mark.parametrize("data", ["moons", "three"])
def test_the_errors_over_the_visits_are_the_library_s(opened, learner, data):
    from mercer.lab.compute.playground import errors

    query = f"panel=playground&data={data}&kernel=gaussian(0.3)&learner={learner}&noise=0.2&n=60"
    state, page = opened(query)
    arrays = errors({"state": json.loads(state.key)}).arrays
    found = page.evaluate("""() => Object.fromEntries(Object.entries(
      document.querySelector(".mercer-live").figure.courses).map(([name, v]) => [name, [...v]]))""")
    for mine, theirs in (("training", "training"), ("left", "left"), ("fresh", "test")):
        np.testing.assert_allclose(found[mine], arrays[f"{theirs}_path"], atol=1e-12)
    assert "Error after visit" in page.inner_text(".course")
    page.focus(".time input")
    page.keyboard.press("Home")
    page.keyboard.press("ArrowRight")
    assert f"visit 1: training {100 * found['training'][0]:.1f} %" in page.inner_text(".course")


def test_a_drawn_digit_is_read_in_the_page(opened):
    _, page = opened("panel=digits&strokes=t6&as=drawn&shift=0.14")
    said = "[...document.querySelectorAll('.digit')].map((e) => e.textContent).join('')"
    assert page.evaluate(said) == "116"
    page.click("text=Clear")
    box = page.locator(".stage canvas").bounding_box()
    page.mouse.move(box["x"] + 0.5 * box["width"], box["y"] + 0.2 * box["height"])
    page.mouse.down()
    page.mouse.move(box["x"] + 0.5 * box["width"], box["y"] + 0.8 * box["height"], steps=12)
    page.mouse.up()
    settle(page)
    assert page.evaluate(said)[::2] == "11"  # to the support vectors a bare bar is a 9


def test_play_scrub_and_drag(opened):
    _, page = opened("panel=playground&data=xor&kernel=polynomial(2)&learner=perceptron")
    length = page.evaluate("document.querySelector('.mercer-live').figure.visits.length")
    page.focus(".time input")
    page.keyboard.press("Home")
    assert "visit 0 of" in page.inner_text(".where")
    page.click("[aria-label='One visit further']")
    assert "visit 1 of" in page.inner_text(".where")
    page.click("[aria-label=Play]")
    page.wait_for_function(
        f"() => document.querySelector('.where').textContent.includes('visit {length} ')"
    )
    box = page.locator(".stage canvas").bounding_box()

    def at(x, y):
        return (
            box["x"] + (x / 1.5 + 1) / 2 * box["width"],
            box["y"] + (1 - y / 1.5) / 2 * box["height"],
        )

    page.mouse.move(*at(1.0, 1.0))
    page.mouse.down()
    page.mouse.move(*at(0.5, 0.7), steps=4)
    page.mouse.up()
    X = page.evaluate("document.querySelector('.mercer-live').figure.plane.points.X")
    assert any(
        abs(a - 0.5) < 0.02 and abs(b - 0.7) < 0.02 for a, b in zip(X[::2], X[1::2], strict=True)
    )
    settle(page)
    assert "new points" not in page.inner_text(".said")  # they are no longer drawn like these


def test_the_page_of_a_film_makes_the_film_s_visits(browser, tmp_path):
    from mercer import KernelPerceptron, data, plot

    X, y = data.moons(40)
    X = 30.0 * X + 100.0  # anywhere, of any size
    model = KernelPerceptron("gaussian(12)", averaging="average", tie="first", random_state=7)
    path = plot.film(model, X, y, frames=3).save(tmp_path / "film.html")
    page, wrong = browser.new_page(), []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("request", lambda one: one.url.startswith("file:") or wrong.append(one.url))
    page.goto(path.as_uri())
    settle(page)
    trace = model.trace(X, y)
    found = page.evaluate("""() => {
      const {model, plane} = document.querySelector(".mercer-live").figure, [u, v] = plane.points.X;
      return {index: [...model.trace.index], mistakes: [...model.trace.mistakes],
              at: plane.toScreen(u, v, 100),
              scores: [...model.scores(Float64Array.from(plane.points.X), model.n)[0]]};
    }""")  # fmt: skip
    assert np.array_equal(trace.index, found["index"])
    assert np.array_equal(trace.mistakes, found["mistakes"])
    assert np.allclose(trace.model.decision_function(X), found["scores"], rtol=1e-9)
    assert all(0 < place < 100 for place in found["at"])
    before = page.evaluate("document.querySelector('.main canvas').toDataURL()")
    page.evaluate(SLIDE)
    assert page.evaluate("document.querySelector('.main canvas').toDataURL()") != before
    page.close()
    assert not wrong


FITS = [
    ("KernelRidgeClassifier", {"alpha": 0.2}, "gaussian(0.4)"),
    ("KernelSVC", {"C": 3.0, "tol": 1e-3}, "gaussian(0.4)"),
    ("KernelNeighborsClassifier", {"n_neighbors": 3}, "laplacian(2)"),
    ("KernelRidge", {"alpha": 0.3}, "gaussian(1)"),
    ("KernelRidge", {"alpha": 0.3, "fit_intercept": False}, "gaussian(1)"),
    ("NadarayaWatsonRegressor", {"bandwidth": 0.6}, "gaussian()"),
    ("LocalLinearRegressor", {"bandwidth": 0.6}, "gaussian()"),
]


@pytest.mark.parametrize(("name", "options", "kernel"), FITS)
def test_the_page_of_a_film_has_the_fit_s_numbers(browser, tmp_path, name, options, kernel):
    """Anywhere, of any size; and it moves with its slider."""
    import mercer
    from mercer import data, plot

    line = "Regressor" in name or name == "KernelRidge"
    X, y = data.sine_linear_noise(40) if line else data.blobs(40, classes=3)
    model = getattr(mercer, name)(kernel, **options)
    path = plot.film(model, X, y, frames=2).save(tmp_path / "film.html")
    model.fit(X, y)
    page, wrong = browser.new_page(), []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.goto(path.as_uri())
    settle(page)
    if line:
        grid, found = page.evaluate("""() => { const {grid, curve} = document.querySelector(
            ".mercer-live").figure; return [[...grid], [...curve.mean]]; }""")
        assert (grid[0], grid[-1]) == (X.min(), pytest.approx(X.max()))
        np.testing.assert_allclose(found, model.predict(np.array(grid)[:, None]), atol=1e-8)
    else:
        error = np.mean(model.predict(X) != y)
        assert f"error {100 * error:.1f} %" in page.inner_text(".said")
    before = page.evaluate("document.querySelector('.main canvas').toDataURL()")
    page.evaluate(SLIDE)
    assert page.evaluate("document.querySelector('.main canvas').toDataURL()") != before
    page.close()
    assert not wrong


#: One place of the slider after another, and the frame in which the picture is on the screen.
STEP = """async (step) => {
  const input = document.querySelector(".side input[type=range]");
  const part = step * 7 % 10 / 10;
  input.value = Number(input.min) + part * (Number(input.max) - Number(input.min));
  input.dispatchEvent(new Event("input", {bubbles: true}));
  await new Promise(requestAnimationFrame);
}"""


def frame_times(page, steps=30):
    """What each step of a slider takes of the page's thread, in ms of that thread's own clock.

    Not of the wall's: other programs do not count.
    """
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable", {"timeDomain": "threadTicks"})

    def clock():
        found = session.send("Performance.getMetrics")["metrics"]
        return 1e3 * next(one["value"] for one in found if one["name"] == "ThreadTime")

    times = []
    for step in range(steps):
        began = clock()
        page.evaluate(STEP, step)
        times.append(clock() - began)
    return times


@pytest.mark.parametrize("learner", ["perceptron", "svm", "ridge"])
def test_a_slider_draws_two_hundred_points_within_a_frame(opened, learner):
    _, page = opened(f"panel=playground&data=spirals&kernel=gaussian(0.3)&learner={learner}&n=200")
    frame_times(page)  # until the browser has compiled the loops
    medians = [float(np.median(frame_times(page))) for _ in range(3)]
    assert min(medians) <= FRAME, medians


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("size", [(1440, 900), (1024, 768), (390, 844)])
def test_pages_fit_and_can_be_read_by_all(opened, size, theme):
    pytest.importorskip("axe_playwright_python")
    from importlib import resources

    axe = resources.files("axe_playwright_python").joinpath("axe.min.js").read_text()
    queries = ["panel=gram&data=moons&kernel=uniform(0.6)"] if size[0] == 1024 else []
    for query in ["panel=playground&data=three&kernel=gaussian(0.4)&learner=perceptron", *queries]:
        _, page = opened(query, size, color_scheme=theme, reduced_motion="reduce", bypass_csp=True)
        assert page.evaluate("document.documentElement.scrollWidth") <= size[0]
        page.evaluate(f"{axe};0")
        found = page.evaluate("axe.run()")["violations"]
        assert not [one["id"] for one in found if one["impact"] in ("serious", "critical")], found


def test_a_figure_is_drawn_in_by_touch_and_by_keys(opened):
    _, page = opened(
        "panel=playground&data=moons&kernel=gaussian(0.3)&learner=svm&n=20",
        (390, 844),
        has_touch=True,
        reduced_motion="reduce",
    )
    count = "document.querySelector('.mercer-live').figure.plane.points.y.length"
    box = page.locator(".stage canvas").bounding_box()
    page.touchscreen.tap(box["x"] + 0.06 * box["width"], box["y"] + 0.94 * box["height"])
    page.wait_for_function(f"() => {count} === 21")
    page.focus(".stage canvas")
    page.keyboard.press("2")  # the other class
    for _ in range(3):
        page.keyboard.press("ArrowLeft")
    page.keyboard.press("Enter")
    page.wait_for_function(f"() => {count} === 22")
    settle(page)
    assert not page.evaluate("document.querySelector('.mercer-live').figure.failed")
