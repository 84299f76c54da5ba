"""Write out what the catalog of kernels says: `python tools/catalog.py [--write]`.

Three texts follow from the catalog: the names for type checkers in `kernels/names.pyi`, the table
of kernels in `docs/onnx.md`, and that of widths in `docs/kernels.md`. Without `--write` a stale one
is reported and the exit status is 1; with it, rewritten. The lines between "catalog: begin" and
"catalog: end" are replaced.
"""

from __future__ import annotations

import contextlib
import inspect
import re
import sys
from pathlib import Path

import numpy as np

from mercer.kernels import Kernel, Width
from mercer.kernels.catalog import KERNELS, examples
from mercer.kernels.parameters import as_width

ROOT = Path(__file__).resolve().parent.parent
BLOCK = re.compile(
    r"(?P<head>^[^\n]*catalog: begin[^\n]*\n)(?P<body>.*?)(?P<tail>^[^\n]*catalog: end)",
    re.DOTALL | re.MULTILINE,
)
#: Cost of a pair for kernels that are no formula of columns.
COSTS = {
    "Similarity": "one call of the function",
    "Precomputed": "none",
    "ConditionalExpectation": "one product per hidden class",
    "Subsequence": "p · letters of x · letters of z",
    "LocalAlignment": "letters of x · letters of z",
    "WeightedDegree": "letters · p",
    "Spectrum": "letters of both",
    "Mismatch": "letters of both, times gapped grams",
    "BagOfWords": "words of both",
    "WeisfeilerLehman": "nodes and edges, times depth",
    "ShortestPath": "pairs of nodes, once per graph",
    "RandomWalk": "edges of x · edges of z · length",
    "RotationInvariant": "angles² base kernels",
    "Jittered": "motions² base kernels",
    "TangentDistance": "pixels · tangents",
}
#: Why kernels on these examples have no ONNX form.
NOT_VECTORS = {
    "strings": "a kernel on strings",
    "graphs": "a kernel on graphs",
    "images": "a kernel on images",
    "matrix": "a given matrix",
    "anything": "a black box",
}


def imports() -> str:
    """`from mercer.kernels.radial import Gaussian as Gaussian`, for every kernel of the package."""
    lines = sorted((c.__module__, c.__name__) for c in KERNELS.values())
    names = "".join(f'    "{name}",\n' for name in sorted(c.__name__ for c in KERNELS.values()))
    found = "".join(f"from {module} import {name} as {name}\n" for module, name in lines)
    return f"{found}\n__all__ = [\n{names}]\n"


def table() -> str:
    """One row of the table of kernels for each: exported or not, and why."""
    rows = ["| kernel | exported | |", "|---|---|---|"]
    for cls in sorted(KERNELS.values(), key=lambda c: (not exported(c), c.takes, c.__name__)):
        rows.append(f"| `{cls.__name__}` | {'yes' if exported(cls) else 'no'} | {_note(cls)} |")
    return "\n".join(rows) + "\n"


def exported(cls: type[Kernel]) -> bool:
    """A kernel on vectors is, unless it holds a model: then its examples are no expressions."""
    return cls.takes == "vectors" and all(isinstance(one, str) for one in cls.examples)


def _note(cls: type[Kernel]) -> str:
    if cls.takes in NOT_VECTORS:
        return NOT_VECTORS[cls.takes]
    if not exported(cls):
        return "holds a fitted model"
    first = examples(cls)[0]
    if first.takes_words:
        return "words or numbers; columns of words are inputs of their own"
    domain = first.claim().domain
    return f"{domain}, as in Python (not checked in ONNX)" if domain else ""


def widths() -> str:
    """One row per parameter that data may choose: what both words mean."""
    rows = ['| kernel | parameter | `"scale"` | `"median"` |', "|---|---|---|---|"]
    for cls in sorted(KERNELS.values(), key=lambda c: c.__name__):
        for name, check in cls.parameters.items():
            width = as_width(check)
            if isinstance(width, Width):
                meanings = f"{width.scale.text} | {width.median.text}"
                rows.append(f"| `{cls.__name__}` | `{name}` | {meanings} |")
    return "\n".join(rows) + "\n"


