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
    r"|(?P<name>(?![²³])[^\W\d](?:(?![²³])\w)*)|(?P<bar>\|\||\||‖)|\*\*|."
)
_ORDER = re.compile(r"_(?:(1|2|inf)\b|(∞))|([₁₂])")
_SIGNS = {"^": "**", "·": "*", "×": "*", "−": "-", "²": "**2", "³": "**3", "√": "sqrt", "∞": "inf"}
_ORDERS = {"₁": "1", "₂": "2", "∞": "inf"}


class Typed:
    """A text as Python reads it: `python`, and `places`, where each of its characters was typed."""

    def __init__(self, text: str) -> None:
        self.text, self.python, self.places = text, "", list[int]()
        self.mathematics: bool = False
        #: Whether what was read last ends a value, so that another one is multiplied by it.
        self.ended = self.named = False
        self.bars: list[str] = list[str]()  # norms that have begun
        skip = 0
        for token in _TOKEN.finditer(text):
            if token.start() >= skip:
                skip = self.take(token, token[0])

    def take(self, token: re.Match[str], shown: str) -> int:
        """Write one token; gives the index of the next one."""
        kind, at = token.lastgroup or "", token.start()
        if kind == "bar":
            self.mathematics = True
            if self.ended and self.bars and self.bars[-1] in shown:
                return self.closed(token, len(self.bars[-1]))
            self.write("*norm(" if self.ended else "norm(", at)
            self.bars.append(shown)
        elif kind == "space":
            self.write(shown, at)
            return token.end()
        elif kind in ("number", "name", "text") or shown in "(√":
            if self.ended and not (shown == "(" and self.named):
                self.write("*", at)
            plain = re.sub("[₀-₉]", lambda digit: str("₀₁₂₃₄₅₆₇₈₉".index(digit[0])), shown)
            plain = re.sub(r"^([xz])_(?=\d)", r"\1", plain)
            self.mathematics |= shown == "√" or bool(LETTER.fullmatch(plain))
            self.write(_SIGNS.get(shown, plain), at)
        else:
            self.mathematics |= shown in _SIGNS
            self.write(_SIGNS.get(shown, shown), at)
        self.ended = kind in ("number", "name", "text") or shown in (")", "]", "²", "³", "∞")
        self.named = (kind == "name" and not LETTER.fullmatch(shown)) or shown == "√"
        return token.end()

    def closed(self, token: re.Match[str], length: int) -> int:
        """The end of a norm, and which norm it is; of the two bars in |x||z| it is the first."""
        self.bars.pop()
        if length < len(token[0]):
            self.write(")*norm(", token.start())
            self.bars.append("|")
            self.ended = False
            return token.end()
        order = _ORDER.match(self.text, token.end())
        which = "".join(filter(None, order.groups())) if order else ""
        self.write(f", {_ORDERS.get(which, which)})" if which else ")", token.start())
        self.named = False
        return order.end() if order else token.end()

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
