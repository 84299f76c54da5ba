"""LaTeX as kernels write it, in the characters of a terminal: exp(−‖x − z‖² / 8)."""

from __future__ import annotations

import re

_RAISED = str.maketrans("0123456789-+n", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺ⁿ")
_LOWERED = str.maketrans("0123456789ijkn", "₀₁₂₃₄₅₆₇₈₉ᵢⱼₖₙ")
#: Commands that are one character.
SIGNS = {
    r"\left": "", r"\right": "", r"\,": " ", r"\;": " ", r"\!": "", r"\quad": "  ",
    r"\|": "‖", r"\cdot": "·", r"\times": "×", r"\langle": "⟨", r"\rangle": "⟩",
    r"\leq": "≤", r"\le": "≤", r"\geq": "≥", r"\ge": "≥", r"\infty": "∞", r"\sum": "Σ",
    r"\prod": "Π", r"\sqrt": "√", r"\pi": "π", r"\sigma": "σ", r"\gamma": "γ", r"\alpha": "α",
    r"\beta": "β", r"\eta": "η", r"\rho": "ρ", r"\Sigma": "Σ", r"\mid": "∣", r"\nabla": "∇",
    r"\#": "#", r"\lambda": "λ", r"\ell": "ℓ", r"\nu": "ν", r"\theta": "θ", r"\phi": "φ",
    r"\varphi": "φ", r"\Gamma": "Γ", r"\in": "∈", r"\dots": "…", r"\ldots": "…", r"\cdots": "…",
    r"\{": "{", r"\}": "}", r"\&": "&", r"\_": "_", r"\%": "%", r"\lvert": "|", r"\rvert": "|",
    r"\vert": "|", r"\bigl": "", r"\bigr": "", r"\Bigl": "", r"\Bigr": "", r"\neq": "≠",
    r"\circ": "∘", r"\cap": "∩", r"\cup": "∪", r"\top": "ᵀ", r"\to": "→", r"\mapsto": "↦",
    r"\kappa": "κ",
}  # fmt: skip


def in_characters(latex: str) -> str:
    r"""
    >>> in_characters(r"\exp\left(-\|x - z\|^2 / 8\right) \cdot \left(x \cdot z\right)^{3}")
    'exp(−‖x − z‖² / 8) · (x · z)³'
    """
    text = latex.replace(r"\'e", "é").replace(r"\acute{e}", "é")
    for _ in range(8):  # fractions inside fractions
        text, found = re.subn(r"\\[dt]?frac\{([^{}]*)\}\{([^{}]*)\}(?=(\^?))", _fraction, text)
        if not found:
            break
    fonts = "mathrm|text|operatorname|mathbf|mathit|mathbb|mathcal"
    text = re.sub(rf"\\(?:{fonts})\*?\{{([^{{}}]*)\}}", r"\1", text)
    for sign in sorted(SIGNS, key=len, reverse=True):
        end = r"(?![A-Za-z])" if sign[-1].isalpha() else ""
        text = re.sub(re.escape(sign) + end, SIGNS[sign].replace("\\", r"\\"), text)
    text = re.sub(r"\\([A-Za-z]+)", r"\1", text)  # exp, min, tanh …
    text = text.replace("-", "−")
    text = re.sub(r"\^\{([^{}]*)\}|\^(\w)", lambda m: _script(m, "^", _RAISED), text)
    text = re.sub(r"_\{([^{}]*)\}|_(\w)", lambda m: _script(m, "_", _LOWERED), text)
    text = re.sub(r"√\{([^{}]*)\}", r"√(\1)", text).replace("{", "").replace("}", "")
    return " ".join(text.split())


def _fraction(found: re.Match[str]) -> str:
    over, under = (part.strip() for part in found.groups()[:2])
    whole = f"{_bracketed(over)} / {_bracketed(under)}"
    return f"({whole})" if found[3] else whole


def _bracketed(part: str) -> str:
    return f"({part})" if re.search(r"[ +\-]", part) else part


def _script(found: re.Match[str], mark: str, letters: dict[int, int]) -> str:
    """A power or an index in small characters, where there are such."""
    inner = (found[1] if found[1] is not None else found[2]).replace("−", "-")
    small = inner.translate(letters)
    if inner and all(ord(c) in letters for c in inner):
        return small
    inner = inner.replace("-", "−")
    return f"{mark}{inner}" if len(inner) == 1 else f"{mark}({inner})"
