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


def test_leaves_are_public() -> None:
    from mercer.kernels import KERNELS

    assert KERNELS
    for name, cls in KERNELS.items():
        assert getattr(mercer, name) is cls
        assert name in dir(mercer)


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
