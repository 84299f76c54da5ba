"""Derivatives: ∂f/∂p for a parameter p, or ∂f/∂s for a statistic s, as a formula again.

The record of an operation (`ops`) gives the derivative in each argument. A parameter of one number
is a node of its own. One that divides the columns by lengths is the name of a step before ‖x − z‖².
"""

from __future__ import annotations

from mercer.formula.inputs import Columns, Scale
from mercer.formula.nodes import SETS, Formula, Input, const, reduce_columns, set_size, sqdist
from mercer.formula.ops import OPS


def derive(formula: Formula, wrt: Formula) -> Formula:
    """∂formula/∂wrt, where `wrt` is a parameter or statistic node of it.

    >>> from mercer.formula.nodes import ROOT, param, sqdist
    >>> g = param("gamma", 2.0)
    >>> from mercer.formula import simplify
    >>> simplify(derive((-g * sqdist(ROOT)).exp(), g))
    (-1 * exp2((-2.88539 * sqdist)) * sqdist)
    """
    slope: dict[int, Formula | None] = {}
    for node in formula.walk(bodies=False):
        if node is wrt:
            slope[id(node)] = const(1.0)
        elif node.op == "reduce":
            slope[id(node)] = _reduction(node, wrt)
        else:
            slope[id(node)] = _chain(node, [slope[id(a)] for a in node.args])
    return slope[id(formula)] or const(0.0)


def parameters_of(formula: Formula) -> dict[str, Formula]:
    """The nodes of a formula that derivatives are taken in, by the names of parameters.

    >>> from mercer import Gaussian
    >>> from mercer.formula.nodes import ROOT
    >>> list(parameters_of((2.0 * Gaussian([1.0, 3.0])).lower(ROOT)))
    ['factor', 'kernel__sigma']
    """
    nodes = {}
    for node in formula.walk():
        if node.op == "param":
            nodes[node.value[0]] = node
        elif node.op == "sqdist" and lengths_of(node) is not None:
            nodes[node.value.steps[-1].name] = node
    return nodes


def lengths_of(node: Formula) -> Scale | None:
    """The lengths with a name that the columns of a ‖x − z‖² are divided by, or None."""
    last = node.value.steps[-1] if node.op == "sqdist" and node.value.steps else None
    return last if isinstance(last, Scale) and last.name else None


def derive_by_name(formula: Formula, name: str) -> Formula:
    """∂formula/∂p by the name of p; "sigma[2]" is the third of several lengths.

    A length ℓ of column j adds ((x − z)ⱼ/ℓ)² to ‖x − z‖², whose derivative in ℓ is −2/ℓ of that.
    """
    nodes = parameters_of(formula)
    path, _, index = name.removesuffix("]").partition("[")
    node = nodes.get(path)
    scale = None if node is None else lengths_of(node)
    if node is None or (scale is None) == bool(index):
        names = [
            n if lengths_of(node) is None else f"{n}[0], …" for n, node in sorted(nodes.items())
        ]
        raise ValueError(f"the kernel has no scalar parameter {name!r}; it has {names}")
    if scale is None:
        return derive(formula, node)
    j, lengths = int(index), scale.lengths.array
    if not 0 <= j < len(lengths):
        raise ValueError(f"{path} has {len(lengths)} lengths, and none of index {j}")
    one = sqdist(node.value.then(Columns((j,))))
    return derive(formula, node) * (const(-2.0 / lengths[j]) * one)


def names_of(formula: Formula) -> list[str]:
    """The names that `derive_by_name` takes, one per number."""
    names = []
    for name, node in parameters_of(formula).items():
        scale = lengths_of(node)
        count = 0 if scale is None else len(scale.lengths.array)
        names += [name] if scale is None else [f"{name}[{j}]" for j in range(count)]
    return names


def _chain(node: Formula, inner: list[Formula | None]) -> Formula | None:
    if all(part is None for part in inner):
        return None
    derivative = OPS[node.op].derivative
    if derivative is None:
        raise NotImplementedError(f"the operation {node.op!r} has no derivative in its record")
    outer = derivative(node)
    terms = [
        _times(o, i) for o, i in zip(outer, inner, strict=True) if i is not None and not _zero(o)
    ]
    if not terms:
        return None
    return terms[0] if len(terms) == 1 else Formula("add", terms)


def _times(outer: Formula, inner: Formula) -> Formula:
    if outer.op == "const" and outer.value == 1.0:
        return inner
    if inner.op == "const" and inner.value == 1.0:
        return outer
    return outer * inner


def _zero(node: Formula) -> bool:
    return node.op == "const" and node.value == 0.0


def _reduction(node: Formula, wrt: Formula) -> Formula | None:
    """A parameter inside a column-wise body: Σ differentiates inside, Π by log-derivative."""
    how, rows = node.value
    if not any(inner is wrt for inner in node.args[0].walk()):
        return None
    body = node.args[0]
    slope = derive(body, wrt)
    if how in ("sum", "mean"):
        return Formula("reduce", (slope,), node.value)
    if how == "prod":
        return node * Formula("reduce", (slope.over(body),), ("sum", rows))
    if set_size(how):
        return _over_sets(body, slope, set_size(how), rows)
    raise NotImplementedError("the maximum over columns has no derivative table entry")


#: Sets larger than this have derivatives whose terms cancel in double precision.
LARGEST_SET = 10


def _over_sets(body: Formula, slope: Formula, size: int, rows: Input) -> Formula:
    """Σⱼ gⱼ′ · (sets of the other columns) = Σₛ (−1)ˢ (sets of size − 1 − s) · Σⱼ gⱼˢ gⱼ′."""
    if size > LARGEST_SET:
        raise NotImplementedError(
            f"sets of {size} columns have no derivative here: beyond {LARGEST_SET} its terms cancel"
        )
    terms = []
    for s in range(size):
        less = size - 1 - s
        sets = reduce_columns(f"{SETS}{less}", body, rows) if less else const(1.0)
        powers = reduce_columns("sum", body**s * slope if s else slope, rows)
        terms.append(const((-1.0) ** s) * sets * powers)
    return terms[0] if size == 1 else Formula("add", terms)
