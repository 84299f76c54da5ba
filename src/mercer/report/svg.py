"""Figures as SVG inside the page: lines and letters take the color of the text around them."""

from __future__ import annotations

import base64
import io
import re
import zlib
from collections.abc import Callable
from typing import Any

import numpy as np

from mercer._escape.html import Markup, tag, text
from mercer._figures import color_of, styled
from mercer._machine.deadline import optional

#: A color no picture uses: where it stands, the page's own text color is put.
_INK = "#010203"
_INKED = (
    "text.color",
    "axes.edgecolor",
    "axes.labelcolor",
    "axes.titlecolor",
    *(f"{axis}tick.{part}" for axis in "xy" for part in ("color", "labelcolor")),
)


def figure(draw: Callable[[Any], Any], size: tuple[float, float], name: str) -> Markup:
    """What `draw(ax)` draws, as an SVG element; `name` is read aloud instead of the picture."""
    drawn = optional(_drawn, draw, size, name)
    return drawn or tag("p", f"The {name} is not drawn: the time was over.", class_="soft")


def _drawn(draw: Callable[[Any], Any], size: tuple[float, float], name: str) -> Markup:
    from matplotlib import rc_context
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    look: dict[Any, Any] = {"svg.hashsalt": name, "svg.fonttype": "path", "font.size": 10}
    with styled(), rc_context(look | dict.fromkeys(_INKED, _INK)):
        made = Figure(figsize=size, layout="constrained")
        FigureCanvasSVG(made)
        draw(made.add_subplot())
        return _svg(made, name)


#: Commands of LaTeX that matplotlib lacks, as ones that it has.
_COMMANDS = {
    r"\tfrac": r"\frac",
    r"\le ": r"\leq ",
    r"\ge ": r"\geq ",
    r"\mathbb{1}": r"\mathbf{1}",
}


def formula(latex: str) -> Markup | None:
    """Mathematics set by matplotlib; None where it does not know a command, or without time."""
    return optional(_set, latex)


def _set(latex: str) -> Markup | None:
    from matplotlib import rc_context
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    for missing, known in _COMMANDS.items():
        latex = latex.replace(missing, known)
    with rc_context({"text.color": _INK, "svg.hashsalt": "formula", "mathtext.fontset": "cm"}):
        made = Figure(figsize=(0.01, 0.01))
        FigureCanvasSVG(made)
        try:
            made.text(0, 0, f"${latex}$", fontsize=15)
            return _svg(made, latex, bbox_inches="tight", pad_inches=0.03)
        except ValueError:
            return None


def _svg(made: Any, name: str, **options: Any) -> Markup:
    stream = io.StringIO()
    made.savefig(stream, format="svg", transparent=True, metadata={"Date": None}, **options)
    code = stream.getvalue()
    code = code[code.index("<svg") :].replace(_INK, "currentColor")
    code = code.replace(color_of(0).lower(), "var(--accent)")  # lighter where the page is dark
    # Letters without a fill of their own are black: let them follow the page as well.
    code = re.sub(r"<metadata>.*?</metadata>", "", code, flags=re.DOTALL)
    # Names of parts are unique in a file, not in a page of several.
    mark = f"i{zlib.crc32(name.encode()):x}-"  # the same in every process, unlike `hash`
    code = re.sub(r'\bid="', f'id="{mark}', code)
    code = re.sub(r'(xlink:href="|url\()#', rf"\1#{mark}", code)
    code = code.replace(
        "<svg ", f'<svg role="img" aria-label="{text(name)}" fill="currentColor" ', 1
    )
    return Markup(code.strip())


def picture(pixels: np.ndarray, words: str) -> Markup:
    """Gray pixels as an image element, dark on light as ink on paper."""
    from matplotlib.image import imsave

    stream = io.BytesIO()
    imsave(stream, np.asarray(pixels, dtype=float), format="png", cmap="gray_r")
    data = base64.b64encode(stream.getvalue()).decode()
    return tag("img", src=f"data:image/png;base64,{data}", alt=words)
