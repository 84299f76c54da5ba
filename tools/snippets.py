"""Keep source quoted in Markdown equal to the source: `python tools/snippets.py [--write] FILES`.

A quotation is a fenced block under a comment that names a file, and a definition or an assignment
in it (dots reach into classes):

    <!-- source: src/mercer/kernels/vectors.py Gaussian.lower -->

Without `--write` every stale quotation is reported and the exit status is 1; with it, rewritten.
"""

from __future__ import annotations

import ast
import re
import sys
import textwrap
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
QUOTE = re.compile(
    r"(?P<head><!-- source: (?P<path>\S+) (?P<name>[\w.]+) -->\n```python\n)"
    r"(?P<body>.*?)(?P<tail>^```$)",
    re.DOTALL | re.MULTILINE,
)


def definition(path: Path, name: str) -> str:
    """Source text of a class, function or assignment, decorators included, dedented."""
    text = path.read_text(encoding="utf-8")
    body: list[ast.stmt] = ast.parse(text).body
    node: ast.stmt | None = None
    for part in name.split("."):
        node = next((child for child in body if part in _names(child)), None)
        if node is None:
            raise LookupError(f"{path.name} has no {name}")
        body = getattr(node, "body", [])
    assert node is not None
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    first = min([node.lineno, *(d.lineno for d in decorators)])
    lines = text.splitlines()[first - 1 : node.end_lineno]
    return textwrap.dedent("\n".join(lines)) + "\n"


def _names(node: ast.stmt) -> set[str]:
    """Names a statement binds."""
    if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
        return {node.name}
    targets: list[ast.expr] = []
    if isinstance(node, ast.Assign):
        targets = node.targets
    elif isinstance(node, ast.AnnAssign):
        targets = [node.target]
    return {target.id for target in targets if isinstance(target, ast.Name)}


def refreshed(markdown: str, root: Path = ROOT) -> tuple[str, list[str]]:
    """The text with every quotation up to date, and the names of those that were not."""
    stale: list[str] = []

    def replace(match: re.Match[str]) -> str:
        now = definition(root / match["path"], match["name"])
        if now != match["body"]:
            stale.append(f"{match['path']} {match['name']}")
        return match["head"] + now + match["tail"]

    return QUOTE.sub(replace, markdown), stale


def main(arguments: list[str]) -> int:
    write = "--write" in arguments
    bad = 0
    for name in (a for a in arguments if not a.startswith("--")):
        path = Path(name)
        text, stale = refreshed(path.read_text(encoding="utf-8"))
        if write:
            path.write_text(text, encoding="utf-8")
        for quote in stale:
            print(f"{name}: {quote} {'rewritten' if write else 'is stale'}")
        bad += len(stale)
    return int(bad > 0 and not write)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
