"""`import mercer` is light: NumPy and nothing heavier, every name on first use."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys

import pytest

import mercer

HEAVY = ["scipy", "sklearn", "numba", "mpmath", "rich", "torch", "pandas", "matplotlib"]


def loaded_after(code: str) -> set[str]:
    report = f"{code}; import sys; print(*[m for m in {HEAVY + ['numpy']!r} if m in sys.modules])"
    run = subprocess.run(
        [sys.executable, "-c", report], capture_output=True, text=True, timeout=120, check=True
    )
    return set(run.stdout.split())


def test_importing_loads_nothing_heavy() -> None:
    assert not loaded_after("import mercer") & set(HEAVY)


def test_small_kernels_need_numpy_and_scipy_only() -> None:
    code = "import mercer; mercer.Gaussian()([[0.0], [1.0]]); mercer.parse('linear() + 1')"
    assert loaded_after(code) == {"numpy", "scipy"}


@pytest.mark.parametrize("name", mercer.__all__)
def test_every_name_resolves(name: str) -> None:
    try:
        value = getattr(mercer, name)
    except ModuleNotFoundError as error:
        pytest.skip(f"needs {error.name}, which is an extra")
    assert value is not None
    assert getattr(mercer, name) is value


def test_names_are_listed_once_and_in_order() -> None:
    assert dir(mercer) == sorted(set(dir(mercer)))
    assert set(dir(mercer)) == set(mercer.__all__)
    assert re.fullmatch(r"\d+\.\d+\.\d+(\.dev\d+)?", mercer.__version__)


def test_a_name_that_does_not_exist() -> None:
    with pytest.raises(AttributeError, match="module 'mercer' has no attribute 'Gausian'") as told:
        mercer.Gausian
    assert "Did you mean 'Gaussian'?" in str(told.value)
    for code in ("from mercer import Gausian", "from mercer.kernels import Gausian"):
        with pytest.raises(ImportError, match="Did you mean 'Gaussian'"):
            exec(code)  # noqa: S102 - the statement itself is tested
    assert importlib.util.find_spec("mercer.nothing") is None
    with pytest.raises(ImportError):
        importlib.import_module("mercer.nothing")


def test_kernels_that_few_use_stand_in_their_module() -> None:
    from mercer.kernels.catalog import KERNELS

    short = {name for name in KERNELS if name in dir(mercer)}
    assert len(short) == 12
    assert short < KERNELS.keys()
    for name, cls in KERNELS.items():
        assert getattr(mercer.kernels, name) is cls
        if name in short:
            assert getattr(mercer, name) is cls
        else:
            with pytest.warns(FutureWarning, match=rf"is mercer.kernels.{name} now.*version 0.4"):
                assert getattr(mercer, name) is cls


@pytest.mark.parametrize("name", ["Proof", "Counterexample", "Undecided", "fourier_check"])
def test_what_proofs_are_made_of_stands_in_their_module(name: str) -> None:
    with pytest.warns(FutureWarning, match=f"is mercer.proof.{name} now"):
        assert getattr(mercer, name) is getattr(mercer.proof, name)


def test_inner_packages_are_not_listed() -> None:
    code = (
        "import warnings, mercer; warnings.simplefilter('error', FutureWarning)\n"
        "try: mercer.solvers\n"
        "except FutureWarning as said: print('import mercer.solvers' in str(said))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "True"
    assert not {"formula", "solvers"} & set(dir(mercer))


@pytest.mark.parametrize(
    ("name", "here"),
    [
        ("SVC", "SVC is called mercer.KernelSVC"),
        ("RBF", "RBF is called mercer.Gaussian"),
        ("PolynomialMap", "it is mercer.maps.PolynomialMap"),
        ("Nystroem", "Nystroem is called mercer.maps.NystromMap"),
        ("DEFAULT", "it is mercer.kernels.DEFAULT"),
        ("alignment", "it is mercer.selection.alignment"),
        ("LogisticRegression", "is called mercer.KernelLogisticRegression"),
    ],
)
def test_names_that_are_elsewhere_or_called_otherwise(name: str, here: str) -> None:
    with pytest.raises(AttributeError) as told:
        getattr(mercer, name)
    assert here in str(told.value)
    assert not hasattr(mercer, "__no_such_name__")
