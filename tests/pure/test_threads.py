"""Other numbers of threads round otherwise, and no more; which learners do not, the docs say."""

from __future__ import annotations

from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def threads(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    import threads

    return threads


def test_K_is_equal_up_to_rounding(threads):
    found = threads.measured(
        r"kernel (gaussian\(1.0\)|laplacian\(0.5, 1\)) 700x10 float64",
        r"learner (KernelRidge alpha=0.1|KernelCentroidClassifier) large",
    )
    assert len(found) == 4
    assert {name: value for name, value in found.items() if value > threads.ROUNDING} == {}


@pytest.mark.slow
def test_every_kernel_is_equal_up_to_rounding(threads):
    found = threads.measured("kernel .* (700x10|1500x20|2500x120|1000x120) float64")
    assert {name: value for name, value in found.items() if value > threads.ROUNDING} == {}


@pytest.mark.slow
def test_the_page_says_what_is_measured(threads):
    """A learner may keep more than is said, on another processor, and not less."""
    order = ["to the bit", "up to rounding (10⁻¹²)", "up to the tolerance of its solver"]
    found = {probe.split()[1]: value for probe, value in threads.measured(*threads.PROBES).items()}
    said = threads.promised()
    assert said.keys() == found.keys()
    worse = {n for n, v in found.items() if order.index(threads.words(v)) > order.index(said[n])}
    assert not worse


def test_the_page_has_every_learner(threads):
    from mercer import learners

    assert threads.promised().keys() == {*learners.__all__} - {"DeformableTemplateClassifier"}
