"""Products on Hopper's tensor cores, by a loop that Triton's own words cannot express.

`kernel` holds the loop, written in Gluon (part of Triton 3.6), `values` writes what k is for a
tile of it. It serves wide rows, where the tensor cores are the bottleneck, on GPUs of
compute capability 9: H100, H200, GH200. Everywhere else, and where this Triton has no Gluon or
another one, the kernels of `triton_launch` run, which give the same numbers more slowly.
"""

from __future__ import annotations

import importlib.util
from functools import cache, lru_cache
from typing import Any

import torch

from mercer._notices import MachineWarning, warn
from mercer.engines.cuda import near_pairs
from mercer.engines.cuda.hopper.values import render_values
from mercer.engines.cuda.operands import output_of, prepare_products, scale_of
from mercer.engines.cuda.rows import extended, whole_tiles
from mercer.engines.cuda.triton_source import ProductLayout, Rendered
from mercer.gram.cpu.compiled import load_generated

#: Rows and columns of a tile, columns of a step, buffers and warps; measured on an H200. The key:
#: the kind of use, whether a panel's rows are kept, and their half-precision parts.
_HOPPER_TILES = {
    ("vector", True, 1): (128, 64, 64, 3, 4),
    ("vector", True, 2): (128, 128, 64, 2, 4),
    ("vector", False, 1): (128, 256, 64, 4, 8),
    ("vector", False, 2): (128, 256, 32, 4, 8),
    ("symmetric", True, 2): (128, 64, 64, 2, 4),
    ("symmetric", False, 1): (128, 128, 64, 5, 8),
    ("symmetric", False, 2): (128, 128, 32, 3, 4),
    ("dense", False, 1): (128, 256, 64, 4, 8),
    ("dense", False, 2): (128, 256, 32, 4, 8),
}
#: Vectors that one launch multiplies: their sums and weights are in registers.
FEW_VECTORS = 4
#: Parts times columns below which nothing is gained: the exponentials, or the sums over both rows
#: and columns, take longer than the products.
_NARROWEST = {"vector": 64, "symmetric": 128, "dense": 64}
#: Kernels, by all that Triton compiles, that have run, where what goes wrong later is not the
#: compiler's fault, and those that this Triton cannot compile: it could not at any other time.
_runs: dict[tuple[str, int, int, int, str], bool] = {}


def serves(gram: Any, kind: str, layouts: dict[int, ProductLayout], diagonal: Any) -> bool:
    """Whether the loop computes this kind of product: one wide product, on Hopper."""
    if gram.device.type != "cuda" or len(gram.program.sources) != 1 or not layouts:
        return False
    layout = layouts[0]
    use = kind, layout.kept, layout.parts
    if use not in _HOPPER_TILES or (kind == "vector" and diagonal is not None):
        return False
    if layout.width * layout.parts < _NARROWEST[kind]:
        return False
    if torch.cuda.get_device_capability(gram.device)[0] != 9:
        return False
    return _has_gluon() and _runs.get(_compiled(gram, kind, layout), True)


def _tiles(kind: str, layout: ProductLayout, vectors: int = 1) -> tuple[int, int, int, int, int]:
    """The tiles of a kind of product: where near pairs are looked for, or vectors are several,
    what is beside a tile takes the registers of half of it."""
    height, width, step, stages, warps = _HOPPER_TILES[kind, layout.kept, layout.parts]
    if layout.norms or vectors > 1:
        width, warps = min(width, 128), 8
    return height, width, step, stages, warps


@cache
def _has_gluon() -> bool:
    return importlib.util.find_spec("triton.experimental.gluon") is not None


def describe(gram: Any, kind: str, layout: ProductLayout) -> tuple[str, str]:
    """The tiles of a kind of product, in words, and what was generated for it."""
    height, width, _, stages, warps = _tiles(kind, layout)
    tiles = f"tiles of {height} × {width} that stay on chip, {stages} steps ahead, {warps} warps"
    return tiles, _written(gram, layout)[0].text


