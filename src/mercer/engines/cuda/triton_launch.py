"""Launching generated kernels: operands prepared once a side, tile shapes, the cache of modules."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import threading
from typing import Any

import torch

from mercer.engines.cuda.triton_source import ProductLayout, render, renderable
from mercer.formula.nodes import Input
from mercer.gram.cpu.generated import load_generated

#: Rows up to this wide hold their three partial products side by side.
PACKED_COLUMNS = 21
#: Rows this narrow do so in every precision: the three fit the smallest product there is.
NARROW_COLUMNS = 5
#: Vectors that one launch multiplies at a time.
MAX_VECTORS = 64
#: Operands are padded to a multiple of the tallest and widest tile.
PADDING = 256


def usable(gram: Any) -> bool:
    """Whether a generated kernel can serve: float32, Triton at hand, all operations known."""
    if gram.torch_dtype != torch.float32 or not renderable(gram.program):
        return False
    on_device = gram.device.type == "cuda" or os.environ.get("TRITON_INTERPRET") == "1"
    return on_device and importlib.util.find_spec("triton") is not None


def layout_of(gram: Any, rows: Input) -> ProductLayout:
    """How the operands of one product are stored, from their width and the precision."""
    columns = gram._x.matrices[rows].shape[1]
    scaled = _scale(gram, rows) != 1.0
    single = gram.precision == "fast" and columns > NARROW_COLUMNS
    if single or columns <= PACKED_COLUMNS:
        width = columns if single else 3 * columns
        step = max(16, 1 << (width - 1).bit_length()) if width <= 64 else 64
        return ProductLayout(-(-width // step) * step, 1, step, scaled)
    step = 64 if columns <= 64 else 32 if not gram.square else 64
    return ProductLayout(-(-columns // step) * step, 2, step, scaled)


def _scale(gram: Any, rows: Input) -> float:
    """A power of two that brings the entries into the middle of the half-precision range."""
    key = ("scale", rows)
    if key not in gram._z.cache:
        sides = (gram._x, gram._z)
        largest = max(float(s.centered(rows).abs().max()) for s in sides) or 1.0
        exponent = 0 if 0.25 <= largest <= 2048 else 10 - torch.frexp(torch.tensor(largest))[1]
        gram._z.cache[key] = 2.0 ** int(exponent)
    return float(gram._z.cache[key])


def prepare_products(
    gram: Any, side: Any, rows: Input, layout: ProductLayout, right: bool
) -> tuple[torch.Tensor, ...]:
    """The half-precision parts of one side's rows, padded with zeros."""
    key = ("parts", rows, layout, right)
    if key in side.cache:
        return side.cache[key]  # type: ignore[no-any-return]
    values = side.centered(rows) * _scale(gram, rows)
    high = values.half()
    if gram.precision == "fast" and values.shape[1] > NARROW_COLUMNS:
        blocks = [[high]]
    else:
        low = (values - high.float()).half()
        if layout.parts == 2:
            blocks = [[high], [low]]
        else:
            blocks = [[high, low, high] if right else [high, high, low]]
    parts = side.cache[key] = tuple(_padded(b, layout.width) for b in blocks)
    return parts


def _padded(blocks: list[torch.Tensor], width: int) -> torch.Tensor:
    """The blocks side by side, with zeros up to whole tiles."""
    n, device = len(blocks[0]), blocks[0].device
    result = torch.zeros(_whole(n), width, dtype=torch.float16, device=device)
    at = 0
    for block in blocks:
        result[:n, at : at + block.shape[1]] = block
        at += block.shape[1]
    return result


