"""The page in a browser, used as a person would. Skipped where there is no Chromium.

`make test` runs the short story; `make test-lab` runs all and keeps pictures under build/lab.
Every wait is for a condition, and none is a race.
"""

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from mercer.lab.compute.learners import LEARNERS

BUILD = Path("build/lab")


def settled(page):
    """Waits until the picture is that of the present state."""
    page.wait_for_function("() => window.lab.panel && window.lab.panel.settled")


def test_a_visit(open_page):
    """The default, a kernel typed, a point drawn and undone, a slider, and the script."""
    page = open_page()
    settled(page)
    assert "two spirals" in page.inner_text("h1")
    assert page.evaluate("lab.panel.state.y.length") == 120

    box = page.get_by_label("Kernel expression")
    box.fill("gausian(0.3)")
    page.wait_for_selector(".problem:not([hidden])")
    page.get_by_text("Write gaussian").click()
    page.wait_for_selector(".problem", state="hidden")
    assert box.input_value() == "gaussian(0.3)"
    settled(page)

    page.locator(".stage canvas").first.click(position={"x": 20, "y": 20})
    page.wait_for_function("() => lab.panel.state.y.length === 121")
    page.get_by_role("button", name="Undo").click()
    page.wait_for_function("() => lab.panel.state.y.length === 120")

    page.get_by_label("sigma").press("ArrowRight")
    page.wait_for_function("() => !lab.panel.state.kernel.includes('(0.3)')")
    settled(page)
    script = page.evaluate("lab.panel.script()")
    assert box.input_value() in script
    assert "kernel=" in page.url


@pytest.mark.slow
def test_a_slider_that_moves_while_its_text_is_read_keeps_its_place(open_page):
    page = open_page("#panel=playground&data=xor&kernel=gaussian(0.2)")
    settled(page)
    moved = page.evaluate("""async () => {
        const box = lab.panel.box, reading = box.read();
        box.slide(0, 0.25123);
        await reading;
        box.slide(0, 0.3);
        return box.text;
    }""")
    assert moved == "gaussian(0.3)"


@pytest.mark.slow
def test_a_perceptron_is_played_stepped_and_scrubbed(open_page):
    page = open_page("#panel=playground&data=moons&kernel=gaussian(0.3)")
    settled(page)
    page.get_by_role("slider", name="Visit").fill("0")
    page.wait_for_function("() => lab.panel.playbar.at === 0")
    page.get_by_role("button", name="One visit further").click()
    page.wait_for_function("() => lab.panel.playbar.at === 1")
    page.locator(".stage canvas").first.hover(position={"x": 300, "y": 250})
    page.wait_for_function("() => lab.panel.plane.pixel && lab.panel.plane.pixel.lines.length < 2")
    page.evaluate("lab.panel.box.slide(0, 0.31)")  # another kernel, at the same visit
    page.wait_for_function(
        "() => location.hash.includes('0.31') && location.hash.includes('visit=1')"
    )
    again = open_page("#" + page.url.partition("#")[2])
    for one in (page, again):
        settled(one)
        assert one.evaluate("[lab.panel.plane.visited >= 0, lab.panel.plane.field.size]") == [
            True,
            64,
        ]
    page.get_by_role("button", name="Play").click()
    page.wait_for_function("() => lab.panel.playbar.at === lab.panel.playbar.length")
    moving = page.evaluate("Array.from(lab.panel.visits.field(lab.panel.visits.length))")
    server = page.evaluate("Array.from(lab.panel.final.data)")
    assert max(map(abs, moving)) == pytest.approx(max(map(abs, server)), rel=0.05)


@pytest.mark.slow
@pytest.mark.parametrize("learner", [name for name in LEARNERS if name != "perceptron"])
@pytest.mark.parametrize("data", ["moons", "three"])
def test_every_learner_draws(open_page, learner, data):
    page = open_page(f"#panel=playground&learner={learner}&data={data}&kernel=gaussian(0.3)")
    settled(page)
    assert page.evaluate("lab.panel.plane.field !== null")
    page.locator(".stage canvas").first.hover(position={"x": 300, "y": 250})
    page.wait_for_function("() => lab.panel.plane.pixel !== null")
    assert "This pixel: f(x)" in page.inner_text("main aside")
    assert re.search("Pushed by x₁ [−+0-9.e]+, by x₂ [−+0-9.e]+", page.inner_text(".pushes"))
    assert "null" not in page.inner_text("main")


@pytest.mark.slow
def test_two_learners_side_by_side(open_page):
    page = open_page("#panel=playground&data=moons&kernel=gaussian(0.3)")
    settled(page)
    page.get_by_label("Compare with").select_option("svm")
    page.wait_for_function("() => lab.panel.besidePlane.field !== null")
    assert page.locator(".stages.pair").count() == 1
    page.wait_for_function("() => lab.panel.besideErrors.textContent.includes('folds')")
    assert "beside=svm" in page.url


