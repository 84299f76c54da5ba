"""The stored measurements of `make bench` as Markdown: `python tools/speed.py [--write]`.

The page docs/speed.md shows all of them; the README quotes three, between "speed: begin" and
"speed: end". Without `--write` a stale README is reported and the exit status is 1.
"""

from __future__ import annotations

import ast
import json
import re
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "bench" / "results"
BLOCK = re.compile(r"(<!-- speed: begin -->\n).*?(<!-- speed: end -->)", re.DOTALL)
#: Bench, beginning of the claim, and what its number means, in words: {ratio}, {ours}, {peer}.
HEADLINES = (
    (
        "svc_mnist10k",
        "SVC MNIST 10k fit",
        "**{ratio} times as fast as scikit-learn's `SVC`**: 10,000 handwritten digits in {ours} "
        "instead of {peer}, with the same error",
    ),
    (
        "smoothing_statsmodels",
        "weighted mean: predict 20000",
        "**{ratio} times as fast as statsmodels' `KernelReg`**: 20,000 predictions from 20,000 "
        "examples in {ours}, with the same numbers",
    ),
    (
        "memory_limit",
        "K @ V, N 200000",
        "**a product with a matrix of 160 GB takes {ours} of memory**: the matrix is never made",
    ),
)


def stored(name: str) -> dict[str, Any]:
    """What a bench found last; nothing where it was not run."""
    path = RESULTS / f"{name}.json"
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    return found


def names() -> list[str]:
    """Benches with stored rows, in the order of the alphabet."""
    return sorted(path.stem for path in RESULTS.glob("*.json") if path.stem != "scaling")


def quantity(value: float | None, unit: str) -> str:
    """Three digits, in a unit that fits."""
    if value is None:
        return "–"
    if unit == "s" and value < 1:
        return f"{value * 1e3:.3g} ms"
    number = f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"
    return f"{number} {unit}".strip()


def headlines() -> str:
    """The three numbers of the front page, each with the bench behind it."""
    lines = []
    for name, begins, sentence in HEADLINES:
        for row in stored(name).get("rows", []):
            if not row["claim"].startswith(begins) or row["ours"] is None:
                continue
            ratio = row["ratio"] or 0.0
            said = sentence.format(
                ratio=f"{ratio:,.0f}" if ratio >= 10 else f"{ratio:.1f}",
                ours=quantity(row["ours"], row["unit"]),
                peer=quantity(row["peer"], row["unit"]),
            )
            lines.append(f"- {said} (`bench/{name}.py`)\n")
    return "".join(lines)


def cards() -> str:
    """The same as cards of the front page: what is claimed as a title, and a way to the bench."""
    lines = ["::::{grid} 1 1 3 3", ":gutter: 3", ""]
    for line in headlines().splitlines():
        _, title, rest = line.split("**")
        body, name = rest.lstrip(": ").removesuffix(".py`)").split(" (`bench/")
        lines += [f":::{{grid-item-card}} {_upper(title)}", ":class-card: number", ""]
        lines += [f"{_upper(body)}.", ""]
        lines += [f"[`bench/{name}.py`](#bench-{name.replace('_', '-')})", ":::", ""]
    return "\n".join([*lines, "::::", ""])


def _upper(text: str) -> str:
    return text[:1].upper() + text[1:]


def table() -> str:
    """All claims in one table, in Markdown; the name of a bench leads to how it was measured."""
    titles = ("bench", "claim", "Mercer", "peer", "ratio", "asked for", "met")
    lines = [f"| {' | '.join(titles)} |", "|---" * len(titles) + "|"]
    for name in names():
        for number, row in enumerate(stored(name)["rows"]):
            ratio = "–" if row["ratio"] is None or row["peer"] is None else f"{row['ratio']:.3g}"
            cells = (
                f"[{name}](#bench-{name.replace('_', '-')})" if number == 0 else "",
                row["claim"].strip().replace("|", "\\|"),
                quantity(row["ours"], row["unit"]),
                quantity(row["peer"], row["unit"]),
                ratio,
                row["target"],
                {True: "yes", False: "**no**", None: "not measured"}[row["ok"]],
            )
            lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def details() -> str:
    """Per bench: what is compared, when and where it was measured, and how to repeat it."""
    parts = []
    for name in names():
        found = stored(name)
        text = ast.get_docstring(ast.parse((ROOT / "bench" / f"{name}.py").read_text("utf-8")))
        notes = [f"- {r['claim'].strip()}: {r['note']}" for r in found["rows"] if r["note"]]
        said = "\n".join([*notes, ""]) if notes else ""
        parts.append(
            f"(bench-{name.replace('_', '-')})=\n### {name}\n\n{_escaped(text or '')}\n\n"
            f"{where(found)} It took {found['seconds']} s. Repeat it: "
            f'`make bench BENCH="{name}"`.\n\n{_escaped(said)}'
        )
    return "\n".join(parts)


def curves() -> list[Any]:
    """Time, and memory, against the number of rows, a learner next to its peer, as two figures."""
    import matplotlib.pyplot as plt
    from matplotlib.ticker import LogLocator

    found, figures = stored("scaling").get("curves", {}), []
    for part, unit in enumerate(("seconds", "MB")) if found else ():
        figure, axes = plt.subplots(-(-len(found) // 4), 4, figsize=(11, 5), layout="constrained")
        for ax, (name, sides) in zip(axes.flat, found.items(), strict=False):
            for side, label in zip(sides, ("Mercer", "peer"), strict=True):
                if side:
                    values = [v[part] / (1e6 if part else 1.0) for v in side.values()]
                    ax.loglog([int(n) for n in side], values, "o-", label=label)
            ax.set_title(name)
            ax.grid(alpha=0.3)
            tens = [int(n) for n in sides[0] if n.strip("0") == "1"]
            ax.set_xticks(tens, [f"{n:,}" for n in tens], fontsize="small")
            ax.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
            ax.yaxis.set_major_formatter("{x:g}")
            ax.minorticks_off()
        for ax in axes[:, 0]:
            ax.set_ylabel(unit)
        for ax in axes[-1]:
            ax.set_xlabel("rows")
        axes.flat[0].legend()
        figures.append(figure)
    return figures


def where(found: dict[str, Any]) -> str:
    """When it was measured, on what, how busy that was, and with which versions."""
    if not found:
        return "Not measured yet."
    versions = ", ".join(f"{package} {number}" for package, number in found["versions"].items())
    busy = (
        f", **while other work took {100 * found['busy']:.0f} % of it**, so the times are too long "
        "and only ratios count"
        if found["busy"] > 0.25
        else ""
    )
    return f"Measured on {found['date']} ({found['machine']}; {versions}){busy}."


def _escaped(text: str) -> str:
    """Text whose signs Markdown would read as markup, except in code."""
    parts = re.split(r"(`[^`]*`)", text)
    parts[::2] = [re.sub(r"([*_<$|~])", r"\\\1", part) for part in parts[::2]]
    return "".join(parts)


def stale() -> str | None:
    """The README with its numbers up to date, or None where it is."""
    old = (ROOT / "README.md").read_text(encoding="utf-8")
    new = BLOCK.sub(lambda m: m[1] + headlines() + m[2], old)
    return None if new == old else new


def main(arguments: list[str]) -> int:
    text = stale()
    if text is None:
        return 0
    print(f"README.md is {'rewritten' if '--write' in arguments else 'stale'}")
    if "--write" not in arguments:
        return 1
    (ROOT / "README.md").write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
