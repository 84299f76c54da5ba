"""A kernel for a page: its formula in JavaScript, and what its sliders move."""

from __future__ import annotations

import itertools
import math
from dataclasses import asdict
from typing import Any

from mercer.formula import simplify, statistics
from mercer.formula.javascript import Source, source
from mercer.formula.nodes import Formula, sqdist
from mercer.formula.profile import ordering
from mercer.formula.ranking import linear_part
from mercer.formula.written import lowered
from mercer.kernels.core import Kernel
from mercer.kernels.expressions.numbers import NumberInText, numbers_in
from mercer.kernels.grammar import parse

# --- The numbers of an expression as sliders of a figure ------------------------------------------


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


#: Formulas in a page, at most: one for each value of the whole numbers that shape them.
MOST_SOURCES = 100


def kernel_for_page(kernel: Kernel, text: str, sliders: list[dict[str, Any]]) -> dict[str, Any]:
    """Everything that a page needs to compute k while its numbers move.

    Parameters
    ----------
    kernel : Kernel
        On vectors, with a formula.
    text : str
        The expression that is shown.
    sliders : list of dict
        `path`, `value`, `low`, `high`, `whole`, `itself` (whether the number is the parameter), and
        `start` and `end` in the text.

    Returns
    -------
    dict
        Plain values: `text`, `numbers` (the sliders that can move), `parameters` by name, and
        `sources`, one for each choice of the whole numbers that shape the formula.

    Examples
    --------
    >>> from mercer import Gaussian
    >>> list(kernel_for_page(Gaussian(0.5), "gaussian(0.5)", [])["sources"])
    ['']
    """
    formula = kernel.formula()
    values = {n.value[0]: n.value[1] for n in formula.walk() if n.op == "param"}
    moving, shaping, count = [], [], 1
    for slider in sliders:
        shapes = slider["path"] not in values
        choices = math.floor(slider["high"]) - math.ceil(slider["low"]) + 1
        if shapes and (not slider["whole"] or count * choices > MOST_SOURCES):
            continue  # it stands still
        if shapes:
            count *= choices
            shaping.append(
                (slider["path"], range(math.ceil(slider["low"]), math.floor(slider["high"]) + 1))
            )
        given = values.get(slider["path"], slider["value"])
        law: list[float] | None = [-1.0 if given * slider["value"] < 0 else 1.0, 1.0]
        if not slider["itself"]:
            law = _law(text, slider)
        if law is not None:
            moving.append(slider | {"shapes": shapes, "law": law})
    sources = {}
    for chosen in itertools.product(*(choices for _, choices in shaping)):
        paths = dict(zip((path for path, _ in shaping), chosen, strict=True))
        variant = kernel.set_params(**paths) if paths else kernel
        sources[",".join(map(str, chosen))] = _described(variant.formula())
    return {"text": text, "numbers": moving, "parameters": values, "sources": sources}


def _law(text: str, slider: dict[str, Any]) -> list[float] | None:
    """(a, b) where the parameter is a·numberᵇ of the number in the text; None where it is not.

    The γ of a Gaussian is a number whose parameter is σ = (2γ)^(−1/2).
    """
    value, found = slider["value"], []
    for number in (value, 2.0 * value, 3.0 * value):
        changed = f"{text[: slider['start']]}{number!r}{text[slider['end'] :]}"
        found.append(float(parse(changed).get_params()[slider["path"]]))
    power = round(math.log2(found[1] / found[0]), 12)
    scale = found[0] / value**power
    return [scale, power] if math.isclose(found[2], scale * (3.0 * value) ** power) else None


def _described(formula: Formula) -> dict[str, Any]:
    dots = any(node.op == "dot" for node in statistics(formula))
    return _plain(source(formula)) | {"dots": dots, "rank": _rank(simplify(formula))}


def _rank(formula: Formula) -> dict[str, Any] | None:
    """The statistic by which neighbors are ranked, larger is nearer; None where it is k itself."""
    linear, slope = linear_part(formula)
    if linear is not None and slope > 0:
        return _plain(source(sqdist(linear.value))) | {"sign": -1.0, "linear": True}
    statistic, sign = ordering(formula)
    return None if statistic is formula else _plain(source(statistic)) | {"sign": sign}


def _plain(found: Source) -> dict[str, Any]:
    return {"text": found.text, "inputs": list(found.inputs)}
