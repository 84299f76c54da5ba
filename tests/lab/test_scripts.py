"""Copy as Python: the script prints the numbers of the page."""

import random

import pytest

from mercer.lab.compute.learners import LEARNERS
from mercer.lab.compute.presets import PRESETS

KERNELS = ["gaussian(0.2)", "gaussian", "polynomial(3, offset=1)", "0.5*gaussian(0.4) + linear()",
           "laplacian(2)", "gaussian(0.5).normalized() * polynomial(2, 1)"]  # fmt: skip


def compared(ask, printed, given):
    script = ask("script", state=given).facts["script"]
    found, errors = printed(script), ask("errors", state=given).facts
    assert found["training error"] == pytest.approx(errors["training"], abs=1e-6), script
    if errors["left_out"] is not None:
        assert found["left out"] == pytest.approx(errors["left_out"], abs=1e-6), script
    if errors["test"] is not None:
        assert found["new points"] == pytest.approx(errors["test"], abs=1e-6), script
    if "mistakes" in found:
        arrays = ask("field", state=given, size=8, visits=True).arrays
        assert (found["mistakes"], found["visits"]) == (
            arrays["mistakes"][-1], len(arrays["mistakes"])
        )  # fmt: skip


def drawn(state, seed):
    """A state that a person could have come to."""
    rng = random.Random(seed)
    learner = rng.choice(list(LEARNERS))
    options = {
        o.name: round(rng.uniform(o.low, min(o.high, 20)))
        if o.whole
        else o.default * rng.uniform(0.5, 2)
        for o in LEARNERS[learner].options
    }
    given = state(
        learner, rng.choice(list(PRESETS)), rng.choice(KERNELS), rng.randint(25, 60), **options
    )
    if rng.random() < 0.4:  # a point moved, and one more drawn
        given["X"][0] = round(rng.uniform(-1.5, 1.5), 4)
        given["X"] += [round(rng.uniform(-1.5, 1.5), 4), 0.25]
        given["y"] += [rng.choice(given["y"])]
    return given


@pytest.mark.parametrize("seed", range(8))
def test_a_script_prints_the_numbers_of_the_page(ask, printed, state, seed):
    compared(ask, printed, drawn(state, seed))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(8, 58))
def test_many_scripts_print_the_numbers_of_the_page(ask, printed, state, seed):
    compared(ask, printed, drawn(state, seed))
