"""Errors of the expression language that know which characters they are about."""

from __future__ import annotations

import ast


class GrammarError(ValueError):
    """What is wrong, from character `start` to before `end` of the text; `hint`: what was meant.

    >>> from mercer.kernels import parse
    >>> try:
    ...     parse("2*gausian(1)")
    ... except GrammarError as error:
    ...     error.start, error.end, error.hint
    (2, 9, 'gaussian')
    """

    def __init__(self, words: str, start: int = 0, end: int = 0, hint: str = "") -> None:
        super().__init__(words)
        self.start, self.end, self.hint = start, end, hint


class ExpressionError(GrammarError, TypeError):
    """A call in an expression that cannot be made, for the name or the type of an argument."""


def span(text: str, node: ast.AST) -> tuple[int, int]:
    """The characters of a node of ``ast.parse(text.strip())``, which counts UTF-8 bytes per line.

    >>> tree = ast.parse("σ + gamma", mode="eval").body
    >>> span(" σ + gamma", tree.right)
    (5, 10)
    """
    before = len(text) - len(text.lstrip())
    lines = text.strip().splitlines(keepends=True)

    def at(line: int, column: int) -> int:
        characters = lines[line - 1].encode()[:column].decode(errors="ignore")
        return before + sum(map(len, lines[: line - 1])) + len(characters)

    place: ast.expr = node  # type: ignore[assignment]
    start = at(place.lineno, place.col_offset)
    return start, at(place.end_lineno or place.lineno, place.end_col_offset or 0)


def syntax_span(text: str, error: SyntaxError) -> tuple[int, int]:
    """The characters that Python's parser complains about; one at least."""
    before = len(text) - len(text.lstrip())
    lines = text.strip().splitlines(keepends=True) or [""]
    line = min(max(error.lineno or 1, 1), len(lines))
    offset = error.offset or len(lines[line - 1]) + 1  # none: the text ends too early
    start = before + sum(map(len, lines[: line - 1])) + offset - 1
    length = (error.end_offset or 0) - offset
    return min(start, len(text)), min(start + max(length, 1), len(text) + 1)
