"""What is seen beside the picture: arrows, samples that move, errors over σ, a nearer view."""

import math

import numpy as np
from tests.lab.test_page import settled


def test_the_arrows_close_their_angle_and_the_curves_meet_at_the_bound(open_page):
    page = open_page(
        "#panel=playground&data=circles&kernel=gaussian(0.4)&learner=perceptron&noise=0.05"
    )
    settled(page)
    angles = []
    for t in (3, 40, page.evaluate("lab.panel.visits.length")):
        page.evaluate("(t) => lab.panel.playbar.go(t)", t)
        norm, aligned = page.evaluate(
            "(t) => [lab.panel.visits.norm[t - 1], lab.panel.bounds.alignment[t - 1]]", t
        )
        degrees = round(math.degrees(math.acos(min(1.0, aligned / math.sqrt(norm)))))
        page.get_by_label(f"The angle between w and w* is {degrees} degrees").wait_for()
        angles.append(degrees)
    assert angles == sorted(angles, reverse=True)
    bound, margin, radius = page.evaluate(
        "[lab.panel.bounds.bound, lab.panel.bounds.margin, lab.panel.visits.radius]"
    )
    assert margin * bound == np.float64(math.sqrt(radius * bound)).round(9) or math.isclose(
        margin * bound, math.sqrt(radius * bound), rel_tol=1e-4
    )
    meeting = page.locator("figure", has_text="meet at").locator("svg")
    assert f"meet at {bound:.3g} mistakes" in meeting.get_attribute("aria-label")


def test_samples_of_a_process_move_and_a_click_holds_them(open_page):
    page = open_page("#panel=curves&data=sine_linear_noise&learner=ridge&kernel=gaussian(1)&n=5")
    settled(page)
    page.get_by_role("button", name="Samples").click()

    def samples(time):
        return np.array(
            page.evaluate(
                "(time) => { lab.panel.time = time; return lab.panel.samples.map((s) => [...s]); }",
                time,
            )
        )

    first, second = samples(0.0), samples(1.0)
    assert first.shape == (5, 81)
    assert np.abs(first - second).max() > 0.05
    few = np.array(page.evaluate("[...lab.panel.curve.few.data]"))
    widest = int(first.std(axis=0).argmax())
    x, y = page.evaluate("(x) => lab.panel.toScreen(x, 1)", float(few[widest]))
    page.locator(".stage canvas").first.click(position={"x": x, "y": y})
    page.wait_for_function("() => lab.panel.state.y.length === 6 && lab.panel.settled")
    assert samples(0.0).std(axis=0)[widest] < 0.5 * first.std(axis=0)[widest]


def test_the_least_error_over_sigma_is_marked_and_used(open_page):
    page = open_page(
        "#panel=playground&data=noisy_xor&kernel=gaussian(5)&learner=svm&noise=0.45&n=60"
    )
    settled(page)
    page.wait_for_selector(".over figure")
    assert "Errors over σ: left out least at" in page.inner_text(".over")
    assert page.locator(".over svg line.chart-bound").count() == 1
    page.get_by_role("button", name="Use it").click()
    settled(page)
    said = page.inner_text(".over figcaption")
    assert page.evaluate("lab.panel.box.numbers[0].value") < 5
    assert f"least at {page.evaluate('lab.panel.box.numbers[0].value'):g}" in said


def test_a_nearer_view_is_computed_anew(open_page):
    page = open_page("#panel=playground&data=moons&kernel=gaussian(0.3)&learner=svm")
    settled(page)
    stage = page.locator(".stage canvas").first.bounding_box()
    page.mouse.move(stage["x"] + 0.75 * stage["width"], stage["y"] + 0.25 * stage["width"])
    page.mouse.wheel(0, -600)
    page.wait_for_function("() => lab.panel.plane.window !== null")
    settled(page)
    x, y, half = page.evaluate("lab.panel.plane.window")
    assert half < 1.5
    assert x > 0 < y
    corner = page.evaluate("lab.panel.final.data[0]")
    (score,) = page.evaluate(
        "async ([x, y]) => (await lab.talk.ask('pixel', {state: lab.panel.snapshot(), x: [x, y],"
        " visit: null})).score",
        [round(x - half, 4), round(y + half, 4)],
    )
    assert math.isclose(corner, score, abs_tol=1e-3)
    page.keyboard.down("Shift")
    page.mouse.down()
    page.mouse.move(stage["x"] + 0.5 * stage["width"], stage["y"] + 0.5 * stage["width"], steps=3)
    page.mouse.up()
    page.keyboard.up("Shift")
    moved = page.evaluate("lab.panel.plane.window")
    assert moved[0] > x
    assert moved[1] > y
    page.get_by_role("button", name="The whole plane").click()
    assert page.evaluate("lab.panel.plane.window") is None
    assert page.evaluate("lab.panel.state.y.length") == 120


def test_two_learners_are_compared_at_full_size(open_page):
    """Beside one another where there is room for 360 pixels each, else one below the other."""
    widths = "[...document.querySelectorAll('.stage canvas')].map((e) => e.clientWidth)"
    page = open_page("#panel=playground&data=moons&kernel=gaussian(0.3)&learner=svm&beside=ridge")
    settled(page)
    for size, least in (((1440, 900), 590), ((1024, 768), 450), ((390, 844), 390)):
        page.set_viewport_size({"width": size[0], "height": size[1]})
        assert min(page.evaluate(widths)) >= least
        assert page.evaluate("document.documentElement.scrollWidth") <= size[0]
