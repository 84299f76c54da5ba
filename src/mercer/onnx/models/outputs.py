"""The outputs of a model: label, probabilities, decision, prediction."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx

from mercer.onnx import NotExportable
from mercer.onnx.graph import BATCH, FLOATS, Graph, Wire


class Outputs:
    """Collects what a learner gives."""

    def __init__(self, graph: Graph) -> None:
        self.graph, self.fed = graph, graph.fed
        self.found: dict[str, tuple[Wire, int, list[Any]]] = {}

    def numbers(self, name: str, wire: Wire, width: int, flat: bool) -> None:
        """Values of shape (N, width), or (N,) if `flat`."""
        wire = self.graph.flat(wire) if flat else wire
        if self.fed != "float64":
            wire = self.graph.cast(wire, self.fed)
        self.found[name] = (wire, FLOATS[self.fed], [BATCH] if flat else [BATCH, width])

    def probabilities(self, wire: Wire, width: int) -> None:
        self.numbers("probabilities", wire, width, False)

    def labels(self, indices: Wire, classes: Any) -> None:
        """The classes of the given indices (N,)."""
        classes = np.asarray(classes)
        if classes.dtype.kind == "O":
            if not all(isinstance(c, str) for c in classes):
                raise NotExportable(f"classes are numbers or text; got {list(classes)[:5]}")
            classes = classes.astype(str)
        kinds = {
            "i": onnx.TensorProto.INT64,
            "u": onnx.TensorProto.INT64,
            "b": onnx.TensorProto.BOOL,
            "f": onnx.TensorProto.DOUBLE,
            "U": onnx.TensorProto.STRING,
        }
        if classes.dtype.kind not in kinds:
            raise NotExportable(f"classes are numbers or text; got dtype {classes.dtype}")
        wire = self.graph.add("Gather", classes, indices)
        self.found = {"label": (wire, kinds[classes.dtype.kind], [BATCH]), **self.found}


def binary(g: Graph, scores: Wire) -> Wire:
    """1 where the one score is positive."""
    return Wire(g.add("Cast", g.add("Greater", g.flat(scores), 0.0), to=onnx.TensorProto.INT64))


def highest(g: Graph, scores: Wire) -> Wire:
    """The index of the highest score, the first of equal ones."""
    return Wire(g.add("ArgMax", scores, axis=1, keepdims=0))