def _whole(n: int) -> int:
    return -(-n // PADDING) * PADDING


def _extended(vector: torch.Tensor) -> torch.Tensor:
    """Row values up to whole tiles; the last one is repeated, so that k stays finite there."""
    extra = _whole(len(vector)) - len(vector)
    return torch.cat([vector, vector[-1:].expand(extra, *vector.shape[1:])]).contiguous()


def _filled(V: torch.Tensor, width: int) -> torch.Tensor:
    """V with zeros up to whole tiles: padded columns of K count nothing."""
    extra = _whole(len(V)) - len(V)
    return torch.nn.functional.pad(V, (0, width - V.shape[1], 0, extra)).contiguous()


def describe(gram: Any) -> tuple[str, str]:
    """How G @ v runs, in words, and the source that was generated for it."""
    n, m = gram.shape
    if not usable(gram):
        return f"{n} × {m} on {gram.device}, block by block, by PyTorch's own functions", ""
    kind = "symmetric" if gram.square else "vector"
    layouts = _layouts(gram)
    height, width, options = tile_shape(kind, layouts)
    text, _ = render(gram.program, layouts, kind)
    ways = {1: "one product", 2: "three products of half-precision parts"}
    split = "".join(f", tile{i} from {ways[layouts[i].parts]}" for i in layouts)
    return (
        f"{n} × {m} on {gram.device}, precision {gram.precision!r}, tiles of {height} × {width} "
        f"that stay on chip, {options['num_warps']} warps{split}"
        + (", one triangle" if gram.square else ""),
        text,
    )


def _layouts(gram: Any) -> dict[int, ProductLayout]:
    sources = enumerate(gram.program.sources)
    return {i: layout_of(gram, s.rows) for i, s in sources if s.kind == "product"}


def launch(
    gram: Any, kind: str, x: Any, z: Any, V: torch.Tensor | None, diagonal: torch.Tensor | None
) -> torch.Tensor:
    """Run a kernel: "dense" gives the block; the others give its product with V."""
    if kind == "vectors":
        assert V is not None
        if V.shape[1] > MAX_VECTORS:
            parts = V.split(MAX_VECTORS, dim=1)
            return torch.cat([launch(gram, kind, x, z, p, diagonal) for p in parts], dim=1)
    sources = gram.program.sources
    layouts = _layouts(gram)
    text, numbers = render(gram.program, layouts, kind)
    kernel = load_generated(text).kernel
    operands: list[Any] = []
    for i, source in enumerate(sources):
        if source.kind == "product":
            left = prepare_products(gram, x, source.rows, layouts[i], False)
            right = prepare_products(gram, z, source.rows, layouts[i], True)
            operands += [left[0], right[0]]
            operands += [left[1], right[1]] if layouts[i].parts == 2 else []
            operands += [_scale(gram, source.rows) ** -2] if layouts[i].scaled else []
        else:
            columns = x.matrices[source.rows].shape[1]
            operands += [_transposed(x, source.rows), _transposed(z, source.rows), columns]
    operands += [_extended(v) for v in (*x.values, *z.values)]
    return _run(kernel, kind, operands, numbers, layouts, x.n, z.n, V, diagonal)


def _run(
    kernel: Any,
    kind: str,
    operands: list[Any],
    numbers: list[float],
    layouts: dict[int, ProductLayout],
    n: int,
    m: int,
    V: torch.Tensor | None,
    diagonal: torch.Tensor | None,
) -> torch.Tensor:
    device = next(o.device for o in operands if isinstance(o, torch.Tensor))
    height, width, options = tile_shape(kind, layouts)
    panels = -(-n // height)
    square = diagonal is not None
    targets: list[Any] = [
        torch.zeros(1, device=device) if diagonal is None else _extended(diagonal)
    ]
    vectors = 1 if V is None else V.shape[1]
    padded = max(16, 1 << (vectors - 1).bit_length())
    if V is None:
        length = max(width, 4096)
        out = torch.empty(n, m, dtype=torch.float32, device=device)
    elif kind == "symmetric":
        length = 16384
        out = torch.zeros(n, dtype=torch.float32, device=device)
        targets.append(_filled(V, 1))
    else:
        # Few panels: several blocks share a row panel, and their sums are added afterwards.
        pieces = max(1, min(-(-1056 // panels), -(-m // (4 * width))))
        length = -(-m // (pieces * width)) * width
        shape = (-(-m // length), n, *(() if kind == "vector" else (padded,)))
        out = torch.empty(shape, dtype=torch.float32, device=device)
        targets.append(_filled(V, 1 if kind == "vector" else padded))
    targets.append(out)
    grid = (panels, -(-m // length))
    if _AHEAD is not None:
        _AHEAD.join()
    with current(device):
        kernel[grid](
            *operands, *targets, n, m, _whole(n), _whole(m), length, *numbers,
            square, padded, height, width, **options,
        )  # fmt: skip
    if kind == "dense":
        return out
    if kind == "symmetric":
        return out[:, None]
    total = out.sum(0) if out.shape[0] > 1 else out[0]
    return total[:, None] if kind == "vector" else total[:, :vectors]


def _hash_ahead() -> threading.Thread | None:
    """Triton hashes its own files before it first looks into its cache, for a third of a second:
    that is begun here, while rows are still being prepared."""
    if not torch.cuda.is_available() or importlib.util.find_spec("triton") is None:
        return None

    def work() -> None:
        with contextlib.suppress(Exception):  # what it is called is Triton's own business
            from triton.runtime.cache import triton_key

            triton_key()

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    return thread


_AHEAD = _hash_ahead()


def current(device: torch.device) -> Any:
    """Launches go to the thread's current GPU: it must be the one that holds the data."""
    return torch.cuda.device(device) if device.type == "cuda" else contextlib.nullcontext()


def tile_shape(kind: str, layouts: dict[int, ProductLayout]) -> tuple[int, int, dict[str, int]]:
    """Rows, columns, warps and pipeline depth: the fastest of a few tried on one H200."""
    rows, columns, warps, stages = _TILES[_case(kind, list(layouts.values()))]
    return rows, columns, {"num_warps": warps, "num_stages": stages}


def _case(kind: str, layouts: list[ProductLayout]) -> str:
    """Which of the measured cases a kernel falls under."""
    if layouts and all(layout.kept and layout.parts == 1 for layout in layouts):
        return f"narrow {kind}" if kind in ("symmetric", "vector") else "other"
    if all(layout.kept for layout in layouts) or kind in ("vectors", "dense") or len(layouts) > 1:
        return "other"
    if layouts[0].parts == 1:
        return "one part"
    return "short steps" if layouts[0].step == 32 else "long steps"


#: Rows, columns, warps and pipeline stages of each case.
_TILES = {
    "narrow symmetric": (64, 64, 2, 3),
    "narrow vector": (64, 128, 4, 3),
    "one part": (128, 256, 8, 3),
    "short steps": (128, 256, 8, 4),
    "long steps": (128, 128, 8, 3),
    "other": (128, 64, 4, 3),
}


def _transposed(side: Any, rows: Input) -> torch.Tensor:
    key = ("transposed", rows)
    if key not in side.cache:
        side.cache[key] = _extended(side.matrices[rows]).T.contiguous()
    return side.cache[key]  # type: ignore[no-any-return]
