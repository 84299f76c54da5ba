"""Sphinx's side of `pages.py`: a directive {python} that runs a block and shows what it leaves."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import parse_qsl

import stills
from docutils import nodes
from docutils.parsers.rst import directives
from pages import Page, Shown
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from mercer.lab.compute.live import figure, from_address, title
from mercer.live import embedded, read, script

DPI = 110


class Python(SphinxDirective):
    """The code, highlighted; below it what was printed, and the figures that were drawn."""

    has_content = True
    option_spec: ClassVar[dict[str, Any]] = {
        "hide-code": directives.flag,
        "markdown": directives.flag,
        "alt": directives.unchanged,
    }

    def run(self) -> list[nodes.Node]:
        code = "\n".join(self.content)
        pages: Any = self.env.temp_data
        page: Page = pages.setdefault("mercer page", Page(self.env.docname))
        try:
            shown = page.run(code)
        except Exception as error:
            raise self.error(f"the block failed: {error!r}\n{code}") from error
        result: list[nodes.Node] = []
        if "hide-code" not in self.options:
            result.append(nodes.literal_block(code, code, language="python"))
        return result + self.printed(shown) + [self.image(figure) for figure in shown.figures]

    def printed(self, shown: Shown) -> list[nodes.Node]:
        result: list[nodes.Node] = [nodes.raw("", page, format="html") for page in shown.html]
        if "markdown" in self.options:
            return self.parse_text_to_nodes(shown.text)
        if shown.text:
            text = shown.text.rstrip("\n")
            result.append(nodes.literal_block(text, text, language="text", classes=["output"]))
        return result

    def image(self, figure: Any) -> nodes.Node:
        """Save a figure under the sources (a copy of them) and refer to it."""
        pages: Any = self.env.temp_data
        number = pages["mercer figures"] = pages.get("mercer figures", 0) + 1
        folder = self.env.srcdir / "drawn"
        folder.mkdir(exist_ok=True)
        name = f"{self.env.docname.replace('/', '-')}-{number}.png"
        figure.savefig(folder / name, dpi=DPI, bbox_inches="tight")
        titles = [text for ax in figure.axes if (text := ax.get_title())]
        alt = self.options.get("alt") or "; ".join(titles) or "what the code above draws"
        return nodes.image(uri=f"/drawn/{name}", alt=alt, classes=["drawn"])


class Laboratory(SphinxDirective):
    """{lab} panel=…&kernel=…: a figure that moves in the page, and the command for more.

    The body says what to do. Without scripts the same state is a still picture. A link to the
    laboratory cannot be: it answers only to pages that know the token of this start, and the port
    is another one each time.
    """

    has_content = True
    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        text = " ".join(self.content)
        command = f'mercer lab --state "{self.arguments[0]}"'
        line = nodes.literal_block(command, command, language="bash")
        said = self.parse_text_to_nodes(f"**Move it.** {text}")
        more = nodes.paragraph("", "Open in the laboratory:", classes=["more"])
        return [nodes.container("", *said, *self.figure(), more, line, classes=["lab"])]

    def figure(self) -> list[nodes.Node]:
        panel, state = from_address(self.arguments[0])
        spec = figure(panel, state, dict(parse_qsl(self.arguments[0])).get("beside", ""))
        pages: Any = self.env.temp_data
        number = pages["mercer stills"] = pages.get("mercer stills", 0) + 1
        folder = self.env.srcdir / "drawn"
        folder.mkdir(exist_ok=True)
        name = f"{self.env.docname.replace('/', '-')}-still-{number}.png"
        stills.save(panel, state, folder / name)
        alt = title(panel, state)
        still = nodes.image(uri=f"/drawn/{name}", alt=alt, classes=["drawn"])
        begin, end = (nodes.raw("", tag, format="html") for tag in ("<noscript>", "</noscript>"))
        return [nodes.raw("", embedded(spec), format="html"), begin, still, end]


def with_figures(app: Sphinx, _page: str, _template: str, _context: Any, doctree: Any) -> None:
    """Load the script of the figures in pages that have one."""
    if doctree is not None and any("mercer-live" in n.astext() for n in doctree.findall(nodes.raw)):
        app.add_js_file("live.js", loading_method="defer")
        app.add_css_file("live.css")


def write_figures(app: Sphinx, _error: Any) -> None:
    """The script and the style of the figures, beside the other files of the site."""
    folder = Path(app.outdir) / "_static"
    (folder / "live.js").write_text(f"{script()}figures_js.start();\n", encoding="utf-8")
    (folder / "live.css").write_text(read("live.css"), encoding="utf-8")


def styled(_settings: Any, _file: str) -> None:
    """Begin a script of the gallery with the library's look."""
    import matplotlib.pyplot as plt

    plt.style.use("mercer.plot.mercer")


def items(
    _name: str, _raw: str, text: str, *_: Any, **__: Any
) -> tuple[list[nodes.Node], list[Any]]:
    """The role {items}`20 21`: anchors that the list of a lecture's points links to."""
    spans = "".join(f'<span id="item-{number}"></span>' for number in text.split())
    return [nodes.raw("", spans, format="html")], []


#: What reStructuredText would read as a link, a substitution or emphasis, outside of code.
CODE = re.compile(r"(``.+?``|`[^`]+`_?)")
MARKUP = re.compile(r"(?<=\w)_(?!\w)|[|*](?!\*)")


def plain(
    _app: Sphinx, _what: str, _name: str, _thing: Any, _options: Any, lines: list[str]
) -> None:
    """Take the signs of a docstring for what they are: `α_`, |x| and a*b are formulas here."""
    for number, line in enumerate(lines):
        if not line.lstrip().startswith((">>>", "...", ".. ", ":")):
            parts = CODE.split(line)
            parts[::2] = [MARKUP.sub(r"\\\g<0>", part) for part in parts[::2]]
            lines[number] = "".join(parts)


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_directive("python", Python)
    app.add_directive("lab", Laboratory)
    app.add_role("items", items)
    app.connect("html-page-context", with_figures)
    app.connect("build-finished", write_figures)
    app.connect("autodoc-process-docstring", plain, priority=400)  # before numpydoc's, at 500
    return {"parallel_read_safe": True, "parallel_write_safe": True}
