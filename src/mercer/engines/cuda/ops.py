"""Formulas and input maps in PyTorch: what a device needs before any kernel is generated."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from mercer.formula.evaluate import evaluate
from mercer.formula.inputs import Columns, Matrix, NonNegative, Scale, Unit
from mercer.formula.nodes import Formula, Input


def _like(u: Any, *others: Any) -> torch.Tensor:
    """Numbers become tensors beside the tensor they meet."""
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


def _sum(*terms: Any) -> Any:
    total = terms[0]
    for term in terms[1:]:
        total = total + term
    return total


def _product(*factors: Any) -> Any:
    total = factors[0]
    for factor in factors[1:]:
        total = total * factor
    return total


TORCH: dict[str, Callable[..., Any]] = {
    "add": _sum,
    "mul": _product,
    "exp": _unary(torch.exp),
    "exp2": _unary(torch.exp2),
    "log": _unary(torch.log),
    "sqrt": _unary(torch.sqrt),
    "rsqrt": lambda u: torch.where(_like(u) == 0, 0.0, _like(u).rsqrt()).to(_like(u).dtype),
    "div": _quotient,
    "tanh": _unary(torch.tanh),
    "abs": _unary(torch.abs),
    "sin": _unary(torch.sin),
    "cos": _unary(torch.cos),
    "arccos": lambda u: torch.arccos(_like(u).clamp(-1, 1)),
    "arcsin": lambda u: torch.arcsin(_like(u).clamp(-1, 1)),
    "min": lambda u, v: torch.minimum(_like(u, v), _like(v, u)),
    "max": lambda u, v: torch.maximum(_like(u, v), _like(v, u)),
    "step": lambda u: (_like(u) >= 0).to(_like(u).dtype),
    "sign": _unary(torch.sign),
    "eq": lambda u, v: (_like(u, v) == _like(v, u)).to(_like(u, v).dtype),
}


def evaluate_torch(formula: Formula, known: dict[Formula, Any]) -> Any:
    return evaluate(formula, known, TORCH)


def apply_steps(rows: torch.Tensor, inputs: Input) -> torch.Tensor:
    """The input map on the device; a step without a device form runs on the host, once a row."""
    for step in inputs.steps:
        if isinstance(step, Columns):
            width = rows.shape[1]
            rows = rows[:, [step._position(name, width) for name in step.names]]
        elif isinstance(step, Scale):
            lengths = torch.as_tensor(step.lengths.array.copy(), device=rows.device)
            if len(lengths) != rows.shape[1]:
                raise ValueError(
                    f"one length per column was given ({len(lengths)} of them), "
                    f"but the data has {rows.shape[1]} columns"
                )
            rows = rows / lengths.to(rows.dtype)
        elif isinstance(step, Matrix):
            matrix = torch.as_tensor(step.matrix.array.copy(), device=rows.device)
            rows = (rows.double() @ matrix).to(rows.dtype)
        elif isinstance(step, Unit):
            norms = torch.linalg.vector_norm(rows.double(), dim=1, keepdim=True)
            rows = (rows.double() / torch.where(norms > 0, norms, 1.0)).to(rows.dtype)
        elif isinstance(step, NonNegative):
            step(np.asarray([[float(rows.min())]]))
        else:
            host = step(rows.cpu().numpy())
            host = host.toarray() if hasattr(host, "toarray") else np.asarray(host)
            rows = torch.as_tensor(host, device=rows.device).to(rows.dtype)
    return rows
