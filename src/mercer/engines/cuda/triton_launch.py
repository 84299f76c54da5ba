"""Launching generated kernels: tile shapes, the grid, the modules that were written."""

from __future__ import annotations

from typing import Any

import torch

from mercer.engines.cuda import hopper, near_pairs
from mercer.engines.cuda.operands import (
    FEW_COLUMNS,
    layouts_of,
    output_of,
    prepare_products,
    scale_of,
    transposed,
)
from mercer.engines.cuda.rows import (
    current,
    extended,
    has_triton,
    interpreted,
    runs_on,
    whole_tiles,
)
from mercer.engines.cuda.triton_source import ProductLayout, Rendered, render, renderable
from mercer.gram.cpu.compiled import load_generated

#: Vectors that one launch multiplies at a time.
MAX_VECTORS = 64
#: Parts times columns from which several vectors are multiplied by blocks of K; see `blocks_serve`.
WIDE_PRODUCT = 512


def usable(gram: Any) -> bool:
    """Whether a generated kernel can serve: float32, Triton at hand, all operations known."""
    if gram.torch_dtype != torch.float32 or not gram.generated:
        return False
    if not runs_on(gram.device):
        return False
    if "usable" not in gram.shared:
        gram.shared["usable"] = has_triton() and renderable(gram.program)
    return bool(gram.shared["usable"])


def describe(gram: Any) -> tuple[str, str]:
    """How G @ v runs, in words, and the source that was generated for it."""
    n, m = gram.shape
    if not usable(gram):
        return f"{n} × {m} on {gram.device}, block by block, by PyTorch's own functions", ""
    kind = "symmetric" if gram.square else "vector"
    layouts = layouts_of(gram)
    ways = {1: "one product", 2: "three products of half-precision parts"}
    split = "".join(f", tile{i} from {ways[layouts[i].parts]}" for i in layouts)
    if hopper.serves(gram, kind, layouts, gram.square or None):
        tiles, text = hopper.describe(gram, kind, layouts[0])
    else:
        height, width, options = tile_shape(kind, layouts)
        tiles = f"tiles of {height} × {width} that stay on chip, {options['num_warps']} warps"
        text = _written(gram, layouts, kind, True).text
    return (
        f"{n} × {m} on {gram.device}, precision {gram.precision!r}, {tiles}{split}"
        + (", one triangle" if gram.square else ""),
        text,
    )


def _written(
    gram: Any, layouts: dict[int, ProductLayout], kind: str, ptx: bool | None = None
) -> Rendered:
    """The source of one kind of use."""
    ptx = not interpreted() if ptx is None else ptx
    return render(gram.program, tuple(layouts.items()), kind, ptx, _few_columns(gram))


def _few_columns(gram: Any) -> tuple[tuple[int, int], ...]:
    """The statistics without a product that have few columns, and how many."""
    sources = enumerate(gram.program.sources)
    widths = {i: gram._x.matrices[s.rows].shape[1] for i, s in sources if s.kind == "direct"}
    return tuple((i, width) for i, width in widths.items() if width <= FEW_COLUMNS)


def launch(
    gram: Any, kind: str, x: Any, z: Any, V: torch.Tensor | None, diagonal: torch.Tensor | None
) -> torch.Tensor:
    """Run a kernel: "dense" gives the block; the others give its product with V."""
    if kind == "vectors":
        assert V is not None
        if V.shape[1] > MAX_VECTORS:
            parts = V.split(MAX_VECTORS, dim=1)
            return torch.cat([launch(gram, kind, x, z, p, diagonal) for p in parts], dim=1)
    layouts = layouts_of(gram)
    if few_vectors(gram, V, diagonal):
        kind = "vector"
    if hopper.serves(gram, kind, layouts, diagonal):
        result = hopper.launch(gram, kind, x, z, V, diagonal, layouts[0])
        if result is not None:
            return result
        kind = "vectors" if V is not None and V.shape[1] > 1 else kind
    written = _written(gram, layouts, kind)
    kernel = load_generated(written.text).kernel
    operands = _operands(gram, written, x, z)
    listed = near_pairs.listed(gram, (x.n, z.n)) if gram.near else None
    out = _run(kernel, kind, operands, written.numbers, layouts, (x.n, z.n), V, diagonal, listed)
    return near_pairs.mended(gram, kind, x, z, V, diagonal, out, listed)


def _operands(gram: Any, written: Rendered, x: Any, z: Any) -> list[Any]:
    """Arguments of both operands: rows for every statistic, then row values."""
    operands = [o for i in range(len(gram.program.sources)) for o in _sides(gram, i, x, z)]
    operands += [x.padded(i) for i in written.row_x]
    return operands + [z.padded(i) for i in written.row_z]


