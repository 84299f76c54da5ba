r"""Mathematics for the page: the LaTeX that kernels write, as MathML.

The reader knows what kernels use: letters, numbers, names such as \exp and \sum, fractions, roots,
powers, indices, and brackets that grow (``\left( … \right)``). Other commands are shown by name.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from xml.sax.saxutils import escape

from mercer._escape.mathematics import SIGNS

_TOKENS = re.compile(r"\\[A-Za-z]+|\\.|[0-9]+(?:\.[0-9]+)?(?:e[+-]?[0-9]+)?|\s+|.", re.DOTALL)
_LARGE = {"sum": "∑", "prod": "∏", "max": "max", "min": "min"}
_FONTS = {"mathrm", "text", "operatorname", "mathbf", "mathbb", "mathcal", "mathit"}
_SPACES = {",": "0.17em", ";": "0.28em", "quad": "1em", "!": "0"}
_BLANK = {"bigl", "bigr", "Bigl", "Bigr", "displaystyle"}
_BRACKETS = set("()[]|")
#: A bracket as large as its letters, close to what it holds.
_TIGHT = ' stretchy="false" lspace="0" rspace="0"'


def mathml(latex: str) -> str:
    r"""
    >>> mathml(r"\frac{1}{2} x^2")
    '<mrow><mfrac><mn>1</mn><mn>2</mn></mfrac><msup><mi>x</mi><mn>2</mn></msup></mrow>'
    """
    return _Reader(_TOKENS.findall(latex)).row(lambda token: False)


class _Reader:
    def __init__(self, tokens: list[str]) -> None:
        self.tokens, self.at = [t for t in tokens if not t.isspace()], 0

    def next(self) -> str:
        token = self.tokens[self.at] if self.at < len(self.tokens) else ""
        self.at += 1
        return token

    def peek(self) -> str:
        return self.tokens[self.at] if self.at < len(self.tokens) else ""

    def row(self, ends: Callable[[str], bool]) -> str:
        """Everything up to a token that ends it, which is taken."""
        parts = []
        while self.at < len(self.tokens):
            if ends(self.peek()):
                self.at += 1
                break
            parts.append(self.scripted())
        return parts[0] if len(parts) == 1 else f"<mrow>{''.join(parts)}</mrow>"

    def scripted(self) -> str:
        """An atom with its index and its power, in either order."""
        large = self.peek().removeprefix("\\") in _LARGE and self.peek().startswith("\\")
        base = self.atom()
        scripts: dict[str, str] = {}
        while self.peek() in ("_", "^"):
            mark = self.next()
            scripts[mark] = self.atom()
        if not scripts:
            return base
        below, above = ("munder", "mover") if large else ("msub", "msup")
        both = "munderover" if large else "msubsup"
        tag = both if len(scripts) == 2 else (below if "_" in scripts else above)
        return f"<{tag}>{base}{scripts.get('_', '')}{scripts.get('^', '')}</{tag}>"

    def atom(self) -> str:
        token = self.next()
        if token == "{":
            return self.row(lambda t: t == "}")
        if token.startswith("\\"):
            return self.command(token[1:])
        if token[:1].isdigit():
            return f"<mn>{token}</mn>"
        if token.isalpha():
            return f"<mi>{token}</mi>"
        shown = {"-": "−", "*": "∗", "'": "′"}.get(token, token)
        fixed = _TIGHT if token in _BRACKETS else ""
        return f"<mo{fixed}>{escape(shown)}</mo>"

    def command(self, name: str) -> str:
        if name in ("frac", "tfrac", "dfrac"):
            return f"<mfrac>{self.atom()}{self.atom()}</mfrac>"
        if name == "sqrt":
            return f"<msqrt>{self.atom()}</msqrt>"
        if name == "left":
            return self.fenced()
        if name in _FONTS:
            return self.upright()
        if name in _LARGE:
            return f'<mo movablelimits="false">{_LARGE[name]}</mo>'
        if name in _SPACES:
            return f'<mspace width="{_SPACES[name]}"></mspace>'
        sign = SIGNS.get(f"\\{name}", "").replace("ᵀ", "⊤")
        if sign.isalpha() or sign == "∞":
            return f"<mi>{sign}</mi>"
        if sign:
            return f"<mo{_TIGHT if sign in '‖⟨⟩' else ''}>{escape(sign)}</mo>"
        return "" if name in _BLANK else f'<mi mathvariant="normal">{escape(name)}</mi>'

    def fenced(self) -> str:
        opening = self.bracket()
        inside = self.row(lambda token: token == "\\right")
        return f"<mrow>{opening}{inside}{self.bracket()}</mrow>"

    def bracket(self) -> str:
        token = self.next().removeprefix("\\")
        shown = SIGNS.get(f"\\{token}", token)
        grown = '<mo stretchy="true" lspace="0" rspace="0">'
        return "" if shown == "." else f"{grown}{escape(shown)}</mo>"

    def upright(self) -> str:
        """The text in braces after a font, as it is."""
        if self.peek() != "{":
            return self.atom()
        self.next()
        depth, letters = 1, []
        while depth and self.at < len(self.tokens):
            token = self.next()
            depth += (token == "{") - (token == "}")
            letters.append(token if depth else "")
        return f'<mi mathvariant="normal">{escape("".join(letters).replace(chr(92), ""))}</mi>'
