"""The text of a compiled loop, run as plain Python: it is tested in no time."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

from mercer._tiles import Scratch
from mercer.gram.cpu.compiled import Compiled, constants
from mercer.gram.cpu.numba_source import render
from mercer.gram.fill import Filler


def interpreted(gram: Any) -> np.ndarray:
    """K by the loop that would be compiled for it; with products, G @ I, where it has such a loop.

    >>> from mercer import Gaussian
    >>> interpreted(Gaussian().gram(np.array([[0.0], [1.0]]))).round(4)
    array([[1.    , 0.6065],
           [0.6065, 1.    ]])
    """
    compiled = _without_compiler(gram)
    n, m = gram.shape
    x, z = gram.operands()
    out = np.empty(gram.shape, dtype=gram.dtype)
    with np.errstate(all="ignore"):
        engine = Filler(gram.program, x, z, compiled)
        engine.fill(slice(0, n), slice(0, m), out, Scratch(0))
        if gram.program.fused:
            product = np.zeros_like(out)
            unit = np.eye(m, dtype=gram.dtype)
            engine.multiply(slice(0, n), unit, product)
            assert (product == out).all(), "the loops for tiles and for products differ"
    return out


def _without_compiler(gram: Any) -> Compiled:
    program, dtype = gram.program, gram.dtype
    direct = [s.rows for s in program.sources if s.kind == "direct"]
    widths = [gram.operands()[0].matrices[rows].shape[1] for rows in direct]
    source, numbers = render(program, dtype.name, widths)
    compiler = ("import numba", "from mercer._machine", "@inner", "@njit")
    plain = "\n".join(line for line in source.splitlines() if not line.startswith(compiler))
    integer = np.dtype(f"int{8 * dtype.itemsize}")
    space: dict[str, Any] = {
        "float_from_bits": lambda bits: bits.view(dtype),
        "bits_of_float": lambda value: value.view(integer),
    }
    exec(plain, space)  # noqa: S102 - the text is our own
    module: Any = SimpleNamespace(**space)
    return Compiled(module, constants(numbers, dtype), source)