def _sides(gram: Any, i: int, x: Any, z: Any) -> list[Any]:
    """Arguments of both operands' rows for one statistic."""
    source = gram.program.sources[i]
    if source.kind == "direct":
        columns = x.matrices[source.rows].shape[1]
        return [transposed(x, source.rows), transposed(z, source.rows), columns]
    layout = layouts_of(gram)[i]
    left, right = prepare_products(gram, x, z, source.rows, layout)
    both = [part for pair in zip(left, right, strict=True) for part in pair]
    return both + ([scale_of(gram, source.rows, layout.fold) ** -2] if layout.scaled else [])


def few_vectors(gram: Any, V: torch.Tensor | None, diagonal: Any) -> bool:
    """Whether K V of several vectors is one run of the loop that Hopper has for one."""
    few = V is not None and 1 < V.shape[1] <= hopper.FEW_VECTORS
    return few and hopper.serves(gram, "vector", layouts_of(gram), diagonal)


def blocks_serve(gram: Any, V: torch.Tensor, diagonal: Any) -> bool:
    """Whether K V of several vectors is faster from blocks of K: wide rows, where K has a loop of
    its own for Hopper, and writing it costs little beside. PyTorch must not round products."""
    layouts = layouts_of(gram)
    return (
        V.shape[1] > 1
        and not few_vectors(gram, V, diagonal)
        and gram.torch_dtype == torch.float32
        and hopper.serves(gram, "dense", layouts, None)
        and layouts[0].width * layouts[0].parts >= WIDE_PRODUCT
        and torch.get_float32_matmul_precision() == "highest"
    )


def _run(
    kernel: Any,
    kind: str,
    operands: list[Any],
    numbers: list[float],
    layouts: dict[int, ProductLayout],
    pairs: tuple[int, int],
    V: torch.Tensor | None,
    diagonal: torch.Tensor | None,
    listed: near_pairs.Listed | None,
) -> torch.Tensor:
    n, m = pairs
    device = next(o.device for o in operands if isinstance(o, torch.Tensor))
    height, width, options = tile_shape(kind, layouts)
    panels = -(-n // height)
    square = diagonal is not None
    targets: list[Any] = [torch.zeros(1, device=device) if diagonal is None else extended(diagonal)]
    vectors = 1 if V is None else V.shape[1]
    padded = max(16, 1 << (vectors - 1).bit_length())
    options["num_warps"] = max(options["num_warps"], padded // 8)  # they share the sums
    out, filled, length = output_of(kind, pairs, panels, width, V, padded, device)
    targets += [out] if filled is None else [filled, out]
    grid = (panels, -(-m // length))
    with current(device):
        kernel[grid](
            *operands, *targets, n, m, whole_tiles(n), whole_tiles(m), length, *(listed or ()),
            *numbers, square, padded, height, width, **options,
        )  # fmt: skip
    if kind == "dense":
        return out
    if kind == "symmetric":
        return out[:, None]
    total = out.sum(0) if out.shape[0] > 1 else out[0]
    return total.T if kind == "vector" else total[:, :vectors]


def tile_shape(kind: str, layouts: dict[int, ProductLayout]) -> tuple[int, int, dict[str, int]]:
    """Rows, columns, warps and pipeline depth: the fastest of a few tried on one H200."""
    rows, columns, warps, stages = _TILES[_case(kind, list(layouts.values()))]
    return rows, columns, {"num_warps": warps, "num_stages": stages}


def _case(kind: str, layouts: list[ProductLayout]) -> str:
    """The measured case that a kernel falls under."""
    symmetric = kind == "symmetric"
    if not layouts:
        return "differences, symmetric" if symmetric else "differences"
    if all(layout.kept and layout.parts == 1 for layout in layouts):
        return _narrow_case(kind, max(layout.width for layout in layouts))
    if all(layout.kept for layout in layouts) or kind in ("vectors", "dense") or len(layouts) > 1:
        return "other"
    if layouts[0].norms:
        return "near pairs"
    if layouts[0].parts == 1:
        return "one part, symmetric" if symmetric else "one part"
    return "short steps" if layouts[0].step == 32 else "long steps"


def _narrow_case(kind: str, width: int) -> str:
    if kind == "symmetric":
        return "symmetric" if width > 32 else "narrow symmetric"
    return "narrow vector" if kind == "vector" else "other"


#: Rows, columns, warps and pipeline stages of each case.
_TILES = {
    "narrow symmetric": (128, 32, 1, 3),
    "symmetric": (128, 128, 4, 3),
    "narrow vector": (64, 128, 4, 4),
    "one part": (128, 256, 8, 3),
    # An eighth slower than the shape above, but compiled in a third of its nine seconds.
    "one part, symmetric": (128, 128, 8, 4),
    "short steps": (128, 256, 8, 4),
    "long steps": (128, 256, 8, 2),
    "differences": (64, 64, 4, 3),
    "differences, symmetric": (32, 64, 1, 3),
    "near pairs": (128, 128, 8, 2),
    "other": (128, 64, 4, 3),
}
