"""The decision chart of the guide: from what an example is to the kernel to begin with."""

from __future__ import annotations

from typing import Any

#: What an example is → what is known of it → where to begin.
BRANCHES = {
    "a row of numbers": {
        "in one unit": 'Gaussian("scale")',
        "in different units": "a scaler, then Gaussian",
        "more columns than rows": "Linear()",
        "counts, histograms": "ChiSquared(…)",
        "zeros and ones": "Tanimoto()",
        "something repeats": "Periodic(period)",
    },
    "a text": {
        "words matter": "BagOfWords().normalized()",
        "spelling varies": "Spectrum(3).normalized()",
    },
    "letters, DNA": {
        "anywhere": "Spectrum(p), Mismatch(p, 1)",
        "at fixed positions": "WeightedDegree(p)",
    },
    "a graph": {"nodes have labels": "WeisfeilerLehman(3)"},
    "an image": {
        "many examples": 'Gaussian("scale")',
        "few, and they move": "TangentDistance(h, w)",
    },
    "several of these": {"either likeness is enough": "a sum, each part .on(…)"},
    "anything else": {"a function compares two": "Similarity(function)"},
}
COLORS = ("#cfe3f5", "#f3f3f3", "#d9efe3")


def kernels() -> Any:
    """The chart as a figure: three columns of boxes, and lines between them."""
    import matplotlib.pyplot as plt

    leaves = sum(map(len, BRANCHES.values()))
    figure, ax = plt.subplots(figsize=(9.5, 0.47 * leaves + 0.5), layout="constrained")
    ax.set(xlim=(0, 10), ylim=(leaves - 0.4, -1.1))
    ax.axis("off")
    for x, title in ((1.3, "an example is …"), (4.9, "and …"), (8.4, "begin with")):
        ax.text(x, -0.8, title, ha="center", va="center", weight="bold")
    row = 0
    for kind, cases in BRANCHES.items():
        middle = row + (len(cases) - 1) / 2
        _box(ax, 1.3, middle, kind, COLORS[0])
        for case, kernel in cases.items():
            ax.plot((2.4, 3.4), (middle, row), color="#777777", lw=1, zorder=0)
            ax.plot((6.0, 7.0), (row, row), color="#777777", lw=1, zorder=0)
            _box(ax, 4.9, row, case, COLORS[1])
            _box(ax, 8.4, row, kernel, COLORS[2], family="monospace")
            row += 1
    return figure


def _box(ax: Any, x: float, y: float, text: str, color: str, **words: Any) -> None:
    box = {"boxstyle": "round,pad=0.35", "facecolor": color, "edgecolor": "none"}
    ax.text(x, y, text, ha="center", va="center", fontsize=9, color="#111111", bbox=box, **words)
