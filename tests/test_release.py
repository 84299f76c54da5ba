"""What a release is made of: the files, the versions, and no word that is not true yet."""

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
#: True once the name is registered in the index of packages.
REGISTERED = False


def test_the_citation_travels_with_the_source():
    patterns = PROJECT["tool"]["hatch"]["build"]["targets"]["sdist"]["include"]
    assert "/CITATION.cff" in patterns
    assert all(list(ROOT.glob(p.lstrip("/"))) for p in patterns)


def test_one_version_and_one_date_everywhere():
    import mercer

    top = re.search(r"^## (\S+) \((\S+)\)$", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.M)
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    recipe = (ROOT / "tools" / "conda" / "meta.yaml").read_text(encoding="utf-8")
    assert top[1] == mercer.__version__
    assert f"version: {top[1]}\ndate-released: {top[2]}\n" in citation
    assert f'set version = "{top[1]}"' in recipe


def test_the_recipe_for_conda_asks_for_what_the_package_asks_for():
    text = (ROOT / "tools" / "conda" / "meta.yaml").read_text(encoding="utf-8")
    run = text.partition("  run:\n")[2].partition("\ntest:")[0]
    listed = {line.strip("- ").replace(" ", "") for line in run.strip().splitlines()}
    wanted = {one.partition(";")[0] for one in PROJECT["project"]["dependencies"]}
    assert listed - {"python>=3.11"} == wanted


def test_no_browser_is_asked_to_install_a_compiler():
    (numba,) = [d for d in PROJECT["project"]["dependencies"] if d.startswith("numba")]
    assert numba.endswith("sys_platform != 'emscripten'")


@pytest.mark.skipif(REGISTERED, reason="the name is ours")
@pytest.mark.parametrize(
    "folder", ["src", "docs", "examples", "README.md", "CONTRIBUTING.md", "CHANGELOG.md"]
)
def test_nobody_is_told_to_install_a_name_that_is_not_registered(folder):
    """A stranger could register it."""
    path = ROOT / folder
    files = [path] if path.is_file() else [*path.rglob("*.py"), *path.rglob("*.md")]
    for file in files:
        found = re.search(r"pip install [^`\n]*\bmercer\b(?!-)", file.read_text(encoding="utf-8"))
        assert not found or "git+" in found[0], f"{file}: {found[0]}"
