"""The scripts of the gallery draw their pictures, say what they found, and use public names only.

A third of them runs here, all of them in `make test-slow` and when the site is built.
"""

from __future__ import annotations

import ast
import re
import runpy
import warnings
from pathlib import Path

import pytest

pytest.importorskip("matplotlib")
EXAMPLES = Path(__file__).resolve().parent.parent / "examples"
GALLERY = sorted((EXAMPLES / "gallery").glob("*/plot_*.py"))
SECTIONS = {path.parent.name for path in GALLERY}

#: Sentences that the scripts print, and that hold whatever the pictures look like.
SAID = {
    "number_of_terms": ["1,609,344,100 terms", "φ(x) = [1, √2 x₁, √2 x₂, x₁²"],
    "xor_walk": ["t=1, i=1: score 0, update", "f(x) = (x₁ + x₂)²"],
    "digits": ["(2, 1, 1): 240,944,760"],
    "building_blocks": ["✓ a kernel"],
    "dual_ridge": ["Φᵀ(λI + ΦΦᵀ)⁻¹ t"],
    "circles": ["separable: False"],
    "mistakes": ["mistakes"],
    "fewest_errors": ["every line errs at least 1 time"],
    "glyphs": ["4       1       0       1"],
    "mail": ["of new messages right"],
    "svm_polynomial": ["f(x) = "],
    "counterexample": ["✗"],
    "tangent_vectors": ["Euclid: 13.0 % wrong", "tangent: 9.3 % wrong"],
    "margin": ["PAC: 400,000 examples"],
    "two_thresholds": ["h(x) = sign("],
    "two_samples": ["two distributions? MMDResult("],
    "changes": ["a change at 140"],
    "trend_and_period": ["a period of 2.5"],
    "relevant_columns": ["columns that matter: [0, 3]"],
    "process_of_classes": ["far away: [0.5 0.5]"],
    "components": ["three components hold 100 %"],
    "groups": ["100 % of the moons are told apart"],
    "solver_steps": ["SMO took 44 steps, Newton's method"],
}
#: A third of the gallery runs in every test, and whatever prints what is known beforehand.
OFTEN = {path for i, path in enumerate(GALLERY) if i % 3 == 0}


def name(path: Path) -> str:
    return re.sub(r"^plot_\d+_", "", path.stem)


def imported(path: Path) -> set[str]:
    names = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
    return names


@pytest.mark.parametrize("path", sorted(EXAMPLES.rglob("*.py")), ids=lambda path: path.stem)
def test_examples_import_public_names_only(path: Path) -> None:
    ours = {name for name in imported(path) if name.startswith("mercer")}
    assert not [name for name in ours if any(part.startswith("_") for part in name.split("."))]
    if path in GALLERY:
        rooms = {name.rsplit(".", 1)[0] for name in ours}
        assert rooms <= {"mercer", "mercer.kernels", "mercer.maps"}


def test_every_lecture_has_its_scripts() -> None:
    assert {f"lecture_00{i}" for i in range(5)} <= SECTIONS
    assert len(GALLERY) >= 45
    assert len({name(path) for path in GALLERY}) == len(GALLERY)  # a name says which one is meant
    assert all((EXAMPLES / "gallery" / one / "GALLERY_HEADER.rst").exists() for one in SECTIONS)
    assert set(SAID) <= {name(path) for path in GALLERY}


def test_every_script_has_a_title_and_a_sentence() -> None:
    for path in GALLERY:
        text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
        title, line, empty, sentence = text.split("\n", 3)
        assert line == "=" * len(title), path.name
        assert not empty
        assert sentence.endswith("."), path.name


@pytest.mark.parametrize(
    "path",
    [p if p in OFTEN else pytest.param(p, marks=pytest.mark.slow) for p in GALLERY],
    ids=name,
)
def test_a_script_draws_its_pictures(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    plt.close("all")
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "FigureCanvasAgg is non-interactive")
        runpy.run_path(str(path))
    figures = [plt.figure(number) for number in plt.get_fignums()]
    assert figures
    assert all(figure.axes for figure in figures)
    plt.close("all")
    said = capsys.readouterr().out
    assert all(sentence in said for sentence in SAID.get(name(path), []))
