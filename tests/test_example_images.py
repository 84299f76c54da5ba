"""The pictures of images that move are drawn, and show what they say."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

pytest.importorskip("matplotlib")
EXAMPLES = Path(__file__).resolve().parent.parent / "examples"


@pytest.fixture(autouse=True)
def _path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(EXAMPLES))


def test_tangent_vectors(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    importlib.import_module("tangent_vectors").main(tmp_path)
    for name in ("tangent_vectors.png", "tangent_neighbours.png"):
        assert (tmp_path / name).stat().st_size > 10_000
    assert "Euclid 13.0 %, tangent 9.3 %" in capsys.readouterr().out


def test_template_deforming(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    importlib.import_module("template_deforming").main(tmp_path)
    assert (tmp_path / "template_deforming.png").stat().st_size > 10_000
    accuracy = float(capsys.readouterr().out.split(": ")[1].split(" %")[0])
    assert accuracy > 95
