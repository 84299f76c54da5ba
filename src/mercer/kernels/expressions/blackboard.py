"""Formulas as on a blackboard, exp(-|x-z|^2/2), as Python's own syntax: exp(-norm(x-z)**2/2).

Every character keeps its place, so that errors and sliders can point at what was typed.
"""

from __future__ import annotations

import ast
import re

from mercer.kernels.expressions.errors import span, syntax_span

#: A letter of the formula: x, z, or a coordinate of one of them.
LETTER = re.compile(r"([xz])(\d*)")
_TOKEN = re.compile(
    r"(?P<space>\s+)|(?P<text>'[^']*'|\"[^\"]*\")"
    r"|(?P<number>(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)"
    r"|(?P<name>(?![²³])[^\W\d](?:(?![²³])\w)*)|(?P<bar>\|\||\||‖)"
    r"|(?P<opening>[(√])|(?P<closing>[)\]²³∞])|\*\*|."
)
#: Tokens that begin a value, which multiplies the one before it, and tokens that end one.
_BEGIN, _END = ("text", "number", "name", "opening"), ("text", "number", "name", "closing")
_ORDER = re.compile(r"_(1|2|inf)\b|_(∞)|([₁₂])")
_SIGNS = {"^": "**", "·": "*", "×": "*", "−": "-", "²": "**2", "³": "**3", "√": "sqrt", "∞": "inf"}
_PLAIN = str.maketrans({"∞": "inf"} | {digit: str(i) for i, digit in enumerate("₀₁₂₃₄₅₆₇₈₉")})


class Typed:
    """A text as Python reads it: `python`, and `places`, where each of its characters was typed."""

    def __init__(self, text: str) -> None:
        self.text, self.python, self.places = text, "", list[int]()
        self.mathematics: bool = False
        #: Whether what was read last ends a value, and whether it names a function.
        self.ended: bool = False
        self.named: bool = False
        self.bars: list[str] = []  # norms that have begun
        at = 0
        while token := _TOKEN.match(text, at):
            at = self.bar(token) if token.lastgroup == "bar" else self.take(token)

    def take(self, token: re.Match[str]) -> int:
        """Write one token; gives the index of the next one."""
        kind, shown, at = token.lastgroup, token[0], token.start()
        if kind != "space":
            plain = shown.translate(_PLAIN) if kind == "name" else shown
            plain = re.sub(r"^([xz])_(?=\d)", r"\1", plain)
            letter = LETTER.fullmatch(plain) is not None
            self.mathematics |= letter or shown in _SIGNS
            if self.ended and kind in _BEGIN and not (shown == "(" and self.named):
                self.write("*", at)
            self.ended = kind in _END
            self.named = shown == "√" or (kind == "name" and not letter)
            shown = _SIGNS.get(shown, plain)
        self.write(shown, at)
        return token.end()

    def bar(self, token: re.Match[str]) -> int:
        """The begin or the end of a norm, with its order; of the bars in |x||z|, both at once."""
        shown, at, end = token[0], token.start(), token.end()
        self.mathematics, self.named = True, False
        if not (self.ended and self.bars and self.bars[-1] in shown):
            self.write("*norm(" if self.ended else "norm(", at)
            self.bars.append(shown)
            self.ended = False
        elif len(shown) > len(self.bars[-1]):
            self.write(")*norm(", at)
            self.ended = False
        else:
            self.bars.pop()
            order = _ORDER.match(self.text, end)
            which = order[order.lastindex or 0].translate(_PLAIN) if order else ""
            self.write(f", {which})" if order else ")", at)
            end = order.end() if order else end
        return end

    def write(self, python: str, at: int) -> None:
        self.python += python
        same = self.text.startswith(python, at)
        self.places += range(at, at + len(python)) if same else [at] * len(python)

    def tree(self) -> ast.expr:
        """The syntax tree; where the text is no formula of x and z, that of the text itself."""
        return ast.parse((self.python if self.mathematics else self.text).strip(), mode="eval").body

    def span(self, node: ast.AST) -> tuple[int, int]:
        """The characters of the text that a node of the tree was read from."""
        if not self.mathematics:
            return span(self.text, node)
        start, end = span(self.python, node)
        return self.place(start), self.place(end)

    def blamed(self, error: SyntaxError) -> tuple[int, int]:
        """The characters that Python's parser complains about."""
        if not self.mathematics:
            return syntax_span(self.text, error)
        start, end = map(self.place, syntax_span(self.python, error))
        return start, max(end, start + 1)

    def place(self, index: int) -> int:
        return self.places[index] if index < len(self.places) else len(self.text)
