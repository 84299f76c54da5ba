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
        self.graph: Graph = graph
        self.fed: str = graph.fed
        self.found: dict[str, tuple[Wire, int, list[Any]]] = {}

    def numbers(self, name: str, wire: Wire, width: int, flat: bool) -> None:
        """Values of shape (N, width), or (N,) if `flat`."""
        wire = self.graph.flat(wire) if flat else wire
        if self.fed != "float64":
            wire = self.graph.cast(wire, self.fed)
        self.found[name] = (wire, FLOATS[self.fed], [BATCH] if flat else [BATCH, width])

    def decision(self, scores: Wire, classes: Any) -> None:
        """The scores and what they decide: the sign of one score, or the highest of several."""
        g, two = self.graph, len(classes) == 2
        self.labels(binary(g, scores) if two else highest(g, scores), classes)
        self.numbers("decision", scores, 1 if two else len(classes), two)

    def probabilities(self, wire: Wire, width: int) -> None:
        self.numbers("probabilities", wire, width, False)

    def labels(self, indices: Wire, classes: Any) -> None:
        """The classes of the given indices (N,)."""
        classes = np.asarray(classes)
        if classes.dtype.kind == "O":
            if not all(isinstance(c, str) for c in classes):
                raise NotExportable(f"classes are numbers or text; got {list(classes)[:5]}")
            classes = classes.astype(str)
        tensor = onnx.TensorProto
        kinds = {"b": tensor.BOOL, "f": tensor.DOUBLE, "U": tensor.STRING}
        kinds |= dict.fromkeys("iu", tensor.INT64)
        if classes.dtype.kind not in kinds:
            raise NotExportable(f"classes are numbers or text; got dtype {classes.dtype}")
        wire = self.graph.add("Gather", classes, indices)
        self.found = {"label": (wire, kinds[classes.dtype.kind], [BATCH]), **self.found}


def binary(g: Graph, scores: Wire) -> Wire:
    """1 where the one score is positive."""
    return Wire(g.add("Cast", g.add("Greater", g.flat(scores), 0.0), to=onnx.TensorProto.INT64))


def shares_of(g: Graph, scores: Wire, classes: int) -> Wire:
    """Probabilities from one score, or from one per class."""
    if classes > 2:
        return Wire(g.add("Softmax", scores, axis=1))
    return g.side_by_side([g.add("Sigmoid", g.add("Neg", scores)), g.add("Sigmoid", scores)])


def highest(g: Graph, scores: Wire) -> Wire:
    """The index of the highest score, the first of equal ones."""
    return Wire(g.add("ArgMax", scores, axis=1, keepdims=0))
