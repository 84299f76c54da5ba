"""Sphinx's side of `pages.py`: a directive {python} that runs a block and shows what it leaves."""

from __future__ import annotations

import re
from typing import Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from pages import Page, Shown
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

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
    """{lab} panel=…&kernel=…: the command that opens the laboratory there, ready to be copied.

    The body says what to do. A link cannot: the laboratory answers only to pages that know the
    token of this start, and the port is another one each time.
    """

    has_content = True
    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        text = " ".join(self.content)
        command = f'mercer lab --state "{self.arguments[0]}"'
        line = nodes.literal_block(command, command, language="bash")
        said = self.parse_text_to_nodes(f"**Move it.** {text}")
        return [nodes.container("", *said, line, classes=["lab"])]


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
    app.connect("autodoc-process-docstring", plain, priority=400)  # before numpydoc's, at 500
    return {"parallel_read_safe": True, "parallel_write_safe": True}
