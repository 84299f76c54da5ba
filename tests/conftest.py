"""What several tests share."""

import json
import os
import runpy
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
TRACING = runpy.run_path(str(HERE / "tracing.py"))
#: Files and tests, by the beginning of their names, that run the same code many times with other
#: numbers, or none of the library. To trace them would take twice as long and show nothing more:
#: of each, the lines and branches that no other test runs were counted, and there are two at most.
UNTRACED = (
    "tests/formula/test_tables.py::test_simplify_keeps_the_value",
    "tests/gram/test_accuracy.py::test_distances_where_they_cancel",
    "tests/gram/test_operator.py::test_the_numpy_engine_keeps_the_contract",
    "tests/gram/test_trees.py",
    "tests/kernels/test_algebra.py::test_values_follow_the_operators",
    "tests/kernels/test_extremes.py",
    "tests/kernels/test_images.py::test_contract",
    "tests/kernels/test_strings_in_use.py::test_contract_of_composites",
    "tests/learners/test_neighbors.py::test_neighbors_within_a_radius_stay_within_the_memory_limit",
    "tests/learners/test_processes.py::test_posterior_evidence_and_gradient_are_scikit_learns",
    "tests/learners/test_ridge.py::test_scikit_learn_contract",
    "tests/learners/test_ridge.py::test_the_path_chooses_by_what_refitting_without_each_example",
    "tests/learners/test_smoothers.py::test_scikit_learn_contract",
    "tests/lectures/test_lecture_003_images.py::test_the_best_over_rotations_is_no_kernel",
    "tests/maps/test_fourier.py::test_an_odd_feature_is_unbiased_too",
    "tests/maps/test_sketch.py::test_unbiased",
    "tests/onnx/test_kernels_and_learners.py::test_expansions_agree",
    "tests/onnx/test_pipelines.py::test_what_compare_finds",
    "tests/proof/test_black_box.py",
    "tests/proof/test_fourier.py::test_others_fail",
    "tests/proof/test_refute.py::test_refuted_with_few_points",
    "tests/pure/test_sources.py",
    "tests/report/test_judged.py::test_the_page_is_about_rows_kept_back",
    "tests/selection/test_compare.py::test_thirty_thousand_columns",
    "tests/selection/test_golden.py",
    "tests/selection/test_holdout.py::test_a_choice_by_chance_does_not_flatter_the_headline",
    "tests/selection/test_holdout.py::test_rows_of_a_group_are_held_out_together",
    "tests/selection/test_metrics.py::test_every_learner_is_judged_by_scores",
    "tests/selection/test_search.py::test_a_sum_over_single_columns_is_found_behind_a_block_over",
    "tests/selection/test_search.py::test_every_accepted_step_is_proved_and_better",
    "tests/selection/test_search.py::test_the_share_is_that_of_the_evidence",
    "tests/solvers/online/test_budget.py::test_merging_loses_the_least",
    "tests/solvers/online/test_dual.py::test_other_kernels_agree_wherever_rounding_does_not_decide",
    "tests/solvers/online/test_ties.py",
    "tests/solvers/smooth/test_newton.py::test_the_gradient_rule_of_the_lecture_goes_to_the_same",
    "tests/store/test_golden.py::test_it_answers_as_it_did",
    "tests/store/test_golden.py::test_it_can_be_saved_again",
    "tests/store/test_round_trips.py::test_learners",
    "tests/test_bench.py",
    "tests/test_docstrings.py",
    "tests/test_examples.py",
    "tests/test_layers.py",
    "tests/test_tracing.py",
)


def pytest_configure(config):
    """Where coverage is measured, the compiler of Numba is not traced: it took a third longer."""
    if config.getoption("cov_source", None):
        from numba.core.dispatcher import _FunctionCompiler

        _FunctionCompiler.compile = TRACING["untraced"](_FunctionCompiler.compile)


@pytest.hookimpl(wrapper=True)
def pytest_collection(session):
    """To collect took twice as long when traced. A process that hands tests to workers runs none of
    the library, and is traced no more."""
    config = session.config
    if not config.getoption("cov_source", None):
        return (yield)
    if config.getoption("numprocesses", None) and not hasattr(config, "workerinput"):
        sys.settrace(None)
        return (yield)
    TRACING["import_library"]()
    with TRACING["tracing_off"]():
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    """The marker `no_cover` would not do: in a worker, pytest-cov goes on with a second tracer."""
    if not item.nodeid.startswith(UNTRACED):
        return (yield)
    with TRACING["tracing_off"]():
        return (yield)


def pytest_runtest_setup(item):
    """Skip what this system cannot run, by marker (pyproject.toml)."""
    if os.name != "posix" and item.get_closest_marker("posix"):
        pytest.skip("needs a POSIX system")
    if not os.path.exists("/proc/self/statm") and item.get_closest_marker("linux"):
        pytest.skip("needs /proc")


@pytest.fixture(scope="session")
def device_server(tmp_path_factory, pytestconfig):
    """A process with Triton's interpreter (which must be chosen before Triton is imported), or with
    Triton itself where there is a GPU. It serves all device tests of this session."""
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    pytest.importorskip("triton", reason="Triton is not installed")
    # Empty at first, so that coverage sees what only runs while Numba compiles; workers share it.
    folder = tmp_path_factory.getbasetemp()
    folder = folder.parent if hasattr(pytestconfig, "workerinput") else folder
    environment = os.environ | {
        "MERCER_CACHE": str(folder / "cache of the device tests"),
        "PYTHONPATH": os.pathsep.join(os.path.abspath(path) for path in sys.path),
    }
    environment.pop("TRITON_INTERPRET", None)
    if not torch.cuda.is_available():
        environment["TRITON_INTERPRET"] = "1"
    if pytestconfig.getoption("cov_source", None):
        environment["MEASURE_COVERAGE"] = str(HERE.parent / "pyproject.toml")
    with subprocess.Popen(
        [sys.executable, str(HERE / "device_server.py")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=environment,
        cwd=HERE.parent,
    ) as server:
        yield server
        server.stdin.close()


@pytest.fixture
def run_on_device(device_server, tmp_path):
    """Run a script with the device engine, in its own process; it ends with print("checked")."""

    def run(script):
        output = tmp_path / "output of the script"
        task = {
            "script": textwrap.dedent(script),
            "folder": str(tmp_path),
            "output": str(output),
        }
        device_server.stdin.write(json.dumps(task) + "\n")
        device_server.stdin.flush()
        code = device_server.stdout.readline().strip()
        printed = output.read_text(encoding="utf-8")
        assert code == "0", printed[-3000:]
        assert "checked" in printed

    return run
