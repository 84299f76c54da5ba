"""`kernel.explain(X)`: what will be computed, how, and at what cost, before it is."""

from __future__ import annotations

from typing import Any

from mercer._config import show_bytes
from mercer._escape.terminal import printable
from mercer._lazy import record
from mercer.gram.base import Gram
from mercer.gram.dispatch import make_gram
from mercer.gram.form import Program
from mercer.gram.plan import Plan
from mercer.kernels.core import Kernel


@record
class Explanation:
    """Printable; its parts are attributes."""

    tree: str
    formula: str
    sources: tuple[str, ...]
    row_values: tuple[str, ...]
    epilogue: str
    plan: Plan | str
    flops: float
    bytes: float
    source: str
    #: How K V is computed where that needs no pairs.
    series: str = ""

    @printable
    def __str__(self) -> str:
        lines = ["kernel", *("  " + line for line in self.tree.splitlines())]
        lines += ["formula", f"  {self.formula}", *(["for each pair"] if self.sources else [])]
        lines += [f"  tile{i} = {s}" for i, s in enumerate(self.sources)]
        if self.row_values:
            lines += ["once for each row", *(f"  {v}" for v in self.row_values)]
        lines += ["epilogue", f"  {self.epilogue}"] if self.epilogue else []
        lines += ["plan", f"  {self.plan}", *([f"  K @ v: {self.series}"] if self.series else [])]
        lines.append(f"  {self.flops:.3g} flops, {show_bytes(self.bytes)} if all of K is kept")
        if self.source:
            lines += ["generated source", *("  " + s for s in self.source.splitlines())]
        return "\n".join(lines)

    __repr__ = __str__


def explain(kernel: Kernel, X: Any, Z: Any = None) -> Explanation:
    """The tree, the formula, its sources, the plan and the generated source of k on this data."""
    gram = make_gram(kernel, X, Z)
    n, m = gram.shape
    flops = gram.cost.flops
    gram = gram.sample()
    plan, text = gram.describe()
    program = getattr(gram, "program", None)  # an engine may compute k in another way
    rows: list[str] = []
    for side in "xz" if program is not None else "":
        values = getattr(program, f"row_{side}")
        rows += [f"row{side}{i} = {f!r}" for i, f in enumerate(values)]
    return Explanation(
        _tree(kernel),
        repr(gram.formula),
        () if program is None else _sources(gram, program),
        tuple(rows),
        "" if program is None else repr(program.epilogue),
        plan,
        flops,
        float(n * m * gram.dtype.itemsize),
        text,
        gram.series_in_words(),
    )


def _sources(gram: Gram, program: Program) -> tuple[str, ...]:
    """The matrices that the formula needs, and how each is made."""
    sources = []
    ways = gram.products_in_words()
    for source in program.sources:
        method = gram.methods.get(source.rows) if source.kind != "opaque" else None
        if method is not None and method.how == "direct" and source.kind == "product":
            method = None  # the product x·z; only the distance is computed from differences
        note = f"  ({'centered ' if method.center else ''}{method.reason})" if method else ""
        kind = _KINDS[source.kind]
        if source.kind in ("product", "repaired") and source.rows in ways:
            kind = kind.replace("matrix product", f"matrix product {ways[source.rows]}")
        sources.append(f"{source.node!r}: {kind}{note}")
    return tuple(sources)


_KINDS = {
    "product": "matrix product",
    "repaired": "matrix product, near pairs by direct differences",
    "direct": "direct differences",
    "opaque": "blocks of an opaque kernel",
}


def _tree(kernel: Kernel, indent: str = "") -> str:
    children = kernel.children()
    if not children:
        return f"{indent}{kernel!r}"
    numbers = {k: v for k, v in kernel.get_params(deep=False).items() if not isinstance(v, Kernel)}
    shown = ", ".join(f"{k}={v!r}" for k, v in numbers.items())
    lines = [f"{indent}{type(kernel).__name__}({shown})"]
    lines += [_tree(child, indent + "  ") for _, child in children]
    return "\n".join(lines)
