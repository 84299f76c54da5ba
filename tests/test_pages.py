"""The pages of the site: their blocks run, their links lead somewhere, and the kit is complete."""

from __future__ import annotations

import ast
import hashlib
import importlib.util
import re
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

pytest.importorskip("matplotlib")
ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
PAGES = sorted(DOCS.rglob("*.md"), key=str)
PAGES = [path for path in PAGES if "_static" not in path.parts]


def name(path: Path) -> str:
    return path.relative_to(DOCS).as_posix()


@pytest.fixture(autouse=True)
def formats_as_before() -> Iterator[None]:
    """Forget what blocks of pages register."""
    from mercer.data.formats import FORMATS

    before = dict(FORMATS)
    yield
    FORMATS.clear()
    FORMATS.update(before)


@pytest.fixture
def pages(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    import pages

    return pages


#: Run here in every test; `make docs` runs all pages.
SAMPLE = [
    "index.md",
    "guide/kernel_table.md",
    "guide/solver_table.md",
    "guide/own_kernel.md",
    "guide/production.md",
    "guide/extending.md",
    "guide/troubleshooting.md",
    "coming_from/scikit_learn.md",
    "adopters/support.md",
    "adopters/citation.md",
    "adopters/security.md",
    "speed.md",
]


@pytest.mark.parametrize("page", SAMPLE)
def test_the_blocks_of_a_page_run(pages: ModuleType, page: str) -> None:
    shown = pages.run(DOCS / page)
    assert shown
    assert sum(bool(one.text or one.figures or one.html) for one in shown) >= len(shown) - 1


def test_a_block_shows_what_it_prints_warns_and_draws(pages: ModuleType) -> None:
    page = pages.Page("test")
    one = page.run("import warnings\nwarnings.warn('careful', stacklevel=1)\nprint(x := 1)")
    assert one.text == "1\nUserWarning: careful\n"
    two = page.run("import matplotlib.pyplot as plt\nfigure = plt.figure()\nprint(x + 1)")
    assert (two.text, len(two.figures)) == ("2\n", 1)
    with pytest.raises(ZeroDivisionError):
        page.run("1 / 0")
    assert len(page.run("x").figures) == 0


def test_blocks_are_found_with_their_options_left_out(pages: ModuleType) -> None:
    text = "```{python}\n:hide-code:\n:markdown:\n\nprint(1)\n```\n\n```python\nno\n```\n"
    assert [code.strip() for code in pages.blocks(text)] == ["print(1)"]


@pytest.mark.parametrize("lecture", ["000", "001", "002", "003", "004"])
def test_every_item_of_a_lecture_is_in_its_chapter(
    lecture: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    import lecture_items

    text = (DOCS / "learn" / f"lecture_{lecture}.md").read_text(encoding="utf-8")
    here, there = lecture_items.marked(text), lecture_items.items(lecture)
    assert sorted(here) == sorted(there)  # each once, and none of another lecture
    assert f'href="#item-{here[0]}"' in lecture_items.table(lecture)
    assert f'lecture_items.table("{lecture}")' in text


#: Of every section of a chapter, but the list of points and the questions at the end.
PARTS = {"a picture or a result": "```{python}", "lines to change": "**Change it.**",
         "an exercise with its answer folded away": ":::{dropdown}",
         "a way into the laboratory": "```{lab} panel="}  # fmt: skip
SECTIONS = {
    f"{path.stem}: {section.partition(chr(10))[0]}": section
    for path in sorted((DOCS / "learn").glob("lecture_*.md"))
    for section in re.split(r"^## ", path.read_text(encoding="utf-8"), flags=re.M)[1:]
    if not re.match(r"The (?:lecture|notes), point by point|Questions to end with", section)
}


@pytest.mark.parametrize("title", SECTIONS)
def test_a_section_can_be_changed_solved_and_moved(title: str) -> None:
    assert not [part for part, sign in PARTS.items() if sign not in SECTIONS[title]]


def test_every_public_name_is_in_the_reference(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    import reference

    import mercer

    pages = "".join(reference.page(module) for module in reference.MODULES)
    names = set(re.findall(r"^\.\. auto(?:class|function):: mercer\.(?:\w+\.)?(\w+)$", pages, re.M))
    modules = set(reference.MODULES) | {"formula", "solvers", "chunks", "extend", "__version__"}
    assert set(dir(mercer)) - modules <= names
    assert "   :members: fit, " in pages
    assert "automethod" not in pages
    # Links to the pages that use a name; their titles are plain text, as links must be.
    assert ":doc:`1. The kernel trick </learn/lecture_000>`" in pages
    links = re.findall(r":doc:`([^`]*)`", pages)
    assert all(re.fullmatch(r"[^<>]+ </[\w/]+>", link) for link in links)
    assert len(links) == pages.count(":doc:")
    assert "get_params" not in pages  # scikit-learn documents it


def test_every_kernel_tool_of_scikit_learn_has_its_counterpart() -> None:
    from sklearn import kernel_approximation, svm
    from sklearn.gaussian_process import kernels
    from sklearn.metrics import pairwise

    text = (DOCS / "coming_from" / "scikit_learn.md").read_text(encoding="utf-8")
    tools = {
        name
        for module in (kernels, kernel_approximation)
        for name, value in vars(module).items()
        if isinstance(value, type) and value.__module__ == module.__name__
    } - {"Kernel", "KernelOperator"}
    tools = {tool for tool in tools if not tool.endswith("Mixin")}
    tools |= {*svm.__all__, *pairwise.PAIRWISE_KERNEL_FUNCTIONS, "KernelRidge", "KernelPCA"}
    tools |= {"GaussianProcessRegressor", "GaussianProcessClassifier", "SpectralClustering"}
    tools |= {"KernelDensity", "KernelCenterer"}
    assert {tool for tool in tools if not re.search(rf"\b{tool}\b", text)} == set()


#: Raised and caught inside the library; a user never meets them.
INNER = {
    "CannotTravel", "Found", "Interrupted", "NotDefinite", "NotRenderable", "Open", "OutOfTime",
}  # fmt: skip


def test_every_class_of_errors_is_explained() -> None:
    defined = {
        node.name
        for path in (ROOT / "src" / "mercer").rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ClassDef) and node.name[0] != "_"
        for base in node.bases
        if re.search(r"(?:Error|Exception|Warning)$", ast.unparse(base))
    }
    text = (DOCS / "guide" / "troubleshooting.md").read_text(encoding="utf-8")
    assert {name for name in defined - INNER if f"{name}`" not in text} == set()
    assert {"StoreError", "DataError", "GrammarError"} <= defined


def test_every_option_of_the_command_is_explained(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("click")
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    import commands

    text, overview = commands.table(), (DOCS / "cli.md").read_text(encoding="utf-8")
    for name, command in commands.commands():
        assert name == "mercer" or f"`{name}" in overview
        for option in commands.options(command):
            assert option.help, (name, option.name)
            assert f"| `{option.opts[-1]}`" in text


def anchors(text: str) -> set[str]:
    """Explicit targets, and headings as MyST and GitHub call them."""
    named = set(re.findall(r"^\(([\w-]+)\)=$", text, re.MULTILINE))
    titles = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    slugs = {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}
    return named | slugs


#: Pages that are made when the site is built.
MADE = [DOCS / "gallery" / "index.rst", DOCS / "reference" / "index.rst"]


@pytest.mark.parametrize("path", PAGES, ids=name)
def test_links_lead_to_pages_and_anchors_that_exist(path: Path) -> None:
    text = re.sub(r"^(`{3,}).*?^\1", "", path.read_text(encoding="utf-8"), flags=re.S | re.M)
    for link in re.findall(r"\]\(([^)\s]+)\)", re.sub(r"`[^`\n]*`", "", text)):
        if re.match(r"https?:", link):
            continue
        where, _, anchor = link.partition("#")
        goal = (path.parent / where).resolve() if where else path
        assert goal.exists() or goal in MADE, link
        if anchor:
            assert anchor in anchors(goal.read_text(encoding="utf-8")), link


def test_no_block_of_python_is_left_unexecuted() -> None:
    shown = {name(path) for path in PAGES if "```python" in path.read_text(encoding="utf-8")}
    assert shown == set()


def test_every_page_is_in_a_table_of_contents() -> None:
    listed = {"index.md"}
    for path in PAGES:
        for body in re.findall(
            r"^```\{toctree\}\n(.*?)^```$", path.read_text("utf-8"), re.S | re.M
        ):
            for line in body.splitlines():
                if line.strip() and not line.startswith(":"):
                    goal = (path.parent / f"{line.strip()}.md").resolve()
                    listed.add(goal.relative_to(DOCS).as_posix())
    # The pages of the gallery and of the reference are made when the site is built.
    made = {"gallery/index.md", "reference/index.md"}
    assert {name(path) for path in PAGES} == listed - made


@pytest.fixture
def speed(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    import speed

    return speed


def test_the_readme_quotes_what_was_measured(speed: ModuleType) -> None:
    assert speed.stale() is None, "run make format"
    assert "<!-- speed: begin -->" in (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_page_on_gpus_shows_what_was_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    import gpu

    assert gpu.stale() is None, "run make format"
    for name, found in gpu.results().items():
        assert (ROOT / "bench" / f"{name}.py").exists()
        assert {"date", "device", "versions", "rows"} == set(found)


def test_stored_measurements_say_when_where_and_with_what(speed: ModuleType) -> None:
    assert speed.names()
    for name in speed.names():
        found = speed.stored(name)
        assert {"date", "machine", "busy", "versions", "seconds", "rows"} == set(found), name
        assert (ROOT / "bench" / f"{name}.py").exists(), name
        assert f"(#bench-{name.replace('_', '-')})" in speed.table()
        assert f"(bench-{name.replace('_', '-')})=" in speed.details()


def test_signs_are_escaped_outside_of_code_only(speed: ModuleType) -> None:
    assert speed._escaped("a*b and `set_config`, x_i") == r"a\*b and `set_config`, x\_i"


def test_a_busy_machine_is_told(speed: ModuleType) -> None:
    found = {"date": "2026-01-01", "machine": "2 cores", "busy": 0.1, "versions": {"numpy": "2"}}
    assert speed.where(found) == "Measured on 2026-01-01 (2 cores; numpy 2)."
    assert "other work took 60 % of it" in speed.where({**found, "busy": 0.6})
    assert speed.where({}) == "Not measured yet."


def test_a_headline_has_the_numbers_of_its_row(
    speed: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = {"claim": "SVC MNIST 10k fit (…)", "ours": 0.5, "peer": 6.0, "ratio": 12.0, "unit": "s"}
    monkeypatch.setattr(speed, "stored", lambda name: {"rows": [row]} if "svc" in name else {})
    assert "**12 times as fast" in speed.headlines()
    assert "500 ms instead of 6 s" in speed.headlines()
    assert ":::{grid-item-card} 12 times as fast as scikit-learn's `SVC`\n" in speed.cards()
    assert "[`bench/svc_mnist10k.py`](#bench-svc-mnist10k)" in speed.cards()


def test_llms_txt_names_every_page_and_what_it_is_about(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    spec = importlib.util.spec_from_file_location("build_site", ROOT / "tools" / "site.py")
    assert spec
    assert spec.loader
    build = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(build)
    monkeypatch.setattr(build, "SOURCE", DOCS)
    text = build.contents_for_programs()
    assert text.startswith("# Mercer\n\n> Mercer is a Python library for kernel machines")
    for path in PAGES:
        if path.stem != "index":
            assert f"]({name(path).replace('.md', '.html')}): " in text, path


def test_broken_links_of_a_built_site_are_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    import links

    (tmp_path / "a.html").write_text(
        '<h1 id="top"></h1><a href="b.html#here"></a><a href="#top"></a><a href="https://x.org"></a>'
        '<a href="c.html"></a><a href="b.html#there"></a><img src="https://x.org/p.png">'
    )
    (tmp_path / "b.html").write_text('<p id="here"></p>')
    assert links.broken(tmp_path) == [
        "a.html: no file c.html",
        "a.html: no anchor b.html#there",
        "a.html: fetches https://x.org/p.png",
    ]


def test_the_mathematics_are_as_they_came() -> None:
    folder = DOCS / "_static" / "mathjax"
    for line in (folder / "SHA256SUMS").read_text().splitlines():
        digest, file = line.split()
        assert hashlib.sha256((folder / file).read_bytes()).hexdigest() == digest, file
    assert (folder / "LICENSE").exists()


@pytest.mark.slow
def test_what_is_wrong_with_a_page_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    import look

    pytest.importorskip("axe_playwright_python", reason="axe-core is not installed")
    if look.chromium() is None:
        pytest.skip("there is no chromium on this machine")
    page = '<html lang="en"><title>a</title><main><h1>a</h1>{}</main></html>'
    (tmp_path / "a.html").write_text(page.format('<p style="width: 900px"><img src="b.png">'))
    (tmp_path / "search.html").write_text(page.format("<script>nothing()</script>"))
    (tmp_path / "learn").mkdir()
    box = '<div class="lab"><div class="mercer-live">x</div></div>'
    (tmp_path / "learn" / "c.html").write_text(page.format(box))
    monkeypatch.setattr(look, "SITE", tmp_path)
    monkeypatch.setattr(look, "PICTURES", tmp_path / "look")
    monkeypatch.setattr(look, "SAMPLE", ("a.html",))
    script, wide, again, light, dark, still, search = look.look([])
    assert re.match(r"a.html: \d+ pixels too wide for 390", wide)
    assert script == again == "search.html: error of a script: nothing is not defined"
    assert light.startswith("a.html, light, 1440: image-alt (critical, 1 times) <img")
    assert dark.startswith("a.html, dark, 390: image-alt")
    assert still == "learn/c.html: without scripts 0 of 1 pictures, 1 empty figures"
    assert search == "the search for gaussian finds fewer than five pages"
    assert (tmp_path / "look" / "a-dark-390.png").exists()


def test_code_fits_its_column() -> None:
    """A line of a hundred characters is as wide as the column on a desk of 1440 pixels."""
    fence = re.compile(r"^(`{3,})\{python\}\n(.*?)^\1", re.DOTALL | re.MULTILINE)
    wide = [
        (name(path), line)
        for path in PAGES
        for match in fence.finditer(path.read_text(encoding="utf-8"))
        for line in match[2].splitlines()
        if len(line) > 98 and not line.startswith(":")
    ]
    assert wide == []


def test_the_reference_says_one_line_per_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    import reference

    lines = [line for line in reference.index().splitlines() if line.startswith("- :py:")]
    assert len(lines) > 200
    assert "- :py:class:`Gaussian <mercer.kernels.Gaussian>`: " in "\n".join(lines)
    assert [line for line in lines if not re.search("`: .{8,}", line)] == []


def test_a_thumbnail_is_the_picture_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Square, the largest axes, without words; a film shows its last frame."""
    import matplotlib.pyplot as plt
    import numpy as np
    from PIL import Image

    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    import thumbnails

    figure, (large, small) = plt.subplots(2, 1, height_ratios=[3, 1], layout="constrained")
    large.plot([0, 1], [0, 1], color="red")
    large.set_title("words")
    small.plot([0, 1], [0, 1], color="blue")
    thumbnails.square(figure, tmp_path / "x.png")
    plt.close(figure)
    with Image.open(tmp_path / "x.png") as image:
        assert image.size == (thumbnails.SIDE, thumbnails.SIDE)
        pixels = np.asarray(image.convert("RGB"), dtype=int)
    red, blue = (pixels[..., k] - pixels[..., 2 - k] > 100 for k in (0, 2))
    assert red.any()
    assert not blue.any()
    rows = np.flatnonzero(red.any(axis=1))
    assert rows[0] < 0.15 * thumbnails.SIDE < 0.85 * thumbnails.SIDE < rows[-1]
