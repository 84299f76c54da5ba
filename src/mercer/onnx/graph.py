"""A graph under construction: nodes are added one by one, constants are kept once.

A value in the graph is a `Wire`, the name of a tensor. Everything known at export time stays a
NumPy array until a node needs it, so that what depends on the training points alone is computed
here, in float64, and not again for every batch.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper

from mercer._config import show_bytes
from mercer.onnx import NotExportable

#: Text tensors compare from opset 19 on, and reductions take their axes as inputs since 18.
OPSET = 19
IR_VERSION = 9
#: The name of the symbolic first dimension: batches of any number of rows.
BATCH = "N"
LARGEST = onnx.checker.MAXIMUM_PROTOBUF

FLOATS: dict[str, int] = {
    "float32": onnx.TensorProto.FLOAT,
    "float64": onnx.TensorProto.DOUBLE,
}


class Wire(str):
    """The name of a tensor."""

    __slots__ = ()


class Graph:
    """Nodes, constants and inputs, which become a model with its outputs."""

    def __init__(self, fed: str = "float64") -> None:
        #: What goes in and out is of this dtype; `dtype` is that of constants in new nodes.
        self.fed: str = fed
        self.dtype: str = "float64"
        self._nodes: list[Any] = []
        self._constants: dict[tuple[Any, ...], Wire] = {}
        self._initializers: list[Any] = []
        self._inputs: list[Any] = []
        self._count = 0

    # --- building ---------------------------------------------------------------------------

    def input(self, name: str, dtype: str, width: int) -> Wire:
        """A tensor of shape (batch, width) that is fed in; `dtype` may be "string"."""
        kind = onnx.TensorProto.STRING if dtype == "string" else FLOATS[dtype]
        self._inputs.append(helper.make_tensor_value_info(name, kind, [BATCH, width]))
        return Wire(name)

    def add(self, op: str, *args: Any, outputs: int = 1, **attributes: Any) -> Any:
        """One node; NumPy arguments become constants. Gives its output, or a tuple of them.

        ONNX Runtime joins a number that a product is multiplied by with it, as a float32; not so
        with Gemm, which is the same product.
        """
        op = "Gemm" if op == "MatMul" and self.dtype == "float64" else op
        names = [arg if isinstance(arg, Wire) else self.constant(arg) for arg in args]
        made = tuple(self._fresh(op) for _ in range(outputs))
        self._nodes.append(helper.make_node(op, names, list(made), name=made[0], **attributes))
        return made[0] if outputs == 1 else made

    def constant(self, value: Any) -> Wire:
        """A tensor known now: floats in the current dtype, whole numbers as int64."""
        array = np.asarray(value)
        if array.dtype.kind == "f":
            array = array.astype(self.dtype)
        elif array.dtype.kind in "iu":
            array = array.astype(np.int64)
        elif array.dtype.kind in "OU":
            array = array.astype(object)
        array = np.asarray(array, order="C")
        data = tuple(array.ravel()) if array.dtype == object else array.tobytes()
        key = (array.dtype.str, array.shape, data)
        if key not in self._constants:
            wire = self._fresh("constant")
            self._initializers.append(numpy_helper.from_array(array, wire))
            self._constants[key] = wire
        return self._constants[key]

    def cast(self, wire: Wire, dtype: str) -> Wire:
        return Wire(self.add("Cast", wire, to=FLOATS[dtype]))

    def _fresh(self, op: str) -> Wire:
        self._count += 1
        return Wire(f"/{op.lower()}_{self._count}")  # no column is called that

    # --- the words that are used often ------------------------------------------------------

    def number(self, condition: Wire) -> Wire:
        """True and False as 1 and 0 of the current dtype."""
        return self.cast(condition, self.dtype)

    def zeros(self, like: Wire) -> Wire:
        """A zero for every row, (N, 1)."""
        rows = self.add("Shape", like, start=0, end=1)
        return Wire(self.add("Expand", 0.0, self.add("Concat", rows, np.array([1]), axis=0)))

    def columns(self, wire: Wire, positions: Iterable[int]) -> Wire:
        return Wire(self.add("Gather", wire, np.asarray(list(positions)), axis=1))

    def side_by_side(self, parts: Sequence[Wire]) -> Wire:
        return parts[0] if len(parts) == 1 else Wire(self.add("Concat", *parts, axis=1))

    def flat(self, wire: Wire) -> Wire:
        """(N, 1) as (N,)."""
        return Wire(self.add("Squeeze", wire, np.array([1])))

    # --- the model --------------------------------------------------------------------------

    def model(
        self, outputs: Mapping[str, tuple[Wire, int, list[Any]]], notes: Mapping[str, str]
    ) -> Any:
        """A checked ModelProto; an output is (wire, element type, shape)."""
        infos = []
        taken = {info.name for info in self._inputs} & set(outputs)
        if taken:
            raise NotExportable(
                f"the column {min(taken)!r} has the name of an output; rename it before fitting"
            )
        for name, (wire, kind, shape) in outputs.items():
            self._nodes.append(helper.make_node("Identity", [wire], [name], name=f"/{name}"))
            infos.append(helper.make_tensor_value_info(name, kind, shape))
        graph = helper.make_graph(self._nodes, "mercer", self._inputs, infos, self._initializers)
        model = helper.make_model(
            graph,
            opset_imports=[helper.make_opsetid("", OPSET)],
            ir_version=IR_VERSION,
            producer_name="mercer",
        )
        helper.set_model_props(model, dict(notes))
        if model.ByteSize() > LARGEST:
            raise NotExportable(
                f"the model needs {show_bytes(model.ByteSize())}, and a file of ONNX holds at most "
                "2 GB; fit one with fewer points (a Nyström solver, a budget)"
            )
        onnx.checker.check_model(model, full_check=True)
        return model