#: w and b of the perceptron with the kernel x·z + 1, after the visit that is shown.
WEIGHTS = """() => {
  const {X} = lab.panel.state, {index, update} = lab.panel.visits, w = [0, 0, 0];
  for (let t = 0; t < lab.panel.playbar.at; t++)
    [X[2 * index[t]], X[2 * index[t] + 1], 1].forEach((v, k) => { w[k] += update[t] * v; });
  return w;
}"""


def test_a_guess_of_the_line_is_measured(open_page):
    """The panel goes to the next mistake, and says how far the line then is from the click."""
    page = open_page(
        "#panel=playground&data=blobs&kernel=linear()%2B1&learner=perceptron&tour=000&step=0"
    )
    settled(page)
    said = page.locator(".guess [role=status]")
    stage = page.locator(".stage canvas").first
    size = stage.bounding_box()["width"]

    def guessed(x, y):
        page.get_by_role("button", name="Guess by a click").click()
        page.wait_for_function("() => lab.panel.drawing.once")
        at = page.evaluate("lab.panel.playbar.at")
        assert page.evaluate(f"lab.panel.visits.update[{at}]") != 0
        stage.click(position={"x": (x / 1.5 + 1) / 2 * size, "y": (1 - y / 1.5) / 2 * size})
        assert page.evaluate("lab.panel.playbar.at") == at + 1
        return re.fullmatch(r"(.*): the line passes at a distance of (.*)\.", said.inner_text())

    verdict, far = guessed(-1.3, -1.3).groups()
    a, b, c = page.evaluate(WEIGHTS)
    assert verdict == "Not quite"
    assert float(far) == pytest.approx(
        abs(-1.3 * a - 1.3 * b + c) / (a * a + b * b) ** 0.5, abs=0.06
    )
    page.evaluate("lab.panel.playbar.go(0)")
    foot = -c / (a * a + b * b)
    assert guessed(foot * a, foot * b)[1] == "Right"
    assert page.evaluate("lab.panel.state.y.length") == 60  # no click became a point


def test_a_metric_is_learned_in_the_page(open_page):
    """The ellipse, its errors round by round; no kernel is shown that is not used."""
    page = open_page("#panel=playground&data=band&learner=learned&kernel=gaussian(0.4)&rounds=2")
    settled(page)
    assert not page.locator("section[aria-label=Kernel]").is_visible()
    assert "k =" not in page.evaluate("lab.panel.caption")
    assert "Error after round 2: training" in page.inner_text(".course")
    shown = page.evaluate("""async () => {
        const shown = [];
        const watch = new MutationObserver(() => shown.push(lab.panel.state.options.rounds));
        watch.observe(document.querySelector("section[aria-label=Learner]"), {childList: true});
        await lab.panel.learnMetric();
        return [shown, lab.panel.plane.metrics.length];
    }""")
    assert shown == [[0, 1, 2], 3]


def test_a_long_formula_takes_several_lines(open_page):
    page = open_page(
        "#panel=playground&data=xor&kernel=gaussian(0.3)%2Bgaussian(1)*polynomial(3,1)%2Blaplacian(2)-2"
    )
    settled(page)
    wide, room = page.evaluate("""() => {
        const math = document.querySelector(".formula .math");
        return [math.scrollWidth, math.clientWidth];
    }""")
    assert wide <= room
    assert page.locator(".formula math").count() > 3


@pytest.mark.slow
def test_a_table_is_pasted(open_page):
    page = open_page("#panel=playground&data=xor")
    settled(page)
    quoted = '"right, far"'
    rows = [f"{i},{i * i % 7},{i % 5},{'left' if i % 2 else quoted}" for i in range(20)]
    page.evaluate(
        "(text) => { const data = new DataTransfer(); data.setData('text', text);"
        " document.querySelector('main').dispatchEvent(new ClipboardEvent('paste',"
        " {clipboardData: data, bubbles: true})); }",
        "\n".join(["a,b,c,kind", *rows]),
    )
    page.wait_for_function("() => lab.panel.state.y.length === 20")
    page.get_by_role("button", name="Done").click()
    settled(page)
    assert set(page.evaluate("lab.panel.state.y")) == {0, 1}


@pytest.mark.slow
def test_curves(open_page):
    page = open_page("#panel=curves&data=sine_linear_noise")
    settled(page)
    page.get_by_text("Use this value").click()
    settled(page)
    page.get_by_text("Add where it is least certain").click()
    page.wait_for_function("() => lab.panel.state.y.length === 61")
    page.locator("select[aria-label=Smoother]").select_option("local")
    settled(page)
    page.locator(".stage canvas").first.hover(position={"x": 300, "y": 300})
    page.wait_for_function("() => lab.panel.answer && lab.panel.answer.slope !== undefined")
    assert "np.mean" in page.evaluate("lab.panel.script()")


