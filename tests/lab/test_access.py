"""The page for everyone: by keyboard, by touch, read aloud, and without motion."""

from importlib import resources

import pytest
from tests.lab.test_page import settled

pytestmark = pytest.mark.slow
PANELS = ["playground&data=moons", "playground&data=three&learner=process&beside=svm", "curves",
          "gram&show=product", "digits", "tours", "playground&tour=000&step=1"]  # fmt: skip
#: What a person can act on, as far as it is shown.
NUMBERED = """() => [...document.querySelectorAll(
    "a[href], button, input, select, textarea, summary, [tabindex]")].filter((one) =>
    !one.disabled && one.checkVisibility({visibilityProperty: true}) && one.tabIndex >= 0)
    .map((one, i) => { one.dataset.number = i; return one.outerHTML.slice(0, 120); })"""


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("panel", PANELS)
def test_axe_finds_no_serious_violation(open_page, panel, theme):
    pytest.importorskip("axe_playwright_python", reason="axe-core is not installed")
    page = open_page(f"#panel={panel}", theme=theme)
    settled(page)
    # The policy of the page forbids foreign scripts, but not the browser's own tools.
    page.evaluate(
        f"{resources.files('axe_playwright_python').joinpath('axe.min.js').read_text()};0"
    )
    found = page.evaluate("axe.run()")["violations"]
    told = [(one["id"], one["impact"], [n["html"][:120] for n in one["nodes"]]) for one in found]
    assert not [one for one in told if one[1] in ("serious", "critical")]


@pytest.mark.parametrize("panel", PANELS)
def test_every_control_is_reached_with_the_tab_key(open_page, panel):
    page = open_page(f"#panel={panel}")
    settled(page)
    wanted = page.evaluate(NUMBERED)
    seen = set()
    for _ in range(len(wanted) + 5):
        page.keyboard.press("Tab")
        seen.add(page.evaluate("document.activeElement.dataset.number"))
    assert [words for i, words in enumerate(wanted) if str(i) not in seen] == []


def test_by_keyboard_alone(open_page):
    page = open_page("#panel=playground&data=none")
    page.wait_for_function("() => window.lab.panel && window.lab.panel.ready")
    page.locator(".stage canvas").first.focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    page.keyboard.press("2")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Enter")
    page.wait_for_function("() => lab.panel.state.y.join() === '0,1'")
    settled(page)
    page.keyboard.press("Control+z")
    page.wait_for_function("() => lab.panel.state.y.length === 1")


def test_a_kernel_a_learner_and_a_sample_by_keyboard(open_page):
    page = open_page("#panel=playground&data=moons&kernel=gaussian(0.3)")
    settled(page)
    page.get_by_label("Kernel expression").focus()
    page.keyboard.press("ControlOrMeta+a")
    page.keyboard.type("lapl")
    page.wait_for_selector(".suggestions:not([hidden])")
    page.keyboard.press("Enter")
    assert page.get_by_label("Kernel expression").input_value().startswith("laplacian(")
    page.keyboard.press("ControlOrMeta+a")
    page.keyboard.type("gaussian(0.3)")
    page.keyboard.press("Escape")
    page.wait_for_function("() => lab.panel.state.kernel === 'gaussian(0.3)'")
    page.locator("select[aria-label=Learner]").press("s")  # as in every list of choices
    page.wait_for_function("() => lab.panel.state.learner === 'svm'")
    page.get_by_role("button", name="120 points").press("Enter")
    page.get_by_role("button", name="Draw another sample").press("Enter")
    page.wait_for_function("() => lab.panel.state.source.seed === 1")
    page.keyboard.press("Escape")
    page.wait_for_function("() => !document.querySelector('#sampling').matches(':popover-open')")
    page.get_by_role("button", name="Share").press("Enter")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "A page that moves, as one file"


def test_rows_spaces_and_digits_by_keyboard(open_page):
    page = open_page("#panel=gram&data=xor&kernel=polynomial(2)")
    settled(page)
    page.get_by_label("The kernel matrix").press("ArrowDown")
    page.wait_for_function("() => lab.panel.row === 0")
    angle = page.evaluate("lab.panel.space.angle")
    page.get_by_label("The points in feature space").press("ArrowRight")
    assert page.evaluate("lab.panel.space.angle") > angle
    page.get_by_role("link", name="Digits").press("Enter")
    page.wait_for_function("() => lab.name === 'digits'")
    page.get_by_label("Draw a digit here").press("7")
    settled(page)
    assert 7 in page.evaluate("lab.panel.reply.answers.map((one) => one.said[0])")


def test_curves_by_keyboard(open_page):
    page = open_page("#panel=curves")
    settled(page)
    canvas = page.get_by_label("Points on a line")
    canvas.press("ArrowRight")
    page.wait_for_function("() => lab.panel.answer")
    canvas.press("Enter")
    page.wait_for_function("() => lab.panel.state.y.length === 61")
    canvas.press("Control+z")
    page.wait_for_function("() => lab.panel.state.y.length === 60")


def test_by_touch_on_a_phone(open_page):
    page = open_page("#panel=playground&data=xor&kernel=polynomial(2)", 390, 844,
                     has_touch=True, is_mobile=True)  # fmt: skip
    settled(page)
    canvas = page.locator(".stage canvas").first
    canvas.tap(position={"x": 195, "y": 195})
    page.wait_for_function("() => lab.panel.state.y.length === 5")
    settled(page)
    page.get_by_role("button", name="Look").tap()
    canvas.tap(position={"x": 60, "y": 60})
    page.wait_for_function("() => lab.panel.plane.pixel !== null")
    assert page.evaluate("lab.panel.state.y.length") == 5
    page.get_by_role("button", name="One visit further").tap()
    page.wait_for_function("() => lab.panel.playbar.at === 0")


def test_without_motion_the_lifting_is_a_picture(open_page):
    page = open_page("#panel=gram&data=xor&kernel=polynomial(2)")
    settled(page)
    angle = page.evaluate("lab.panel.space.angle")
    page.get_by_role("button", name="Lift by x₁x₂").click()
    assert page.evaluate("lab.panel.space.lift") == 1
    assert page.evaluate("lab.panel.space.angle") == angle
