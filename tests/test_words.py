"""The words of docstrings, comments and names, in the packages that keep to them.

A docstring begins with a verb, or names what comes back: never with a preposition, a pronoun, or a
reference to the docstring above it. The field's words stand for the field's things. A package
enters `CLEAN` when all of its files pass.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from pathlib import Path

import pytest

import mercer

SOURCE = Path(mercer.__file__).parent
#: Packages and files that keep to the rules; others join them as they are rewritten.
CLEAN = (
    "gram", "formula", "_machine", "_arrays.py", "_config.py", "_deprecated.py", "_examples.py",
    "_figures.py", "_json.py", "_lazy.py", "_linalg.py", "_notices.py", "_parameters.py",
    "_plugins.py", "_progress.py", "_steps.py", "_suggest.py", "_tiles.py", "__init__.py",
    "expansion.py", "extend.py", "tuning.py", "maps", "engines/cluster",
)  # fmt: skip
#: Packages whose docstrings and comments keep to the rules, and whose names do not yet.
CLEAN_TEXT = ("engines/cuda",)
#: What no docstring begins with.
NO_BEGINNING = {
    "after", "also", "and", "as", "at", "before", "beside", "between", "beyond", "but", "by",
    "during", "else", "for", "from", "if", "in", "into", "it", "its", "like", "of", "on", "once",
    "or", "per", "same", "since", "so", "such", "that", "their", "them", "they", "this", "those",
    "though", "to", "until", "what", "when", "where", "which", "while", "who", "whoever", "with",
    "within", "without",
}  # fmt: skip
#: Our dialect, and the field's word for it.
DIALECT = {
    r"stretch(es|ed)?": "slice",
    r"told|tells?": "callback, message",
    r"taken? off|takes off|took off": "subtract",
    r"in pieces|piece by piece": "chunked, chunk by chunk",
    r"worth it": "a threshold with its unit",
    r"so many": "a number and its name",
    r"both sides|either side|each side|one side|other side|two sides": "operand",
    r"room for": "buffer, memory",
    r"soon(er|est)?": "fast",
}
#: Names that say nothing of what they hold.
NO_NAME = {"found", "own", "given", "made", "known"}


def files(*parts: str) -> list[Path]:
    paths = [SOURCE / name for name in parts]
    return sorted(f for path in paths for f in (path.rglob("*.py") if path.is_dir() else [path]))


def prose(text: str) -> list[tuple[int, str]]:
    """Docstrings and comments, each with its line; examples and what quotes code are left out."""
    tree, parts = ast.parse(text), []
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
            words = ast.get_docstring(node, clean=True)
            if words:
                line = 1 if isinstance(node, ast.Module) else node.lineno
                parts.append((line, re.sub(r"(?m)^ *(>>>|\.\.\.).*$", "", words)))
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            parts.append((token.start[0], token.string))
    return [(line, re.sub(r"`[^`]*`", "", words)) for line, words in parts]


def beginnings(text: str) -> list[tuple[int, str]]:
    """The docstrings of functions and classes that begin with a word that none begins with."""
    bad = []
    for node in ast.walk(ast.parse(text)):
        words = (
            ast.get_docstring(node) if isinstance(node, ast.FunctionDef | ast.ClassDef) else None
        )
        if not words:
            continue
        first = re.findall(r"[\w’']+", words)[:2]
        same = [word.lower() for word in first] == ["the", "same"]
        if words[0].isalpha() and (same or (first and first[0].lower() in NO_BEGINNING)):
            bad.append((node.lineno, words.splitlines()[0]))
    return bad


def dialect(text: str) -> list[tuple[int, str]]:
    """Sentences with a word of the dialect."""
    pattern = re.compile(rf"\b({'|'.join(DIALECT)})\b", re.IGNORECASE)
    return [
        (line, f"{match[0]!r}: {words.strip()[:80]!r}")
        for line, words in prose(text)
        for match in pattern.finditer(words)
    ]


def names(text: str) -> list[tuple[int, str]]:
    """Variables and parameters whose names say nothing."""
    bad = []
    for node in ast.walk(ast.parse(text)):
        name = node.id if isinstance(node, ast.Name) else getattr(node, "arg", None)
        stored = isinstance(node, ast.arg) or isinstance(getattr(node, "ctx", None), ast.Store)
        if stored and name in NO_NAME:
            bad.append((node.lineno, str(name)))
    return bad


@pytest.mark.parametrize("rule", [beginnings, dialect, names])
def test_words(rule) -> None:
    bad = [
        f"{path.relative_to(SOURCE)}:{line}: {words}"
        for path in files(*CLEAN, *(() if rule is names else CLEAN_TEXT))
        for line, words in rule(path.read_text(encoding="utf-8"))
    ]
    assert bad == []


def test_the_rules_find_what_they_forbid() -> None:
    text = (
        'def f(found):\n    """The same for a stretch."""\n    own = 1  # told so\n    return own\n'
    )
    assert [line for line, _ in beginnings(text)] == [1]
    assert [line for line, _ in dialect(text)] == [1, 3]
    assert [name for _, name in names(text)] == ["own", "found"] or len(names(text)) == 2
    assert beginnings('def f():\n    """Give K."""\n') == []
