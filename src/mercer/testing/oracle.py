"""The reference: k in float64, pair by pair, and how close to it is close enough."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np

from mercer._arrays import is_sparse
from mercer._tiles import Scratch
from mercer.formula import Formula, evaluate
from mercer.formula.inputs import numeric
from mercer.formula.nodes import ROOT, Input, statistics
from mercer.gram.cpu.compiled import Compiled, constants
from mercer.gram.cpu.numba_source import render
from mercer.gram.fill import Filler
from mercer.gram.row_values import reduced
from mercer.kernels import Kernel

#: Largest error of k, relative to its largest value on the data.
TOLERANCE = {"float32": 1e-5, "float64": 1e-12}


def oracle(kernel: Kernel | Formula, X: Any, Z: Any = None) -> np.ndarray:
    """k(x, z) for all pairs in float64, from differences and products of whole rows.

    Parameters
    ----------
    kernel : Kernel or Formula
        A kernel that has a formula, or the formula itself.
    X, Z : arrays of shape (n, d) and (m, d)
        The rows of both operands; without Z those of X are both.

    Returns
    -------
    ndarray of shape (n, m)
        K, as plain as can be: slow, and what faster ways are compared with.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer import Polynomial
    >>> oracle(Polynomial(2), np.array([[1.0], [2.0]]))
    array([[ 1.,  4.],
           [ 4., 16.]])
    """
    formula = kernel.lower(ROOT) if isinstance(kernel, Kernel) else kernel
    sides = {"x": X, "z": X if Z is None else Z}
    known = {node: _statistic(node, sides) for node in statistics(formula)}
    with np.errstate(all="ignore"):
        value = np.asarray(evaluate(formula, known), dtype=float)
    return np.broadcast_to(value, (len(sides["x"]), len(sides["z"]))).copy()


def _statistic(node: Formula, sides: dict[str, Any]) -> Any:
    """One number for each pair of rows, by NumPy alone, in double precision."""

    def rows(side: str, inputs: Input) -> np.ndarray:
        values = sides[side]
        for step in inputs.steps:
            values = step(values.astype(np.float64) if _is_single(values) else values)
        values = numeric(values)
        values = values.toarray() if is_sparse(values) else values
        values = values.astype(np.float64)
        return values[:, None, :] if side == "x" else values[None, :, :]

    if node.op == "sqnorm":
        return np.square(rows(*node.value)).sum(-1)
    if node.op == "rowfn":
        side, function, inputs = node.value
        values = sides[side]
        for step in inputs.steps:
            values = step(values)
        column = np.asarray(function(values), dtype=float).reshape(-1, 1)
        return column if side == "x" else column.T
    if node.op == "reduce":
        how, inputs = node.value
        known = {n: rows(n.value, inputs) for n in node.args[0].walk() if n.op == "coord"}
        shape = np.broadcast_shapes(rows("x", inputs).shape, rows("z", inputs).shape)
        return reduced(how, np.broadcast_to(evaluate(node.args[0], known), shape), axis=-1)
    if node.op not in _PAIRS:
        raise TypeError(f"{node!r} is not a formula: an opaque kernel has no oracle")
    return _PAIRS[node.op](rows("x", node.value), rows("z", node.value))


_PAIRS: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "dot": lambda x, z: (x * z).sum(-1),
    "sqdist": lambda x, z: np.square(x - z).sum(-1),
    "l1": lambda x, z: np.abs(x - z).sum(-1),
    "linf": lambda x, z: np.abs(x - z).max(-1),
}


def _is_single(X: Any) -> bool:
    return getattr(X, "dtype", None) == np.float32


def close(
    value: Any, expected: Any, dtype: Any, what: str, tolerance: dict[str, float] = TOLERANCE
) -> None:
    """Within the tolerance of the dtype, relative to the largest entry."""
    value, expected = np.asarray(value), np.asarray(expected)
    assert value.shape == expected.shape, f"{what}: shape {value.shape}, not {expected.shape}"
    assert np.isfinite(value).all(), f"{what}: not finite"
    scale = max(float(np.abs(expected).max(initial=0.0)), float(np.finfo(np.float32).tiny))
    error = float(np.abs(value.astype(float) - expected).max(initial=0.0)) / scale
    limit = tolerance[np.dtype(dtype).name]
    assert error <= limit, f"{what}: off by {error:.1e} of the largest entry, more than {limit:g}"


def run(check: Callable[[Any], None], case: Any) -> None:
    """Run one check; whatever it raises says which one it was."""
    try:
        check(case)
    except Exception as error:
        name = check.__name__.removeprefix("_check_")
        error.add_note(f"broken promise: {name} of {case!r:.300}")
        raise


# --- The text of a compiled loop, run as plain Python: it is tested in no time --------------------


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
