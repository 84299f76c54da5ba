"""Copy as Python: the script prints the numbers of the page, on every panel."""

import random
import re

import numpy as np
import pytest

from mercer.lab.compute.curves import SMOOTHERS, TRUTHS, Series
from mercer.lab.compute.learners import LEARNERS
from mercer.lab.compute.presets import PRESETS

KERNELS = ["gaussian(0.2)", "gaussian", "polynomial(3, offset=1)", "0.5*gaussian(0.4) + linear()",
           "laplacian(2)", "gaussian(0.5).normalized() * polynomial(2, 1)"]  # fmt: skip


def same(found, shown, script):
    """Every number that the page shows is printed, to 1e-6."""
    for name, value in shown.items():
        if value is not None:
            assert found[name] == pytest.approx(value, abs=1e-6, rel=1e-6), (name, script)


def options(rng, learner):
    """Options that a person could have come to."""
    return {
        o.name: round(rng.uniform(o.low, min(o.high, 20)))
        if o.whole
        else o.default * rng.uniform(0.5, 2)
        for o in learner.options
    }


def points(rng, state):
    """A preset in the plane, a point of it moved and one more drawn perhaps."""
    learner = rng.choice(list(LEARNERS))
    given = state(
        learner, rng.choice(list(PRESETS)), rng.choice(KERNELS), rng.randint(25, 60),
        **options(rng, LEARNERS[learner]),
    )  # fmt: skip
    if rng.random() < 0.4:
        given["X"][0] = round(rng.uniform(-1.5, 1.5), 4)
        given["X"] += [round(rng.uniform(-1.5, 1.5), 4), 0.25]
        given["y"] += [rng.choice(given["y"])]
    return given


def playground(rng, ask, printed, state):
    given = points(rng, state)
    script, errors = ask("script", state=given).facts["script"], ask("errors", state=given).facts
    if "error" in errors:  # the page says why there are no numbers, and so does the script
        with pytest.raises(ValueError, match=re.escape(errors["error"][:40])):
            printed(script)
        return
    shown = {"training error": errors["training"], "left out": errors["left_out"],
             "new points": errors["test"]}  # fmt: skip
    if LEARNERS[given["learner"]].averaging:
        made = ask("field", state=given, size=8, visits=True).arrays["mistakes"]
        shown |= {"mistakes": made[-1], "visits": len(made)}
    same(printed(script), shown, script)


def curves(rng, ask, printed, state):
    source = {"preset": rng.choice(list(TRUTHS)), "n": rng.randint(20, 60),
              "noise": round(rng.uniform(0, 1), 2), "seed": rng.randint(0, 9)}  # fmt: skip
    x, y = (part.tolist() for part in Series.read(source).points())
    if rng.random() < 0.4:
        x, y = [*x, 3.25], [*y, 1.5]
    learner = rng.choice(list(SMOOTHERS))
    kernel = rng.choice(["gaussian(1)", "laplacian(1)"] if learner == "ridge" else ["gaussian()"])
    given = {"kernel": kernel, "learner": learner, "x": x, "y": y, "source": source,
             "options": options(rng, SMOOTHERS[learner])}  # fmt: skip
    script = ask("curve_script", state=given).facts["script"]
    curve, errors = ask("curve", state=given).facts, ask("curve_errors", state=given).facts
    shown = {"training error": curve["training"], "left out": errors["left_out"],
             "new points": errors["test"]}  # fmt: skip
    same(printed(script), shown, script)


def gram(rng, ask, printed, state):
    given = points(rng, state)
    script, reply = ask("gram_script", state=given).facts["script"], ask("gram", state=given)
    shown = {
        "largest eigenvalue": reply.arrays["values"][0],
        "least eigenvalue": reply.facts["least"],
        "in the first three": reply.facts["explained"],
    }
    spreads = reply.arrays["places"].std(axis=0, dtype=np.float64)
    shown |= {f"spread of coordinate {i + 1}": v for i, v in enumerate(spreads) if v > 1e-6}
    same(printed(script), shown, script)


PANELS = (playground, playground, curves, gram)


@pytest.mark.parametrize("seed", range(8))
def test_a_script_prints_the_numbers_of_the_page(ask, printed, state, seed):
    PANELS[seed % 4](random.Random(seed), ask, printed, state)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(8, 62))
def test_many_scripts_print_the_numbers_of_the_page(ask, printed, state, seed):
    PANELS[seed % 4](random.Random(seed), ask, printed, state)
