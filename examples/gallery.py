"""What the scripts of the gallery share: they yield (name, picture); this saves each as a PNG
file, and a film as a page with a slider.

python examples/gallery.py [folder]

draws all of them. A script of its own (`python examples/lecture_000_feature_spaces.py [folder]`)
draws those of one section. The lectures: "Kernels and Kernelized Perceptron" (Alan Ritter; 000),
"Lecture 09: Kernel Methods" (Jacob Abernethy; 001), "Perceptron and Kernels" (Geoff Gordon and
Alex Smola; 002), "Lecture 14: Kernel Methods" (Dan Klein; 003) and handwritten notes without a
name (004). What goes beyond them is in `beyond_*.py`.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

from mercer.plot import Film

#: What scripts draw themselves has the colors of the pictures: Okabe and Ito's.
plt.rcParams["axes.prop_cycle"] = plt.cycler(
    color=["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9"]
)


def panels(count: int, width: float = 3.6, height: float = 3.2, columns: int | None = None) -> Any:
    """Axes side by side, as an array."""
    columns = columns or count
    rows = -(-count // columns)
    size = (width * columns, height * rows)
    return plt.subplots(rows, columns, figsize=size, layout="constrained", squeeze=False)[1].ravel()


def save(pictures: Iterable[tuple[str, Any]], folder: str | Path | None = None) -> list[Path]:
    """Write each picture to folder/name.png, a film to name.html; `pictures` by default."""
    target = Path(folder or (sys.argv[1] if len(sys.argv) > 1 else "pictures"))
    target.mkdir(parents=True, exist_ok=True)
    written = []
    for name, picture in pictures:
        if isinstance(picture, Film):
            written.append(picture.save(target / f"{name}.html", dpi=80))
        else:
            ax = picture if hasattr(picture, "figure") else picture[0]
            written.append(target / f"{name}.png")
            ax.figure.savefig(written[-1], dpi=110)
            plt.close(ax.figure)
        print(written[-1])
    return written


if __name__ == "__main__":
    scripts = Path(__file__).parent.glob("*_*.py")
    for script in sorted(path for path in scripts if path.stem != "mixed_records"):
        save(importlib.import_module(script.stem).pictures())
