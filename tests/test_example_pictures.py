"""The pictures of the lectures are drawn: small ones here, in full by the scripts themselves."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

pytest.importorskip("matplotlib")
EXAMPLES = Path(__file__).resolve().parent.parent / "examples"


@pytest.fixture(autouse=True)
def _path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(EXAMPLES))


def test_kernel_regression(tmp_path: Path) -> None:
    module = importlib.import_module("kernel_regression")
    for path in (module.draw(tmp_path, n=60), module.draw_boundary(tmp_path, n=80)):
        assert path.stat().st_size > 10_000


def test_nearest_neighbours(tmp_path: Path) -> None:
    module = importlib.import_module("nearest_neighbours")
    assert module.draw(tmp_path, sizes=(2, 10, 100), pixels=40).stat().st_size > 5_000


def test_dimension(tmp_path: Path) -> None:
    module = importlib.import_module("dimension")
    assert module.draw(tmp_path, n=60, dimensions=(1, 4), rounds=1).stat().st_size > 10_000
    found = module.measure(100, (1, 6), 1)
    assert found["weighted mean"][0, 0] < found["weighted mean"][1, 0]
    assert found["near"][0, 0] < found["near"][1, 0]
