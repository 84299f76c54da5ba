"""One script and one page out of plain modules, without a build step.

A page that is opened from a file may not import modules, so each module becomes a function that is
called once, and its imports become names that are taken apart from what those gave back.
"""

from __future__ import annotations

import json
import re
from functools import cache
from html import escape
from importlib import resources
from typing import Any

#: Where modules are looked for: those of this package, and the laboratory's, which draw.
FOLDERS = ("mercer.live", "mercer.lab")
_IMPORT = re.compile(r'^import (?:(\{[^}]*\})|\* as (\w+)) from "\./(\w+)\.js";$', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:function|class|const) ([\w$]+))", re.MULTILINE)
_COMMENT = re.compile(r"^ *//.*\n|^ +", re.MULTILINE)


def read(name: str) -> str:
    """The text of a file of the page."""
    for package in FOLDERS:
        file = resources.files(package).joinpath("static", name)
        if file.is_file():
            return file.read_text(encoding="utf-8")
    raise FileNotFoundError(name)


@cache
def script(first: str = "figures") -> str:
    """A module and all that it imports, as one script that needs no others.

    >>> script("mercer").startswith('"use strict";\\nconst mercer_js = (() => {')
    True
    """
    done: dict[str, str] = {}

    def add(name: str) -> None:
        text = read(f"{name}.js")
        for _, _, other in _IMPORT.findall(text):
            if other not in done:
                add(other)
        names = ", ".join(_EXPORT.findall(text))
        body = _EXPORT.sub(
            "",
            _IMPORT.sub(
                lambda m: f"const {(m[1] or m[2]).replace(' as ', ': ')} = {m[3]}_js;", text
            ),
        )
        done[name] = (
            f"const {name}_js = (() => {{\n{_COMMENT.sub('', body)}return {{{names}}};\n}})();\n"
        )

    add(first)
    return '"use strict";\n' + "".join(done.values())


def embedded(spec: dict[str, Any]) -> str:
    """A figure as HTML: its numbers as JSON, of which nothing can end the element early."""
    text = json.dumps(spec, separators=(",", ":")).replace("<", "\\u003c")
    return f'<div class="mercer-live"><script type="application/json">{text}</script></div>'


def page(spec: dict[str, Any], title: str) -> str:
    """One HTML file that shows a figure, moves by itself, and asks no one for anything."""
    style, code = read("live.css"), script().replace("</script", "<\\/script")
    own = "default-src 'none'; img-src data:; style-src 'unsafe-inline'; "
    own += "script-src 'unsafe-inline' 'unsafe-eval'"
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{own}">\n'
        f"<title>{escape(title)}</title>\n<style>{style}</style></head>\n"
        f'<body class="mercer-page"><main><h1>{escape(title)}</h1>{embedded(spec)}\n'
        "<noscript>This page is drawn by your browser: it needs JavaScript.</noscript>\n"
        "<footer>Made with Mercer. The numbers are computed in this page.</footer></main>\n"
        f"<script>{code}\nfigures_js.start();</script></body></html>\n"
    )
