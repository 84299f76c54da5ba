"""What generated kernels read: rows as half-precision parts, row values, padded to whole tiles.

A row x becomes a high part h and a low part l of eleven bits each, side by side or apart, and where
row values are folded into the product (see `folding`) it gains the columns that add them.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, Final

import torch

from mercer.engines.cuda.folding import Fold, folds_of
from mercer.engines.cuda.rows import current, extended, whole_tiles
from mercer.engines.cuda.triton_source import ProductLayout
from mercer.formula.nodes import Input

#: Rows up to this wide hold their three partial products side by side in one step of 64 columns.
PACKED_COLUMNS: Final = 64 // 3
#: Rows this narrow do so in every precision: the three fit the smallest product there is.
NARROW_COLUMNS: Final = 16 // 3
#: Columns that a loop without a product takes one by one from registers.
FEW_COLUMNS: Final = 8
#: Columns of K that one block of threads fills, or of one triangle that it multiplies, at most.
_LONGEST_SPAN, TRIANGLE_LENGTH = 4096, 16384
#: Blocks that keep every processor of an H200 busy, for K itself and for its products.
_FEW_BLOCKS, _BLOCKS = 264, 1056


def layouts_of(gram: Any) -> dict[int, ProductLayout]:
    """How the operands of each product are stored; found once, since each product asks."""
    key, sources = ("layouts", gram.square), enumerate(gram.program.sources)
    if key not in gram.shared:
        products = {i: s for i, s in sources if s.kind in ("product", "repaired")}
        sums = tuple(i for i, s in products.items() if s.kind == "product")
        folds = folds_of(gram.program.epilogue, sums)
        found = {i: layout_of(gram, s.rows, folds.get(i)) for i, s in products.items()}
        for i in set(found) - set(sums):
            norms, below = gram.near[products[i].rows]
            found[i] = replace(found[i], norms=norms, below=below)
        gram.shared[key] = found
    return gram.shared[key]  # type: ignore[no-any-return]


def layout_of(gram: Any, rows: Input, fold: Fold | None = None) -> ProductLayout:
    """How the operands of one product are stored, from their width and the precision."""
    columns = gram._x.matrices[rows].shape[1]
    exact = rows in gram.exact
    single = (exact or gram.precision == "fast") and columns > NARROW_COLUMNS
    parts = 1 if single or columns <= PACKED_COLUMNS else 2
    plain = columns if single or parts == 2 else 3 * columns
    whole = _padded_width(plain, parts, gram.square)
    # Whole numbers stay whole only if nothing else is multiplied into them.
    fold = None if single and exact else fold
    # Two columns per part; not where they would cost a step of their own over wide rows.
    wider = _padded_width(plain + (2 if parts == 2 else 4), parts, gram.square)
    apart = fold is not None and wider[0] > max(whole[0], 32)
    width, step = whole if fold is None or apart else wider
    scaled = scale_of(gram, rows, fold) != 1.0
    return ProductLayout(width, parts, step, scaled, not single, fold, apart)


def _padded_width(width: int, parts: int, square: bool) -> tuple[int, int]:
    """Columns with padding, and how many of them one step takes."""
    if parts == 1:
        step = max(16, 1 << (width - 1).bit_length()) if width <= 64 else 64
    else:
        step = 64 if 32 < width <= 64 or (square and width > 64) else 32
    return -(-width // step) * step, step


def scale_of(gram: Any, rows: Input, fold: Fold | None) -> float:
    """A power of two that brings the entries into the middle of the half-precision range."""
    if fold is not None and fold.exponent:
        return 1.0
    if rows in gram.exact and fold is None:
        return float(gram.exact[rows].scale)
    # The largest entry is at most the largest norm, and not below its share of the columns.
    norm = math.sqrt(max(gram.largest[rows])) or 1.0
    low = norm / math.sqrt(gram._x.matrices[rows].shape[1])
    exponent = 0 if low >= 0.25 and norm <= 1 << 15 else 14 - math.frexp(norm)[1]
    if fold is not None:
        # The row values are squares of what the entries are, and must stay in range, too.
        formulas = gram.program.row_x, gram.program.row_z
        wanted = [side[i] for side, i in zip(formulas, fold.rows, strict=True) if i is not None]
        top = max(gram.tops.get(f, norm**2) for f in wanted)
        exponent = min(exponent, (14 - math.frexp(abs(fold.multiple) * top)[1]) // 2)
    return 2.0**exponent


def prepare_products(
    gram: Any, x: Any, z: Any, rows: Input, layout: ProductLayout
) -> tuple[tuple[torch.Tensor, ...], tuple[torch.Tensor, ...]]:
    """The half-precision parts of both operands' rows, padded with zeros, and kept with them."""
    keys = [(side, ("parts", rows, layout, right)) for side, right in ((x, False), (z, True))]
    missing = [(side, key[-1]) for side, key in keys if key not in side.cache]
    if missing:
        from mercer.engines.cuda.split import split

        with current(gram.device):
            found = split(missing, rows, layout, scale_of(gram, rows, layout.fold))
        for (side, right), parts in zip(missing, found, strict=True):
            side.cache["parts", rows, layout, right] = parts
    left, right = (side.cache[key] for side, key in keys)
    return left, right


def dense_length(panels: int, m: int, width: int) -> int:
    """The columns of K that one block of threads fills: few where K has few panels of rows."""
    pieces = max(-(-m // _LONGEST_SPAN), min(-(-_FEW_BLOCKS // panels), -(-m // width)))
    return -(-m // (pieces * width)) * width


def product_length(panels: int, m: int, width: int) -> int:
    """The columns that one block multiplies: with few panels of rows several blocks share one."""
    pieces = max(1, min(-(-_BLOCKS // panels), -(-m // (4 * width))))
    return -(-m // (pieces * width)) * width


def output_of(
    kind: str, pairs: tuple[int, int], panels: int, width: int, V: Any, columns: int, device: Any
) -> tuple[torch.Tensor, torch.Tensor | None, int]:
    """The result, V (of many vectors up to whole tiles), and the columns that one block walks.

    `columns`: those of V with its padding; None for V stands for K itself.
    """
    n, m = pairs
    if V is None:
        out = torch.empty(n, m, dtype=torch.float32, device=device)
        return out, None, dense_length(panels, m, width)
    if kind == "symmetric":
        out = torch.zeros(n, dtype=torch.float32, device=device)
        return out, V.contiguous(), TRIANGLE_LENGTH
    # Blocks that share a panel have sums of their own, which are added afterwards.
    length = product_length(panels, m, width)
    shape = (-(-m // length), *((V.shape[1], n) if kind == "vector" else (n, columns)))
    out = torch.empty(shape, dtype=torch.float32, device=device)
    return out, V.T.contiguous() if kind == "vector" else filled(V, columns), length


def filled(V: torch.Tensor, width: int) -> torch.Tensor:
    """V with zeros up to whole tiles: padded columns of K count nothing."""
    extra = whole_tiles(len(V)) - len(V)
    return torch.nn.functional.pad(V, (0, width - V.shape[1], 0, extra)).contiguous()


def transposed(side: Any, rows: Input) -> torch.Tensor:
    key = ("transposed", rows)
    if key not in side.cache:
        side.cache[key] = extended(side.numbers(rows)).T.contiguous()
    return side.cache[key]  # type: ignore[no-any-return]