@pytest.mark.slow
def test_gram(open_page):
    page = open_page("#panel=gram&data=xor&kernel=polynomial(2)")
    settled(page)
    page.locator(".stage canvas").first.hover(position={"x": 300, "y": 100})
    page.wait_for_function("() => lab.panel.row !== null")
    assert "k(x, x) = 4" in page.inner_text("main aside")
    page.get_by_role("button", name="Distances").click()
    assert "KernelPCA" in page.evaluate("lab.panel.script()")
    page.get_by_role("button", name="Lift by x₁x₂").click()
    assert "A level plane separates the classes" in page.inner_text("main")
    page.get_by_label("lifted").press("ArrowLeft")
    page.wait_for_function("() => lab.panel.space.lift < 1")
    page.wait_for_function("() => location.hash.includes('show=product')")


@pytest.mark.slow
def test_my_own_points_go_from_panel_to_panel_and_into_the_address(open_page):
    page = open_page("#panel=playground&data=xor&kernel=polynomial(2)")
    settled(page)
    page.locator(".stage canvas").first.click(position={"x": 20, "y": 20})
    page.wait_for_function("() => lab.panel.state.y.length === 5")
    settled(page)
    points = page.evaluate("lab.panel.state.X")
    page.get_by_role("link", name="Gram").click()
    page.wait_for_function("() => lab.name === 'gram'")
    settled(page)
    assert page.evaluate("lab.panel.state.X") == points
    assert page.evaluate("lab.panel.state.kernel") == "polynomial(2)"
    page.wait_for_function("() => location.hash.includes('points=')")
    again = open_page(page.url.partition("#")[1] + page.url.partition("#")[2])
    settled(again)
    assert again.evaluate("lab.panel.state.X") == points


@pytest.mark.slow
def test_curves_that_were_drawn_are_in_the_address(open_page):
    page = open_page("#panel=curves")
    settled(page)
    page.get_by_role("button", name="Erase").click()
    x, y = page.evaluate("lab.panel.toScreen(lab.panel.state.x[5], lab.panel.state.y[5])")
    page.locator(".stage canvas").first.click(position={"x": x, "y": y})
    page.wait_for_function("() => lab.panel.state.y.length === 59")
    settled(page)
    page.wait_for_function("() => location.hash.includes('points=')")
    again = open_page(page.url.partition("#")[1] + page.url.partition("#")[2])
    settled(again)
    assert again.evaluate("lab.panel.state") == page.evaluate("lab.panel.state")


@pytest.mark.slow
def test_digits(open_page):
    page = open_page("#panel=digits")
    settled(page)
    assert page.evaluate("lab.panel.reply.answers.map((a) => a.said[0])") == [3, 3, 3]
    page.get_by_role("button", name="Clear").click()
    stage = page.locator(".stage canvas").first.bounding_box()
    page.mouse.move(stage["x"] + 300, stage["y"] + 100)
    page.mouse.down()
    page.mouse.move(stage["x"] + 300, stage["y"] + 500, steps=8)
    page.mouse.up()
    settled(page)
    assert 1 in page.evaluate("lab.panel.reply.answers.map((a) => a.said[0])")


@pytest.mark.slow
def test_a_tour_is_followed(open_page):
    page = open_page("#panel=tours")
    page.get_by_text("Sometimes no line will do").click()
    settled(page)
    assert page.evaluate("lab.panel.state.kernel") == "linear()+1"
    page.get_by_text("Next ›").click()
    page.wait_for_function("() => lab.name === 'gram'")
    page.locator("#tour").get_by_text("come apart").click()
    settled(page)
    assert "tour=000" in page.url


@pytest.mark.slow
@pytest.mark.parametrize("state", ["playground&data=xor", "curves", "gram", "gram&show=product",
                                   "digits"])  # fmt: skip
def test_exports(open_page, state):
    page = open_page(f"#panel={state}")
    settled(page)
    begin = {"Picture as PNG": b"\x89PNG", "Picture as SVG": b"<svg", "Points as CSV": b""}
    for name, start in begin.items():
        page.get_by_role("button", name="Share").click()
        with page.expect_download() as found:
            page.get_by_role("button", name=name).click()
        content = Path(found.value.path()).read_bytes()
        assert content.startswith(start)
        assert len(content) > 30
        if name.endswith("SVG"):
            ElementTree.fromstring(content)


@pytest.mark.slow
@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize(("width", "height"), [(1440, 900), (1024, 768), (390, 844)])
@pytest.mark.parametrize("panel", ["playground", "curves", "gram", "digits", "tours"])
def test_pictures_are_kept(open_page, panel, theme, width, height):
    page = open_page(f"#panel={panel}", width, height, theme)
    settled(page)
    BUILD.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=BUILD / f"{panel}_{width}_{theme}.png", full_page=True)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


@pytest.mark.parametrize(
    "state", ["#panel=constructor", "#panel=playground&learner=constructor&data=toString"]
)
def test_words_that_name_nothing_are_passed_over(open_page, state):
    page = open_page(state)
    settled(page)
    assert "two spirals" in page.inner_text("h1")
