"""Polynomials as they are written by hand: √2 x₁x₂ + 3 x₂², with subscripts and powers."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from fractions import Fraction

_RAISED = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
_LOWERED = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")


#: Signs of a formula, and their LaTeX.
_SIGNS = str.maketrans(
    {"−": "-", "·": r" \cdot ", "‖": r"\|", "≈": r"\approx ", "≤": r"\le ", "Σ": r"\sum ",
     "…": r"\dots ", "ᵀ": r"^\top ", "ₙ": "_n", "ⁿ": "^n", "φ": r"\varphi ", "ψ": r"\psi ",
     "Φ": r"\Phi ", "λ": r"\lambda ", "σ": r"\sigma "}
)  # fmt: skip


def to_latex(text: str) -> str:
    r"""A formula of this kind in LaTeX.

    >>> print(to_latex("φ(x) = [1, √2 x₁x₂²]"))
    \varphi (x) = [1, \sqrt{2} \, x_{1}x_{2}^{2}]
    """
    for digits, mark in ((_RAISED, "^"), (_LOWERED, "_")):
        run = "".join(map(chr, digits.values())) + "⁻" * (mark == "^")
        plain = {up: low for low, up in digits.items()} | {ord("⁻"): "-"}
        for part in sorted(set(re.findall(f"[{run}]+", text)), key=len, reverse=True):
            text = text.replace(part, f"{mark}{{{part.translate(plain)}}}")
    text = re.sub(r"√(\d+)", r"\\sqrt{\1}", text)
    text = re.sub(r"(?<=[\d}]) (?=[x(φ√])", r" \\, ", text)
    return text.translate(_SIGNS).replace("exp(", r"\exp(").replace("  ", " ")


def raised(power: int) -> str:
    return str(power).translate(_RAISED)


def lowered(index: int) -> str:
    return str(index).translate(_LOWERED)


def variables(count: int) -> list[str]:
    """x₁, x₂, …; a single variable is x.

    >>> variables(2)
    ['x₁', 'x₂']
    """
    return ["x"] if count == 1 else ["x" + lowered(i + 1) for i in range(count)]


def number(value: float) -> str:
    """A number, exactly where it is a small fraction or the root of one, else with six digits.

    >>> [number(v) for v in (2.0, 0.5, 2**0.5, -(12**0.5), 0.123456789)]
    ['2', '1/2', '√2', '−2√3', '0.123457']
    """
    sign, size = ("−" if value < 0 else ""), abs(value)
    for power in (1, 2):
        near = Fraction(size**power).limit_denominator(1000)
        if near and math.isclose(float(near), size**power, rel_tol=1e-12):
            if power == 1:
                return sign + (f"{near.numerator:g}" if near.denominator == 1 else str(near))
            if near.numerator <= 10**6:
                return sign + _root(near)
    return sign + f"{size:.6g}"


def _root(square: Fraction) -> str:
    """√(a/b) as c√d/b, with no square left in d."""
    inside, outside, b = square.numerator * square.denominator, 1, square.denominator
    for factor in range(math.isqrt(inside), 1, -1):
        if inside % factor**2 == 0:
            inside, outside = inside // factor**2, factor
            break
    ratio = Fraction(outside, b)
    front = "" if ratio.numerator == 1 else str(ratio.numerator)
    return f"{front}√{inside}" + ("" if ratio.denominator == 1 else f"/{ratio.denominator}")


def monomial(powers: Sequence[int], names: Sequence[str]) -> str:
    """x₁²x₂; the empty product is an empty string."""
    pairs = zip(powers, names, strict=True)
    return "".join(n if p == 1 else n + raised(int(p)) for p, n in pairs if p)


def term(coefficient: float, product: str) -> str:
    """√2 x₁x₂, without a factor of one."""
    front = number(coefficient)
    if not product:
        return front
    return {"1": product, "−1": f"−{product}"}.get(front, f"{front} {product}")


def summed(terms: Iterable[str]) -> str:
    """Terms joined by their signs; 0 where there is none.

    >>> summed(["x₁", "−2 x₂"])
    'x₁ − 2 x₂'
    """
    text = " + ".join(terms)
    return text.replace("+ −", "− ") or "0"
