"""Thumbnails of the gallery: the picture itself, without axes and words, square."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from mercer.plot import Film

#: Pixels of a side, and inches; how much thicker lines and marks are than in the picture itself.
SIDE, INCHES, BOLD = 320, 4.0, 1.6
PAPER = "#fbfaf7"


def scraper(block: Any, block_vars: dict[str, Any], gallery_conf: dict[str, Any]) -> str:
    """Save the figures of a block, and of the first one of a script its square."""
    import matplotlib.pyplot as plt
    from sphinx_gallery.scrapers import matplotlib_scraper

    figures = [plt.figure(number) for number in plt.get_fignums()]
    said: str = matplotlib_scraper(block, block_vars, gallery_conf)
    target = _own(Path(block_vars["src_file"]), Path(block_vars["image_path_iterator"].image_path))
    film = block_vars["example_globals"].get("film")
    if figures and not target.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(film, Film):
            film.caption(len(film) - 1)
            square(film.figure, target)
        else:
            square(figures[0], target)
    return said


def _own(script: Path, template: Path) -> Path:
    return template.parent / "square" / f"{script.stem}.png"


def square(figure: Any, path: Path) -> None:
    """The largest axes of a figure alone, as a picture of SIDE × SIDE."""
    largest = max(figure.axes, key=lambda ax: ax.get_position().width * ax.get_position().height)
    for ax in figure.axes:
        ax.set_visible(ax is largest)
    if hasattr(largest, "get_zlim"):
        largest.set(xticks=[], yticks=[], zticks=[], xlabel="", ylabel="", zlabel="")
        largest.set_box_aspect(None, zoom=1.4)
    else:
        largest.set_axis_off()
    largest.set_title("")
    if largest.get_legend() is not None:
        largest.get_legend().set_visible(False)
    for text in [*largest.texts, *figure.texts]:
        text.set_visible(False)
    if figure._suptitle is not None:
        figure.suptitle("")
    for line in largest.lines:
        line.set_linewidth(BOLD * line.get_linewidth())
        line.set_markersize(BOLD * line.get_markersize())
    for one in largest.collections:
        if len(sizes := np.atleast_1d(getattr(one, "get_sizes", list)())):
            one.set_sizes(BOLD**2 * sizes)
    figure.set_facecolor(PAPER)
    largest.set_facecolor(PAPER)
    figure.set_layout_engine("none")
    figure.set_size_inches(INCHES, INCHES)
    largest.set_position((0.02, 0.02, 0.96, 0.96))
    figure.savefig(path, dpi=SIDE / INCHES, facecolor=PAPER)


def put(app: Any) -> None:
    """Replace the gallery's own thumbnails."""
    for made in Path(app.srcdir, "gallery").rglob("images/square/*.png"):
        thumb = made.parent.parent / "thumb" / f"sphx_glr_{made.stem}_thumb.png"
        if thumb.exists():
            thumb.write_bytes(made.read_bytes())


def setup(app: Any) -> dict[str, bool]:
    app.connect("builder-inited", put, priority=900)  # after the gallery was made
    return {"parallel_read_safe": True, "parallel_write_safe": True}
