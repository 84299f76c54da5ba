#!/usr/bin/env python3
"""house.py [--check]: lines of code per package, and what is too long, too complex or too crowded.

A line of code is neither blank nor comment nor docstring. `--check` fails on a folder with more
than 25 Python files, a function of more than 60 lines of code or of a complexity above 15, and
where there are more lines than the ceilings below, which are only ever lowered: what is added has
to be taken away elsewhere.
Functions that are compiled for a GPU are left out: a kernel there is one function by nature.
"""

from __future__ import annotations

import ast
import io
import sys
import tokenize
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

SOURCE = Path(__file__).resolve().parent.parent / "src" / "mercer"
MOST_FILES = 25
MOST_LINES = 60
MOST_COMPLEX = 15
#: Lines of code at most: of all packages, and of the engine (what computes K and solves for it).
CEILING, ENGINE_CEILING = 55_479, 23_863
ENGINE = ("gram", "solvers", "engines", "maps", "_machine", "(the package itself)")
#: Tokens that make no line of code by themselves.
SILENT = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
    tokenize.ENCODING,
}
BRANCHES = (ast.If, ast.For, ast.While, ast.ExceptHandler, ast.IfExp, ast.comprehension, ast.Assert)
Function = ast.FunctionDef | ast.AsyncFunctionDef


def docstring_lines(tree: ast.AST) -> set[int]:
    """The lines of all docstrings."""
    lines: set[int] = set()
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if not isinstance(node, (ast.Module, ast.ClassDef, Function)) or not body:
            continue
        if ast.get_docstring(node, clean=False) is not None:
            first = body[0]
            lines |= set(range(first.lineno, (first.end_lineno or first.lineno) + 1))
    return lines


@cache
def code_lines(text: str) -> set[int]:
    """The numbers of the lines that hold code."""
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in SILENT:
            lines |= set(range(token.start[0], token.end[0] + 1))
    return lines - docstring_lines(ast.parse(text))


def complexity(function: Function) -> int:
    """One more than the number of places where it branches; functions inside it count apart."""
    total, waiting = 1, list(ast.iter_child_nodes(function))
    while waiting:
        node = waiting.pop()
        if isinstance(node, (Function, ast.Lambda)):
            continue
        total += isinstance(node, BRANCHES)
        if isinstance(node, ast.BoolOp):
            total += len(node.values) - 1
        if isinstance(node, ast.match_case):
            total += 1
        waiting += ast.iter_child_nodes(node)
    return total


def on_a_gpu(function: Function) -> bool:
    """Whether Triton compiles it."""
    return any("triton" in ast.unparse(decorator) for decorator in function.decorator_list)


def functions(path: Path) -> Iterator[tuple[Function, int]]:
    """Every function of a file, with its lines of code."""
    text = path.read_text(encoding="utf-8")
    code = code_lines(text)
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, Function) and not on_a_gpu(node):
            first, last = node.body[0].lineno, node.end_lineno or node.lineno
            yield node, len(code & set(range(first, last + 1)))


def package_of(path: Path) -> str:
    parts = path.relative_to(SOURCE).parts
    return parts[0] if len(parts) > 1 else "(the package itself)"


def problems() -> list[str]:
    """What breaks the rules, one sentence each."""
    found = []
    for folder in sorted({path.parent for path in SOURCE.rglob("*.py")}):
        files = len(list(folder.glob("*.py")))
        if files > MOST_FILES:
            found.append(f"{folder.relative_to(SOURCE)}/ has {files} files, more than {MOST_FILES}")
    for path in sorted(SOURCE.rglob("*.py")):
        for function, lines in functions(path):
            where = f"{path.relative_to(SOURCE)}:{function.lineno} {function.name}"
            if lines > MOST_LINES:
                found.append(f"{where} has {lines} lines of code, more than {MOST_LINES}")
            if complexity(function) > MOST_COMPLEX:
                found.append(f"{where} has complexity {complexity(function)}, > {MOST_COMPLEX}")
    return found


def lines_per_package() -> Counter[str]:
    """Lines of code of each package."""
    lines: Counter[str] = Counter()
    for path in sorted(SOURCE.rglob("*.py")):
        lines[package_of(path)] += len(code_lines(path.read_text(encoding="utf-8")))
    return lines


def main(arguments: list[str]) -> int:
    lines = lines_per_package()
    for package, count in sorted(lines.items(), key=lambda item: -item[1]):
        print(f"{count:6d}  {package}")
    print(f"{sum(lines.values()):6d}  lines of code (no blanks, comments, docstrings)")
    engine = sum(lines[package] for package in ENGINE)
    print(f"{engine:6d}  of them in {', '.join(ENGINE)}")
    found = problems()
    for what, count, most in (
        ("all", sum(lines.values()), CEILING),
        ("engine", engine, ENGINE_CEILING),
    ):
        if count > most:
            found.append(f"{count} lines of code ({what}), more than {most}: delete some")
    print("\n".join(found) if found else "no folder, function or branch beyond its limit")
    return 1 if found and "--check" in arguments else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
