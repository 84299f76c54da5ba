"""Write out what the catalog of kernels says: `python tools/catalog.py [--write]`.

Three texts follow from the catalog: the names for type checkers in `kernels/names.pyi`, the table
of kernels in `docs/onnx.md`, and that of widths in `docs/kernels.md`. Without `--write` a stale one
is reported and the exit status is 1; with it, rewritten. The lines between "catalog: begin" and
"catalog: end" are replaced.
"""

from __future__ import annotations

import inspect
import re
import sys
from pathlib import Path

from mercer.kernels import KERNELS, Kernel, Width, examples
from mercer.kernels.parameters import as_width

ROOT = Path(__file__).resolve().parent.parent
BLOCK = re.compile(
    r"(?P<head>^[^\n]*catalog: begin[^\n]*\n)(?P<body>.*?)(?P<tail>^[^\n]*catalog: end)",
    re.DOTALL | re.MULTILINE,
)
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
    return "".join(f"from {module} import {name} as {name}\n" for module, name in lines)


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
    titles = ("kernel", "formula", "on", "a kernel?", "parameters", "GPU", "ONNX")
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
            "no" if one.is_opaque else "yes",
            "yes" if exported(cls) else "no",
        )
        rows.append(f"| {' | '.join(cells)} |")
    return "\n".join(rows) + "\n"


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
