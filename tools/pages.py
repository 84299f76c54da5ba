"""Run the ```{python} blocks of a Markdown page: `python tools/pages.py FILES`.

The blocks of a page share one namespace, so a later block may use what an earlier one made. The
site shows what a block prints, what it warns of and what it draws (`tools/sphinx_blocks.py`);
here and in the tests it is enough that every block runs. A line that begins with a colon is an
option of the block:

    :hide-code:     show the result alone
    :markdown:      what is printed is Markdown, and is shown as such
"""

from __future__ import annotations

import ast
import contextlib
import io
import re
import sys
import textwrap
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mercer.plot import Film

FENCE = re.compile(
    r"^(?P<fence>`{3,})\{python\}\n(?P<body>.*?)^(?P=fence)[ ]*$", re.DOTALL | re.MULTILINE
)
OPTION = re.compile(r"^:[\w-]+:.*$\n?", re.MULTILINE)


@dataclass
class Shown:
    """What a block leaves: text, pages of HTML (films) and figures."""

    text: str = ""
    html: list[str] = field(default_factory=list)
    figures: list[Any] = field(default_factory=list)


class Page:
    """The namespace of a page; `run` executes one block after another in it."""

    def __init__(self, name: str) -> None:
        import matplotlib

        matplotlib.use("Agg")
        import matplotlib.pyplot as plt

        plt.style.use("mercer.plot.mercer")  # what a program draws itself looks like the rest
        self.name, self.names, self.plt = name, {"__name__": "page"}, plt

    def run(self, code: str) -> Shown:
        """Execute a block. An error is raised, a warning is shown."""
        self.plt.close("all")
        tree, last, out = ast.parse(code, self.name), None, io.StringIO()
        if tree.body and isinstance(tree.body[-1], ast.Expr):
            last = ast.Expression(tree.body.pop().value)  # type: ignore[attr-defined]
        with contextlib.redirect_stdout(out), warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("default")
            exec(compile(tree, self.name, "exec", dont_inherit=True), self.names)  # noqa: S102
            value = eval(compile(last, self.name, "eval"), self.names) if last else None  # noqa: S307
        said = dict.fromkeys(_sentence(w) for w in caught if _for_readers(w))  # each one once
        html = []
        if isinstance(value, Film):
            html = [value._repr_html_()]
            self.plt.close(value.figure)
        figures = [self.plt.figure(number) for number in self.plt.get_fignums()]
        return Shown("".join([out.getvalue(), *said]), html, figures)


def _sentence(warning: Any) -> str:
    return textwrap.fill(f"{warning.category.__name__}: {warning.message}", 90) + "\n"


def _for_readers(warning: Any) -> bool:
    return not issubclass(warning.category, DeprecationWarning | PendingDeprecationWarning)


def blocks(text: str) -> Iterator[str]:
    """The code of every block of a page, without options."""
    for match in FENCE.finditer(text):
        head = OPTION.match(match["body"])
        body = match["body"]
        while head:
            body = body[head.end() :]
            head = OPTION.match(body)
        yield body


def run(path: Path) -> list[Shown]:
    """Run all blocks of a page; an error names its block."""
    page, shown = Page(str(path)), []
    for number, code in enumerate(blocks(path.read_text(encoding="utf-8")), 1):
        try:
            shown.append(page.run(code))
        except Exception as error:
            error.add_note(f"in block {number} of {path}:\n{code}")
            raise
    page.plt.close("all")
    return shown


def main(arguments: list[str]) -> int:
    for name in arguments:
        start = time.process_time()
        for number, one in enumerate(run(Path(name)), 1):
            print(f"--- {name}, block {number}: {len(one.figures)} figures")
            print(one.text, end="")
        print(f"=== {name}: {time.process_time() - start:.1f} s of CPU time")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
