"""Source quoted in the documents is the source, and the checker can tell when it is not."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="module")
def snippets() -> ModuleType:
    spec = importlib.util.spec_from_file_location("snippets", ROOT / "tools" / "snippets.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("document", ["CONTRIBUTING.md", "README.md"])
def test_quotations_are_current(snippets: ModuleType, document: str) -> None:
    stale = snippets.refreshed((ROOT / document).read_text(encoding="utf-8"))[1]
    assert not stale, f"{document} quotes old source: run make format"


def test_contributing_quotes_a_kernel_an_engine_and_a_learner(snippets: ModuleType) -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    quoted = [match["path"] for match in snippets.QUOTE.finditer(text)]
    for folder in ("kernels", "gram", "learners"):
        assert any(f"/{folder}/" in path for path in quoted), folder


def test_a_stale_quotation_is_found_and_mended(snippets: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "m.py").write_text("class A:\n    @property\n    def f(self):\n        return 1\n")
    old = "<!-- source: m.py A.f -->\n```python\ndef f(self):\n    return 0\n```\n"
    new, stale = snippets.refreshed(old, root=tmp_path)
    assert stale == ["m.py A.f"]
    assert "@property\ndef f(self):\n    return 1\n```" in new
    assert snippets.refreshed(new, root=tmp_path) == (new, [])


def test_a_quotation_of_nothing_raises(snippets: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "m.py").write_text("x = 1\n")
    assert snippets.definition(tmp_path / "m.py", "x") == "x = 1\n"
    with pytest.raises(LookupError, match="has no y"):
        snippets.definition(tmp_path / "m.py", "y")
