"""The same call has the same bits, whatever the process, its cache and the machine went through.

A few probes that take every kind of road run in every test; all of them are slow.
"""

from __future__ import annotations

import pytest

#: In every test: blocks of K below and above what is worth compiling or cutting into tiles, each
#: solver that has compiled loops, draws of rows, and kernels that no compiled loop computes.
FEW = (
    r"kernel (gaussian\(1.0\)|polynomial\(2, 1\)|laplacian\(0.5, 1\)) (60x5|700x10) float64",
    r"kernel gaussian\(1.0\) (200x40|2500x120) float32",
    r"kernel gaussian\(3\) (sparse|half full|bytes)",
    r"learner (KernelSVC|KernelSVR|KernelPerceptron|Perceptron) (small|medium)",
    r"learner (KernelNeighborsClassifier|NadarayaWatsonRegressor|KernelRidge) (small|medium)",
    r"learner KernelLogisticRegression( solver=nystrom alpha=0.01)? (small|medium)",
    r"learner KernelSVC( large| strings 600| precomputed 600| function 600)",
    r"learner (KernelKMeans|SpectralClustering|KernelRidge solver=nystrom) small",
    r"(map (RandomFourierMap|TensorSketchMap|NystromMap) small)|(test .* small)",
)
#: Of these a hundred calls take a second.
CHEAP = (
    r"kernel (gaussian\(1.0\)|polynomial\(2, 1\)|laplacian\(0.5, 1\)) 60x5 float64",
    r"learner (KernelSVC|KernelRidge|KernelNeighborsClassifier|KernelPerceptron) small",
)
#: First of a process, or from an empty cache: of these, few compile what takes a second.
COLD = (
    r"kernel gaussian\(1.0\) (60x5|700x10) float64",
    r"kernel gaussian\(3\) sparse",
    r"learner (KernelSVC|KernelRidge) (small|medium)",
    r"learner KernelSVC strings 600",
)
STATES = {
    "after numba was imported": ("--before", "numba"),
    "after scipy and scikit-learn were imported": ("--before", "scipy"),
    "after other models of other sizes": ("--before", "others"),
    "while threads of BLAS wait busily": ("--before", "spinning"),
    "with the last probe first": ("--backwards",),
    "with little memory free": ("--before", "little memory"),
    "with much memory free": ("--before", "much memory"),
}
TOGETHER = ("--backwards", "--before", "numba", "scipy", "others", "little memory", "spinning")


@pytest.fixture(scope="module")
def plain(measured):
    """A fresh process in which nothing was done."""
    return measured(*FEW)


def test_in_all_these_states_together(measured, differing, plain):
    there = measured(*FEW, options=TOGETHER)
    assert there.keys() == plain.keys()
    assert not differing(plain, there)


def test_in_calls_1_2_40_and_100(measured, differing, plain):
    hashes = measured(*CHEAP, options=("--calls", "1", "2", "40", "100"))
    assert all(len(calls) == 4 for calls in hashes.values())
    assert not differing(hashes, {name: plain[name] for name in hashes})


@pytest.mark.posix
def test_as_the_first_of_a_process(measured, differing, plain):
    hashes = measured(*COLD, options=("--alone",))
    assert not differing(hashes, {name: plain[name] for name in hashes})


def test_from_an_empty_cache_and_from_a_full_one(measured, differing, plain, tmp_path):
    empty = measured(*COLD, MERCER_CACHE=str(tmp_path))
    full = measured(*COLD, MERCER_CACHE=str(tmp_path))
    assert not differing(empty, full, {name: plain[name] for name in empty})


def test_beside_two_busy_processes(measured, differing, plain, busy):
    with busy(2):
        hashes = measured(*COLD, FEW[1])
    assert not differing(hashes, {name: plain[name] for name in hashes})


@pytest.mark.parametrize("kind", ["spawn", "loky"])
def test_in_a_worker_process(measured, differing, plain, kind):
    hashes = measured(*COLD, options=("--worker", kind))
    assert not differing(hashes, {name: plain[name] for name in hashes})


# --- all of them ---------------------------------------------------------------------------------

#: Every kernel, learner, map and test at sizes that take every kind of road, but for the largest.
MEDIUM = (
    r"kernel .* (700x10) float64",
    r"kernel .* (sparse|half full|bytes|strings)",
    r"(learner|map) .* medium",
    r"(reasons|test .*) small",
)
#: Every one of them at sizes that take a moment.
SMALL = (r"kernel .* (8x2|60x5|200x40) .*", r"(learner|map|reasons|test) ?.* ?small")
#: What is cut into tiles, shared between threads, or kept within the limit of memory.
LARGE = (r"kernel .* (1500x20|2500x120|1000x120) .*", r"(learner|map) .* large")


@pytest.fixture(scope="module")
def whole(measured):
    return measured(".*")


def part(whole, hashes):
    """Of the plain hashes those that were found again."""
    assert hashes
    return {name: whole[name] for name in hashes}


@pytest.mark.slow
def test_all_in_all_these_states_together(measured, differing, whole):
    assert not differing(whole, measured(".*", options=TOGETHER))


@pytest.mark.slow
@pytest.mark.parametrize("state", STATES)
def test_all_but_the_large_in_one_state(measured, differing, whole, state):
    hashes = measured(*SMALL, *MEDIUM, options=STATES[state])
    assert not differing(hashes, part(whole, hashes))


@pytest.mark.slow
def test_all_that_is_large_with_much_memory_free(measured, differing, whole):
    hashes = measured(*LARGE, options=STATES["with much memory free"])
    assert not differing(hashes, part(whole, hashes))


@pytest.mark.slow
@pytest.mark.posix
def test_all_as_the_first_of_a_process(measured, differing, whole):
    hashes = measured(*MEDIUM, options=("--alone",))
    assert not differing(hashes, part(whole, hashes))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("calls", "patterns"),
    [(("1", "2"), MEDIUM), (("1", "2", "40"), SMALL[1:]), (("1", "2", "40", "100"), SMALL[:1])],
)
def test_all_in_later_calls(measured, differing, whole, calls, patterns):
    hashes = measured(*patterns, options=("--calls", *calls))
    assert all(len(found) == len(calls) for found in hashes.values())
    assert not differing(hashes, part(whole, hashes))


@pytest.mark.slow
def test_all_from_an_empty_cache(measured, differing, whole, tmp_path):
    hashes = measured(*MEDIUM, MERCER_CACHE=str(tmp_path))
    assert not differing(hashes, part(whole, hashes))


@pytest.mark.slow
def test_all_beside_two_busy_processes(measured, differing, whole, busy):
    with busy(2):
        hashes = measured(*MEDIUM, LARGE[1])
    assert not differing(hashes, part(whole, hashes))


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "patterns"), [("spawn", LARGE), ("loky", MEDIUM)])
def test_all_in_a_worker_process(measured, differing, whole, kind, patterns):
    hashes = measured(*patterns, options=("--worker", kind))
    assert not differing(hashes, part(whole, hashes))
