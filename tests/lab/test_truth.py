"""What the page says beside a picture is true of that picture: each sentence that once was not."""

import json
from importlib import resources
from pathlib import Path
from xml.etree import ElementTree

import pytest
from tests.lab.test_page import settled

TOURS = json.loads((resources.files("mercer.lab") / "static" / "tours.json").read_text("utf-8"))
NUMBERS = "section[aria-label=Errors] strong"


def numbers(page):
    return [text.strip() for text in page.locator(NUMBERS).all_inner_texts()]


def test_before_the_first_visit_nothing_is_known(open_page):
    page = open_page("#panel=playground&data=spirals&kernel=gaussian(0.2)&learner=perceptron")
    settled(page)
    assert "–" not in numbers(page)
    page.get_by_role("slider", name="Visit").press("Home")
    assert numbers(page) == ["–", "–", "–"]  # in the same frame, before the charts
    page.wait_for_function("() => /^0 mis/.test(document.querySelector('.charts').innerText)")
    said = page.inner_text(".charts")
    assert "0 mistakes" in said
    assert "‖w‖² = 0" in said
    assert "0 points with α ≠ 0" in said
    page.get_by_label("Kernel expression").fill("gaussian(0.25)")  # still at the start
    page.wait_for_function("() => lab.panel.facts.kernel.includes('0.25')")
    settled(page)
    page.wait_for_timeout(100)  # charts follow at leisure
    assert page.evaluate("lab.panel.playbar.at") == 0
    assert numbers(page) == ["–", "–", "–"]


def test_a_kernel_that_is_none_greys_the_formula_before(open_page):
    page = open_page("#panel=playground&data=moons&kernel=gaussian(0.3)")
    settled(page)
    page.get_by_label("Kernel expression").fill("gausian(1)")
    page.wait_for_selector(".formula.stale")
    page.get_by_label("Kernel expression").fill("gaussian(1)")
    page.wait_for_selector(".formula:not(.stale)")


def test_nothing_is_left_of_a_curve_without_points(open_page):
    page = open_page("#panel=curves&data=sine_linear_noise")
    settled(page)
    assert "–" not in numbers(page)
    page.get_by_role("button", name="Clear").click()
    page.wait_for_function("() => lab.panel.curve === null")
    assert numbers(page) == ["–", "–", "–"]
    assert "Leaving one out: least" not in page.inner_text("main")


def test_my_own_points_have_no_new_ones_until_they_are_undone(open_page):
    page = open_page("#panel=playground&data=moons&kernel=gaussian(0.3)")
    settled(page)
    assert len(numbers(page)) == 3
    page.locator(".stage canvas").first.click(position={"x": 20, "y": 20})
    page.wait_for_function("() => lab.panel.state.y.length === 121")
    settled(page)
    assert "my own points" in page.inner_text("h1")
    assert len(numbers(page)) == 2
    page.get_by_role("button", name="Undo").click()
    settled(page)
    chosen = "document.querySelector('select[aria-label=Data]').selectedOptions[0].textContent"
    assert page.evaluate(chosen) == "two moons"
    assert len(numbers(page)) == 3


def test_a_picture_holds_both_learners_and_says_which(open_page):
    page = open_page("#panel=playground&data=moons&kernel=gaussian(0.3)&learner=svm&beside=ridge")
    settled(page)
    page.wait_for_function("() => lab.panel.besidePlane.field !== null")
    page.get_by_role("button", name="Share").click()
    with page.expect_download() as found:
        page.get_by_role("button", name="Picture as SVG").click()
    drawn = ElementTree.fromstring(Path(found.value.path()).read_text(encoding="utf-8"))
    words = [one.text for one in drawn.iter("{http://www.w3.org/2000/svg}text")]
    assert "support vector machine, k = gaussian(0.3)" in words
    assert "ridge classifier" in words
    assert len(list(drawn.iter("{http://www.w3.org/2000/svg}image"))) == 2


def test_nothing_that_is_shared_holds_the_token(open_page, address):
    page = open_page("#panel=playground&data=moons&kernel=gaussian(0.3)&learner=svm")
    settled(page)
    token = address.partition("token=")[2]
    assert len(token) > 8
    page.get_by_role("button", name="Share").click()
    with page.expect_download() as found:
        page.get_by_role("button", name="A page that moves").click()
    content = Path(found.value.path()).read_bytes()
    assert token.encode() not in content
    assert b"127.0.0.1" not in content
    assert len(content) < 300_000
    page.evaluate(
        "() => { navigator.clipboard.writeText = (text) => { window.copied = text; return 1; }; }"
    )
    page.get_by_role("button", name="Share").click()
    page.get_by_role("button", name="State for mercer lab").click()
    page.wait_for_function("() => window.copied")
    assert page.evaluate("window.copied").startswith('mercer lab --state "panel=playground')
    assert token not in page.evaluate("window.copied")


def test_labels_of_a_counterexample_are_apart_and_in_the_picture(open_page):
    page = open_page("#panel=playground&data=moons&kernel=uniform(0.6)&learner=centroid")
    settled(page)
    page.get_by_text("Show the counterexample").click()
    places = page.evaluate("""() => {
      const words = [], stand = new Proxy({}, {get: (_, name) => name === "fillText"
        ? (text, x, y) => words.push([text, x, y]) : () => ({}), set: () => true});
      lab.panel.plane.refutation(stand, 600);
      return words;
    }""")
    assert len(places) == 3
    for text, x, y in places:
        assert 0 < x < 600 - 8 * len(text)
        assert 8 < y < 598
    for i, (text, x, y) in enumerate(places):
        for _, u, v in places[i + 1 :]:
            assert abs(v - y) > 12 or u > x + 8 * len(text) or u < x


@pytest.mark.slow
def test_the_play_bar_and_the_pixel_are_in_sight_in_every_step(open_page):
    page = open_page("#panel=tours")
    settled(page)
    for tour in TOURS:
        for i, step in enumerate(tour["steps"]):
            if not step["state"].startswith("panel=playground"):
                continue
            page.evaluate(
                "(to) => { lab.panel.settled = false; location.hash = to; }",
                f"{step['state']}&tour={tour['id']}&step={i}",
            )
            page.wait_for_function("() => lab.panel.settled && lab.panel.plane?.field")
            page.locator(".stage canvas").first.hover(position={"x": 150, "y": 150})
            page.wait_for_function("() => document.querySelector('section.now')")
            for place in (".play:not([hidden])", "section.now h2"):
                boxes = [one.bounding_box() for one in page.locator(place).all()]
                assert all(box["y"] + box["height"] <= 900 for box in boxes), (step["title"], place)
            page.mouse.move(1, 1)


def test_the_points_that_count_are_bold_after_a_walk_by_hand(open_page):
    page = open_page("#panel=playground&data=xor&kernel=polynomial(2)&learner=walk")
    settled(page)
    assert page.evaluate("[...lab.panel.plane.alpha]") == [1, 0, 0, 0]
    assert "right, nothing changes" in page.inner_text("section[aria-label='By hand']")
