"""Formulas and input maps in PyTorch: what a device needs before any kernel is generated."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce, singledispatch
from typing import Any

import numpy as np
import torch

from mercer.formula.evaluate import evaluate
from mercer.formula.inputs import Columns, Matrix, NonNegative, Scale, Step, Unit
from mercer.formula.nodes import Formula, Input, dependence, set_size
from mercer.formula.ops import form_of, integer_power, product, total
from mercer.gram.row_values import over_sets


def _like(u: Any, *others: Any) -> torch.Tensor:
    """Plain numbers become tensors of the dtype and device of the other arguments."""
    if isinstance(u, torch.Tensor):
        return u
    model = next((o for o in others if isinstance(o, torch.Tensor)), None)
    if model is None:
        return torch.tensor(float(u), dtype=torch.float64)
    return torch.as_tensor(float(u), dtype=model.dtype, device=model.device)


def _unary(function: Callable[[torch.Tensor], torch.Tensor]) -> Callable[[Any], Any]:
    return lambda u: function(_like(u))


def _quotient(u: Any, v: Any) -> torch.Tensor:
    u, v = _like(u, v), _like(v, u)
    zero = v == 0
    return torch.where(zero, torch.zeros_like(v), u / torch.where(zero, torch.ones_like(v), v))


TORCH: dict[str, Callable[..., Any]] = {
    "add": total,
    "mul": product,
    "pow": integer_power,
    "power": lambda u, v: torch.pow(_like(u, v), _like(v, u)),
    **{op: _unary(getattr(torch, op)) for op in ("exp", "exp2", "log", "sqrt", "abs", "sign")},
    **{op: _unary(getattr(torch, op)) for op in ("sin", "cos", "tanh")},
    "rsqrt": lambda u: torch.where(_like(u) == 0, 0.0, _like(u).rsqrt()).to(_like(u).dtype),
    "div": _quotient,
    "arccos": lambda u: torch.arccos(_like(u).clamp(-1, 1)),
    "arcsin": lambda u: torch.arcsin(_like(u).clamp(-1, 1)),
    "min": lambda u, v: torch.minimum(_like(u, v), _like(v, u)),
    "max": lambda u, v: torch.maximum(_like(u, v), _like(v, u)),
    "step": lambda u: (_like(u) >= 0).to(_like(u).dtype),
    "eq": lambda u, v: (_like(u, v) == _like(v, u)).to(_like(u, v).dtype),
}


def evaluate_torch(formula: Formula, known: dict[Formula, Any]) -> Any:
    return evaluate(formula, known, lambda op: form_of(op, "torch", TORCH))


def differences(
    node: Formula, x: torch.Tensor, z: torch.Tensor, matched: bool = False
) -> torch.Tensor:
    """A coordinate-wise statistic of all pairs of rows, column after column; `matched`: of each
    row of x and the row of z at the same index."""
    how = node.value[0] if node.op == "reduce" else ("max" if node.op == "linf" else "sum")
    assert node.op != "reduce" or dependence(node)[id(node)] == "pair"

    def column(j: int) -> Any:
        a, b = (x[:, j], z[:, j]) if matched else (x[:, j, None], z[None, :, j])
        if node.op != "reduce":
            return (a - b).square() if node.op == "sqdist" else (a - b).abs()
        atoms = {n: a if n.value == "x" else b for n in node.args[0].walk() if n.op == "coord"}
        return evaluate_torch(node.args[0], atoms)

    each = map(column, range(x.shape[1]))
    if set_size(how):
        return over_sets(each, set_size(how))  # type: ignore[no-any-return]
    total: Any = reduce({"prod": torch.mul, "max": torch.maximum}.get(how, torch.add), each)
    return total / x.shape[1] if how == "mean" else total  # type: ignore[no-any-return]


#: Numbers narrower than float32 stay as they are given: what is computed from them is float32.
NARROW = (torch.float16, torch.bfloat16, torch.uint8, torch.int8, torch.bool)


#: Numbers of rows that are widened, looked at or made dense at a time.
STEP_NUMBERS = 1 << 26


def computed_in(dtype: torch.dtype) -> torch.dtype:
    """The type in which k is computed from such numbers."""
    return torch.float32 if dtype in NARROW or dtype == torch.float32 else torch.float64


def widened(rows: torch.Tensor) -> torch.Tensor:
    """These numbers in the type in which k is computed."""
    return rows.to(computed_in(rows.dtype))


def apply_steps(rows: torch.Tensor, inputs: Input) -> torch.Tensor:
    """The input map on the device; a step without a device form runs on the host, once per row."""
    rows = widened(rows) if inputs.steps else rows
    for step in inputs.steps:
        rows = _apply(step, rows)
    return rows


@singledispatch
def _apply(step: Step, rows: torch.Tensor) -> torch.Tensor:
    host = step(rows.cpu().numpy())
    host = host.toarray() if hasattr(host, "toarray") else np.asarray(host)
    return torch.as_tensor(host, device=rows.device).to(rows.dtype)


@_apply.register
def _columns(step: Columns, rows: torch.Tensor) -> torch.Tensor:
    return rows[:, [step.position(name, rows.shape[1]) for name in step.names]]


@_apply.register
def _scale(step: Scale, rows: torch.Tensor) -> torch.Tensor:
    lengths = torch.as_tensor(step.lengths.array.copy(), device=rows.device)
    if len(lengths) != rows.shape[1]:
        raise ValueError(
            f"one length per column was given ({len(lengths)} of them), "
            f"but the data has {rows.shape[1]} columns"
        )
    return rows / lengths.to(rows.dtype)


@_apply.register
def _matrix(step: Matrix, rows: torch.Tensor) -> torch.Tensor:
    matrix = torch.as_tensor(step.matrix.array.copy(), device=rows.device)
    return (rows.double() @ matrix).to(rows.dtype)


@_apply.register
def _unit(step: Unit, rows: torch.Tensor) -> torch.Tensor:
    norms = torch.linalg.vector_norm(rows.double(), dim=1, keepdim=True)
    return (rows.double() / torch.where(norms > 0, norms, 1.0)).to(rows.dtype)


@_apply.register
def _non_negative(step: NonNegative, rows: torch.Tensor) -> torch.Tensor:
    step(np.asarray([[float(rows.min())]]))
    return rows
