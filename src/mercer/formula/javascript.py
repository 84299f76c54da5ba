"""A formula as JavaScript: k(x, z) with its parameters by name, for pages without a server.

The table says what each operation is there, as those of the other targets do; `source` writes the
function. What depends on parameters alone is computed once, before any pair.

>>> from mercer.formula.nodes import ROOT, const, param, sqdist
>>> print(source((sqdist(ROOT) * const(-0.5).over(param("sigma", 2.0) ** 2)).exp()).text)
(p) => {
const c0 = -0.5, c1 = p["sigma"], c2 = power(c1, 2), c3 = (c2 === 0 ? 0 : c0 / c2);
return (X, Z) => {
const {rows: x0, width: w0} = X[0], {rows: z0} = Z[0];
return (i, j) => {
let s0 = 0;
for (let t = 0; t < w0; t++) { const u = x0[i * w0 + t] - z0[j * w0 + t]; s0 += u * u; }
const v0 = s0 * c3, v1 = Math.exp(v0);
return v1;
};
};
}
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mercer._lazy import record
from mercer.formula.inputs import Categories, Columns, Matrix, NonNegative, Scale, Unit
from mercer.formula.nodes import Formula, Input, dependence, rows_of, set_size, statistics
from mercer.formula.ops import form_of, payload
from mercer.formula.precise import NotRenderable

#: How each operation is written; `power(u, n)` multiplies, as the engines do.
JAVASCRIPT: dict[str, Callable[..., str]] = {
    "add": lambda *a: " + ".join(a),
    "mul": lambda *a: " * ".join(a),
    "pow": lambda u, n: f"power({u}, {n})",
    "power": lambda u, v: f"({u} === 0 ? ({v} === 0 ? 1 : 0) : {u} ** {v})",
    "exp2": lambda u: f"2 ** {u}",
    "rsqrt": lambda u: f"({u} === 0 ? 0 : 1 / Math.sqrt({u}))",
    "div": lambda u, v: f"({v} === 0 ? 0 : {u} / {v})",
    "step": lambda u: f"({u} >= 0 ? 1 : 0)",
    "eq": lambda u, v: f"({u} === {v} ? 1 : 0)",
    **{
        name: lambda *a, f=name: f"Math.{f}({', '.join(a)})"
        for name in ("exp", "log", "sqrt", "tanh", "abs", "sin", "cos", "min", "max", "sign")
    },
    **{
        f"arc{f}": lambda u, f=f: f"Math.a{f}(Math.max(-1, Math.min(1, {u})))"
        for f in ("sin", "cos")
    },
}

#: Statistics as sums over the coordinates x and z: what they begin with, and a step.
_SUMS = {
    "dot": ("0", "{s} += {x} * {z};"),
    "sqdist": ("0", "const u = {x} - {z}; {s} += u * u;"),
    "l1": ("0", "{s} += Math.abs({x} - {z});"),
    "linf": ("0", "{s} = Math.max({s}, Math.abs({x} - {z}));"),
}
_REDUCE = {
    "sum": ("0", "{s} += {b};"),
    "mean": ("0", "{s} += {b} / w{k};"),
    "prod": ("1", "{s} *= {b};"),
    "max": ("-Infinity", "{s} = Math.max({s}, {b});"),
}


@record
class Source:
    """`text`: a function of the parameters that gives k; `inputs`: what its rows go through."""

    text: str
    inputs: tuple[list[list[Any]], ...]
    names: tuple[str, ...]


def source(formula: Formula) -> Source:
    """The JavaScript of a formula; `NotRenderable` where a Python function is part of it."""
    return _Writer(formula).written()


class _Writer:
    def __init__(self, formula: Formula) -> None:
        self.formula = formula
        self.sides = dependence(formula)
        self.inputs = list(dict.fromkeys(rows_of(node) for node in statistics(formula)))
        self.names: dict[int, str] = {}
        self.outside: list[str] = []  # constants
        self.sums: list[str] = []  # loops over coordinates
        self.inside: list[str] = []  # what is left for a pair

    def written(self) -> Source:
        for node in self.formula.walk():
            if self.sides[id(node)] == "" and node.op != "reduce":
                self.name(node, self.constant(node), "c", self.outside)
        for k, node in enumerate(statistics(self.formula)):
            self.names[id(node)] = self.statistic(node, f"s{k}")
        for node in self.formula.walk(bodies=False):
            if id(node) not in self.names:
                self.name(node, self.applied(node), "v", self.inside)
        heads = [
            f"{{rows: x{k}, width: w{k}}} = X[{k}], {{rows: z{k}}} = Z[{k}]"
            for k in range(len(self.inputs))
        ]
        lines = [
            "(p) => {", _const(self.outside), "return (X, Z) => {", _const(heads),
            "return (i, j) => {", *self.sums, _const(self.inside),
            f"return {self.names[id(self.formula)]};", "};", "};", "}",
        ]  # fmt: skip
        parameters = {n.value[0] for n in self.formula.walk() if n.op == "param"}
        text = "\n".join(line for line in lines if line)
        return Source(text, tuple(map(steps_of, self.inputs)), tuple(sorted(parameters)))

    def name(self, node: Formula, text: str, letter: str, lines: list[str]) -> None:
        self.names[id(node)] = f"{letter}{len(lines)}"
        lines.append(f"{self.names[id(node)]} = {text}")

    def constant(self, node: Formula) -> str:
        if node.op == "const":
            return repr(node.value).replace("inf", "Infinity").replace("nan", "NaN")
        return f'p["{node.value[0]}"]' if node.op == "param" else self.applied(node)

    def applied(self, node: Formula) -> str:
        form = form_of(node.op, "javascript", JAVASCRIPT)
        if form is None:
            raise NotRenderable(f"the operation {node.op!r} has no form in JavaScript")
        return str(form(*(self.names[id(a)] for a in node.args), *payload(node)))

    def statistic(self, node: Formula, s: str) -> str:
        """The loops that make a statistic `s`; gives the name of its value."""
        if node.op not in (*_SUMS, "sqnorm", "reduce"):
            raise NotRenderable(f"{node!r:.60} is computed by Python: no page can do without it")
        k = self.inputs.index(rows_of(node))
        x, z = f"x{k}[i * w{k} + t]", f"z{k}[j * w{k} + t]"
        if node.op == "reduce":
            return self.reduced(node, s, k, (x, z))
        if node.op == "sqnorm":
            x = z = x if node.value[0] == "x" else z
        first, step = _SUMS["dot" if node.op == "sqnorm" else node.op]
        self.loop(s, k, first, step.format(s=s, x=x, z=z))
        return s

    def reduced(self, node: Formula, s: str, k: int, at: tuple[str, str]) -> str:
        body: list[str] = []
        for part in node.args[0].walk():
            if self.sides[id(part)] != "" and part.op != "coord":
                self.name(part, self.applied(part), f"{s}b", body)
            elif part.op == "coord":
                self.names[id(part)] = "xt" if part.value == "x" else "zt"
        b = self.names[id(node.args[0])]
        size = set_size(node.value[0])
        head = f"const xt = {at[0]}, zt = {at[1]}; {_const(body)}"
        if size:  # the elementary symmetric polynomial, column by column
            step = f"for (let q = {size}; q > 0; q--) {s}[q] += {s}[q - 1] * {b};"
            self.loop(s, k, f"[1{', 0' * size}]", f"{head} {step}")
            return f"{s}[{size}]"
        first, step = _REDUCE[node.value[0]]
        self.loop(s, k, first, f"{head} {step.format(s=s, b=b, k=k)}")
        return s

    def loop(self, s: str, k: int, first: str, step: str) -> None:
        self.sums += [f"let {s} = {first};", f"for (let t = 0; t < w{k}; t++) {{ {step} }}"]


def _const(parts: list[str]) -> str:
    return f"const {', '.join(parts)};" if parts else ""


def steps_of(rows: Input) -> list[list[Any]]:
    """The steps that are applied to each row first, as lists that JSON can hold."""
    steps: list[list[Any]] = []
    for step in rows.steps:
        if isinstance(step, Columns) and all(isinstance(name, int) for name in step.names):
            steps.append(["columns", list(step.names)])
        elif isinstance(step, Scale):
            steps.append(["scale", step.lengths.array.tolist()])
        elif isinstance(step, Matrix):
            steps.append(["matrix", step.matrix.array.tolist()])
        elif isinstance(step, Unit):
            steps.append(["unit"])
        elif isinstance(step, NonNegative):
            steps.append(["nonnegative", step.kernel])
        elif not isinstance(step, Categories):  # numbers stay what they are
            raise NotRenderable(f"{step} acts by Python: no page can do without it")
    return steps
