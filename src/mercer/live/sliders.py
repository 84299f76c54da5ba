"""The numbers of an expression as sliders of a figure."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from mercer.formula.written import lowered
from mercer.kernels.expressions.numbers import NumberInText, numbers_in

#: What sliders cover at first, in the units of the picture; they grow to hold the number typed.
WIDTHS, FACTORS, WHOLES, OTHERS = (0.02, 20.0), (0.01, 100.0), (1.0, 9.0), (-2.0, 2.0)
_SYMBOLS = {"sigma": "σ", "gamma": "γ", "eta": "η", "nu": "ν", "alpha": "α", "length": "ℓ",
            "rate": "r", "degree": "n", "offset": "c", "factor": "c", "value": "c",
            "period": "p", "width": "w"}  # fmt: skip


def sliders_of(text: str) -> list[dict[str, Any]]:
    """The numbers of an expression as sliders; those with the same symbol are counted: c₁, c₂."""
    found = [_slider(number) for number in numbers_in(text)]
    every = [slider["symbol"] for slider in found]
    for i, slider in enumerate(found):
        if every.count(every[i]) > 1:
            slider["symbol"] += lowered(every[: i + 1].count(every[i]))
    return found


def _slider(number: NumberInText) -> dict[str, Any]:
    """A number of an expression, with the ends of its slider."""
    positive = number.low >= 0 or number.value > 0
    if number.whole:
        low, high = max(number.low, WHOLES[0]), min(number.high, WHOLES[1])
    elif number.width:
        low, high = WIDTHS
    elif number.name == "factor" and positive:
        low, high = FACTORS
    else:
        low, high = (0.0, OTHERS[1]) if positive else OTHERS
    logarithmic = low > 0 and not number.whole
    ends = (min(low, number.value), max(high, number.value))
    return asdict(number) | {
        "low": ends[0],
        "high": ends[1],
        "log": logarithmic,
        "symbol": _SYMBOLS.get(number.name, number.name) if number.itself else "number",
    }