def overview() -> str:
    """One row per kernel, in Markdown: formula, examples, proof, parameters, where it runs."""
    titles = (
        "kernel",
        "formula",
        "on",
        "a kernel?",
        "parameters",
        '"scale"',
        "cost of a pair",
        "GPU",
        "ONNX",
    )
    rows = [f"| {' | '.join(titles)} |", "|---" * len(titles) + "|"]
    order = ("vectors", "strings", "graphs", "images")
    kinds = {kind: number for number, kind in enumerate(order)}
    for cls in sorted(KERNELS.values(), key=lambda c: (kinds.get(c.takes, 9), c.__name__)):
        one = examples(cls)[0]
        first = " ".join(re.split(r"\n\n|(?<=\.)\n", cls.__doc__ or "")[0].split())
        arguments = inspect.signature(cls).parameters.values()
        words = [
            f"`{a.name}`" if a.default is a.empty else f"`{a.name}={a.default!r}`"
            for a in arguments
        ]
        cells = (
            f"`{cls.__name__}`",
            first.replace("|", "\\|"),
            cls.takes,
            _verdict(one),
            ", ".join(words) or "–",
            _scale(cls),
            COSTS.get(cls.__name__) or _cost(cls),
            "no" if one.is_opaque else "yes",
            "yes" if exported(cls) else "no",
        )
        rows.append(f"| {' | '.join(cells)} |")
    return "\n".join(rows) + "\n"


def _scale(cls: type[Kernel]) -> str:
    """What the word "scale" is for each width."""
    found = {name: as_width(check) for name, check in cls.parameters.items()}
    said = [f"{name} = {w.scale.text}" for name, w in found.items() if isinstance(w, Width)]
    return "; ".join(said) or "–"


def _cost(cls: type[Kernel]) -> str:
    """Operations per pair of rows, as `explain` counts them for some numbers of columns D."""
    counts = {}
    for columns in (2, 12, 22):
        X = np.ones((4, columns)) + np.eye(4, columns)
        for one in examples(cls):
            with contextlib.suppress(ValueError):
                counts[columns] = one.explain(X).flops / 16
                break
    if len(counts) < 3:
        return "D² once per row, then 2 D"
    slope, start = (counts[22] - counts[2]) / 20, counts[2] - (counts[22] - counts[2]) / 10
    start = 0.0 if abs(start) < 0.5 else start
    return " + ".join([f"{slope:.0f} D"] * (slope > 0) + [f"{start:.0f}"] * (start > 0)) or "0"


def _verdict(kernel: Kernel) -> str:
    claim = kernel.claim()
    word = {True: "yes", False: "no", None: "depends"}[claim.holds]
    where = [claim.domain] if claim.domain else []
    if claim.max_dims is not None:
        where.append(f"up to {claim.max_dims} columns")
    return f"{word} ({', '.join(where)})" if where else word


TEXTS = {
    "src/mercer/kernels/names.pyi": imports,
    "docs/onnx.md": table,
    "docs/kernels.md": widths,
}


def stale(path: str) -> str | None:
    """The file with its block up to date, or None where it is."""
    old = (ROOT / path).read_text(encoding="utf-8")
    new = BLOCK.sub(lambda m: m["head"] + TEXTS[path]() + m["tail"], old)
    return None if new == old else new


def main(arguments: list[str]) -> int:
    bad = False
    for path in TEXTS:
        text = stale(path)
        if text is None:
            continue
        print(f"{path} is {'rewritten' if '--write' in arguments else 'stale'}")
        if "--write" in arguments:
            (ROOT / path).write_text(text, encoding="utf-8")
        else:
            bad = True
    return int(bad)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
