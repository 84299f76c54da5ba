"""k(x, z) = Σₜ cₜ Πⱼ fₜⱼ(xⱼ, zⱼ): a formula taken apart into products of functions of single parts.

A part is a column, or a group of columns that count as one. One pass over the nodes gives each of
them as a sum of products: statistics that add up over the columns become a term per part, a
product over the columns becomes one term, and eᵘ of a sum of single parts becomes a product.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain

from mercer.formula import Formula, Input, simplify
from mercer.formula.inputs import Columns
from mercer.formula.nodes import KINDS, SETS, const, reduce_columns, rows_of, set_size

#: A product: its factors, each with the index of the part that it is a function of.
Product = tuple[tuple[int, Formula], ...]
#: A sum of products with their coefficients.
Terms = dict[Product, float]
#: Products at most: the polynomial of degree 2 in 60 columns has 1,891.
MOST_TERMS = 2_000
#: Statistics that are sums over the columns.
ADDITIVE = ("dot", "sqdist", "l1", "sqnorm", "sum", "mean")


class NotFactored(ValueError):
    """The kernel is no small sum of products over these parts."""


class Parts:
    """Which columns belong to which part, followed through the input maps of a formula.

    ``owner[j]`` is the part of column j; `labels` are the names of the columns of a frame.
    """

    def __init__(self, owner: Sequence[int], labels: Sequence[object] = ()) -> None:
        self.owner: list[int] = list(owner)
        self.labels: list[object] = list(labels)

    def split(self, rows: Input) -> dict[int, tuple[Input, int]]:
        """Per part that `rows` depend on: the rows with its columns alone, and their number."""
        owner, labels, framed = self.owner, self.labels, bool(self.labels)
        for step in rows.steps:
            if isinstance(step, Columns):
                index = [
                    labels.index(name) if name in labels else step.position(name, len(owner))
                    for name in step.names
                ]
                owner, labels = [owner[i] for i in index], [labels[i] for i in index if framed]
            elif step.by_column:
                labels, framed = [], False  # rows of numbers from here on
            elif len(set(owner)) > 1:
                raise NotFactored(f"{step} mixes columns")
        found = {}
        for part in sorted(set(owner)):
            index = [j for j, own in enumerate(owner) if own == part]
            names = tuple(labels[j] if framed else j for j in index)
            whole = len(index) == len(owner)
            chosen = rows if whole else rows.then(Columns(names))  # type: ignore[arg-type]
            found[part] = (chosen, len(index))
        return found


def factored(formula: Formula, parts: Parts) -> Terms:
    """The sum of products that a formula is; `NotFactored` says which part of it is none.

    >>> from mercer import Gaussian, Linear
    >>> from mercer.formula.nodes import ROOT
    >>> len(factored((Gaussian() + Linear()).lower(ROOT), Parts([0, 1, 2])))
    4
    """
    known: dict[int, Terms] = {}
    terms: Terms = {}
    for node in simplify(formula).walk(bodies=False):
        if node.op == "const":
            terms = {(): node.value}
        elif node.op in KINDS:
            terms = _statistic(node, parts)
        else:
            terms = _operation(node, [known[id(arg)] for arg in node.args])
        if len(terms) > MOST_TERMS:
            raise NotFactored(f"{node.op} has more than {MOST_TERMS:,} products of columns")
        known[id(node)] = terms
    return {product: c for product, c in terms.items() if c}


def _statistic(node: Formula, parts: Parts) -> Terms:
    owners = parts.split(rows_of(node))
    if len(owners) == 1:
        return {((next(iter(owners)), node),): 1.0}
    how = node.value[0] if node.op == "reduce" else node.op
    total = sum(columns for _, columns in owners.values())
    if how in ADDITIVE:
        share = 1.0 / total if how == "mean" else 1.0
        return {((part, _over(node, rows)),): share for part, (rows, _) in owners.items()}
    if how == "prod":
        return {tuple((part, _over(node, rows)) for part, (rows, _) in owners.items()): 1.0}
    if not set_size(how):
        raise NotFactored(f"{node.op} over several columns is neither their sum nor their product")
    return _over_sets(node, owners, set_size(how))


def _over_sets(node: Formula, owners: dict[int, tuple[Input, int]], size: int) -> Terms:
    """Sums over sets of columns, part after part: s of a set may be columns of the part."""
    sums: list[Terms] = [{(): 1.0}, *({} for _ in range(size))]
    for part, (rows, columns) in owners.items():
        hows = ["sum", *(f"{SETS}{s}" for s in range(2, min(size, columns) + 1))]
        own: list[Product] = [((part, _over(node, rows, how)),) for how in hows]
        for i in range(size, 0, -1):
            grown = [_times(sums[i - s], {one: 1.0}) for s, one in enumerate(own[:i], 1)]
            sums[i] = _sum([sums[i], *grown])
    return sums[size]


def _over(node: Formula, rows: Input, how: str = "") -> Formula:
    """The same statistic of other rows; a mean becomes the sum that it is a share of."""
    if node.op == "reduce":
        how = how or node.value[0].replace("mean", "sum")
        return reduce_columns(how, node.args[0], rows)
    value = rows if isinstance(node.value, Input) else (*node.value[:-1], rows)
    return Formula(node.op, node.args, value)


def _operation(node: Formula, args: list[Terms]) -> Terms:
    parts = {part for part, _ in chain.from_iterable(chain.from_iterable(args))}
    if len(parts) <= 1:  # whatever is done to functions of one part is a function of that part
        made = simplify(Formula(node.op, map(_formula, args), node.value))
        return {((parts.pop(), made),): 1.0} if parts else {(): made.value}
    rule = RULES.get(node.op)
    if rule is None:
        raise NotFactored(f"{node.op} of several columns does not become a product")
    return rule(node, args)


def _formula(terms: Terms) -> Formula:
    products = [
        Formula("mul", (const(c), *(f for _, f in product))) for product, c in terms.items()
    ]
    return simplify(Formula("add", (const(0.0), *products)))


def _sum(args: list[Terms]) -> Terms:
    total: Terms = {}
    for product, c in chain.from_iterable(terms.items() for terms in args):
        total[product] = total.get(product, 0.0) + c
    return total


def _times(left: Terms, right: Terms) -> Terms:
    """All products of one from each; factors of the same part become one factor."""
    total: Terms = {}
    for one, c in left.items():
        for other, e in right.items():
            merged = dict(one)
            for part, factor in other:
                merged[part] = simplify(merged[part] * factor) if part in merged else factor
            product = tuple(sorted(merged.items(), key=lambda pair: pair[0]))
            total[product] = total.get(product, 0.0) + c * e
        if len(total) > MOST_TERMS:
            raise NotFactored(f"a product has more than {MOST_TERMS:,} products of columns")
    return total


def _product(node: Formula, args: list[Terms]) -> Terms:
    made = args[0]
    for terms in args[1:]:
        made = _times(made, terms)
    return made


def _power(node: Formula, args: list[Terms]) -> Terms:
    if node.value < 1:
        raise NotFactored(f"the power {node.value} of several columns does not become a product")
    return _product(node, args * node.value)


def _exponential(node: Formula, args: list[Terms]) -> Terms:
    """e^(c + Σⱼ uⱼ) = eᶜ Πⱼ e^uⱼ."""
    sums: dict[int, Terms] = {}
    scale = 1.0
    for product, c in args[0].items():
        if len(product) > 1:
            raise NotFactored(f"{node.op} of a product of columns does not become a product")
        if product:
            sums.setdefault(product[0][0], {})[product] = c
        else:
            scale = simplify(Formula(node.op, (const(c),))).value
    made = ((part, simplify(Formula(node.op, (_formula(own),)))) for part, own in sums.items())
    return {tuple(sorted(made, key=lambda pair: pair[0])): scale}


#: What operations make of sums of products of several parts.
RULES: dict[str, Callable[[Formula, list[Terms]], Terms]] = {
    "add": lambda node, args: _sum(args),
    "mul": _product,
    "pow": _power,
    "exp": _exponential,
    "exp2": _exponential,
}
