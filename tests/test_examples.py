"""Every script of the gallery runs in seconds, draws its pictures, says what it found, and uses
public names only.
"""

from __future__ import annotations

import ast
import importlib
from pathlib import Path

import pytest

pytest.importorskip("matplotlib")
EXAMPLES = Path(__file__).resolve().parent.parent / "examples"
SCRIPTS = sorted(path.stem for path in EXAMPLES.glob("*_*.py") if path.stem != "mixed_records")

#: Sentences that the scripts print, and that hold whatever the pictures look like.
SAID = {
    "beyond_tests": ["yet two distributions: MMDResult(", "a change at 141"],
    "lecture_000_feature_spaces": ["1,609,344,100 terms", "φ(x) = [1, √2 x₁, √2 x₂, x₁²"],
    "lecture_000_kernelized_perceptron": ["t=1, i=1: score 0, update", "f(x) = (x₁ + x₂)²"],
    "lecture_001_kernel_functions": ["(2, 1, 1): 240,944,760", "Φᵀ(λI + ΦΦᵀ)⁻¹ t", "✓ a kernel"],
    "lecture_002_features": ["4       1       0       1", "of new messages right"],
    "lecture_002_films": ["SMO took 44 steps, Newton's method"],
    "lecture_002_kernels": ["✗", "the SVM in the plane: f(x) = "],
    "lecture_002_perceptron": ["every line errs at least 1 time", "mistakes"],
    "lecture_003_similarities": ["Euclid 13.0 %, tangent 9.3 %", "new digits right"],
    "lecture_003_support_vectors": ["PAC: 400,000 examples"],
    "lecture_004_notes": ["h(x) = sign("],
}


def imported(path: Path) -> set[str]:
    names = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
    return names


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.py")), ids=lambda path: path.stem)
def test_examples_import_public_names_only(path: Path) -> None:
    ours = {name for name in imported(path) if name.startswith("mercer")}
    assert not [name for name in ours if any(part.startswith("_") for part in name.split("."))]
    if path.stem in SCRIPTS:
        assert all(name.rsplit(".", 1)[0] in ("mercer", "mercer.maps") for name in ours)


def test_every_lecture_has_its_scripts() -> None:
    lectures = [name for name in SCRIPTS if name.startswith("lecture_")]
    assert {name.split("_")[1] for name in lectures} == {f"00{i}" for i in range(5)}


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_script_draws_its_pictures(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.syspath_prepend(str(EXAMPLES))
    gallery, script = importlib.import_module("gallery"), importlib.import_module(name)
    monkeypatch.setattr(script, "FRAMES", 2, raising=False)  # of a film
    written = gallery.save(script.pictures(), tmp_path)
    assert len(written) >= 3
    assert all(path.stat().st_size > 3_000 for path in written)
    said = capsys.readouterr().out
    assert all(sentence in said for sentence in SAID.get(name, []))