def launch(
    gram: Any, kind: str, x: Any, z: Any, V: torch.Tensor | None, diagonal: torch.Tensor | None,
    layout: ProductLayout,
) -> torch.Tensor | None:  # fmt: skip
    """K, or its product with one vector; None where this Triton cannot compile the loop."""
    key = _compiled(gram, kind, layout)
    try:
        result = _launch(gram, kind, x, z, V, diagonal, layout)
        _runs[key] = True
        return result
    except torch.OutOfMemoryError:
        raise
    except Exception as error:
        if key in _runs:
            raise
        _runs[key] = False
        warn(
            f"this Triton cannot compile a kernel for Hopper ({type(error).__name__}: "
            f"{str(error)[-200:]}): a slower one is used",
            MachineWarning,
        )
        return None


def _launch(
    gram: Any, kind: str, x: Any, z: Any, V: torch.Tensor | None, diagonal: torch.Tensor | None,
    layout: ProductLayout,
) -> torch.Tensor:  # fmt: skip
    from mercer.engines.cuda.hopper.kernel import kernel

    written, numbers, functions = _written(gram, layout)
    vectors = 1 if V is None else V.shape[1]
    height, width, step, stages, warps = _tiles(kind, layout, vectors)
    step = min(step, layout.width)
    left, right = prepare_products(gram, x, z, gram.program.sources[0].rows, layout)
    sides = [*_described(left, height, step), *_described(right, width, step)]
    panels = -(-x.n // height)
    out, weights, length = output_of(kind, (x.n, z.n), panels, width, V, 1, gram.device)
    weights = numbers if weights is None else weights
    grid = (panels, -(-z.n // length))
    own = numbers if diagonal is None else extended(diagonal)
    listed = near_pairs.listed(gram, (x.n, z.n)) if gram.near else None
    with torch.cuda.device(gram.device):
        kernel[grid](
            *sides, _values(x, written.row_x, numbers), _values(z, written.row_z, numbers),
            numbers, own, weights, out, x.n, z.n, whole_tiles(x.n), whole_tiles(z.n), length,
            *(listed or (numbers, numbers, 0)), *functions, kind, vectors, diagonal is not None,
            layout.kept, layout.parts, layout.width // step, stages, listed is not None,
            num_warps=warps,
        )  # fmt: skip
    if kind != "dense":
        out = out[:, None] if kind == "symmetric" else out.sum(0).T
    return near_pairs.mended(gram, kind, x, z, V, diagonal, out, listed)


def _compiled(gram: Any, kind: str, layout: ProductLayout) -> tuple[str, int, int, int, str]:
    """All that Triton compiles a kernel from."""
    return kind, layout.width, layout.parts, layout.step, _written(gram, layout)[0].text


def _written(gram: Any, layout: ProductLayout) -> tuple[Rendered, torch.Tensor, Any]:
    """k of a tile of products: its text, its numbers on the device, its functions."""
    key = "hopper"  # the formula has one product, and that one layout
    if key not in gram.shared:
        rows = gram.program.sources[0].rows
        scale = scale_of(gram, rows, layout.fold) ** -2 if layout.scaled else 1.0
        written = render_values(gram.program, layout, scale)
        numbers = _there(tuple(written.numbers), gram.device)
        module = load_generated(written.text)
        names = ("of_rows", "of_columns", "distances", "values", "is_near", "far")
        functions = tuple(getattr(module, name) for name in names)
        gram.shared[key] = written, numbers, functions
    return gram.shared[key]  # type: ignore[no-any-return]


@lru_cache(maxsize=256)
def _there(numbers: tuple[float, ...], device: torch.device) -> torch.Tensor:
    """Numbers on the device: the same ones are sent once."""
    return torch.tensor([*numbers, 0.0], dtype=torch.float32, device=device)


def _values(side: Any, wanted: list[int], otherwise: torch.Tensor) -> torch.Tensor:
    """The row values that k reads, one after the other."""
    if not wanted:
        return otherwise
    whole = [side.padded(i) for i in wanted]
    return whole[0] if len(whole) == 1 else torch.cat(whole)


def _described(parts: tuple[torch.Tensor, ...], rows: int, step: int) -> list[Any]:
    """The high and the low part of rows as the copy engine takes them, block by block."""
    from triton.experimental.gluon.nvidia.hopper import TensorDescriptor

    from mercer.engines.cuda.hopper.kernel import block_layout

    form, both = block_layout(rows, step), (parts[0], parts[-1])
    return [TensorDescriptor(p, list(p.shape), list(p.stride()), [rows, step], form) for p in both]
