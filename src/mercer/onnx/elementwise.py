"""Functions of single numbers that have an operator."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mercer.onnx.operations import cosine
from mercer.onnx.table import Table

ELEMENTWISE: dict[Any, Callable[[Table], Table]] = {
    np.log1p: lambda t: t.apply("Add", 1.0).apply("Log"),
    np.expm1: lambda t: t.apply("Exp").apply("Sub", 1.0),
    np.square: lambda t: t.apply("Mul", t.numbers()),
    np.sqrt: lambda t: t.apply("Sqrt"),
    np.abs: lambda t: t.apply("Abs"),
    np.tanh: lambda t: t.apply("Tanh"),
    np.exp: lambda t: t.apply("Exp"),
    np.log: lambda t: t.apply("Log"),
    np.sin: lambda t: t.apply("Sin"),
    np.cos: lambda t: t.replaced(cosine(t.graph, t.numbers())),
}
