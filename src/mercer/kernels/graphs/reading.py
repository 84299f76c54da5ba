"""Graphs as the kernels want them: all nodes in one array, all edges in another.

A graph is one of

- ``(edges, labels)``: pairs of node numbers from 0, and a label for every node;
- ``(adjacency, labels)`` with a square SciPy matrix;
- a square adjacency matrix alone, sparse or dense (an entry other than 0 is an edge);
- a NetworkX graph, the labels in the node attribute ``"label"``.

Graphs without labels have one label for all nodes. Edges have no direction: an edge may be listed
once or both ways, and that is the same graph. Labels may be of any hashable type. They are numbered
for X and Z together each time a Gram is made, so a label that no training graph had is one more.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer._arrays import is_sparse
from mercer._lazy import record
from mercer.kernels.strings.counts import number
from mercer.kernels.strings.sequences import number_tokens

_EXPECTED = "a graph is (edges, labels), an adjacency matrix or a NetworkX graph"
_UNDIRECTED = "these kernels compare graphs without directions"


@record
class Graphs:
    """Nodes of graph i are ``starts[i] … starts[i] + sizes[i] − 1``; their neighbors, sorted, are
    ``neighbors[pointers[v] : pointers[v + 1]]``."""

    starts: np.ndarray
    sizes: np.ndarray
    labels: np.ndarray
    pointers: np.ndarray
    neighbors: np.ndarray

    @property
    def shape(self) -> tuple[int, ...]:
        return self.starts.shape

    @property
    def degrees(self) -> np.ndarray:
        return np.diff(self.pointers)

    @property
    def arrays(self) -> tuple[np.ndarray, ...]:
        return self.starts, self.sizes, self.labels, self.pointers, self.neighbors

    def __getitem__(self, index: Any) -> Graphs:
        """Some of the graphs; nodes and edges are shared, not copied."""
        rest = (self.labels, self.pointers, self.neighbors)
        return Graphs(self.starts[index], self.sizes[index], *rest)

    def same_as(self, other: Graphs) -> bool:
        return self.labels is other.labels and np.array_equal(self.starts, other.starts)


def read_pair(X: Any, Z: Any) -> tuple[Graphs, Graphs]:
    """Both sides with the same numbers for the same labels; Z is None where it is X again."""
    rows = _rows(X, "X")
    both = _joined(rows if Z is None else rows + _rows(Z, "Z"))
    return (both, both) if Z is None else (both[: len(rows)], both[len(rows) :])


#: Edges (m × 2), number of nodes, labels (None: all alike) of one graph.
_Parts = tuple[np.ndarray, int, Any]


def _rows(X: Any, name: str) -> list[_Parts]:
    if is_sparse(X) or _is_networkx(X):
        raise TypeError("a set of graphs was expected, got one graph; wrap it in a list")
    if hasattr(X, "iloc"):
        if X.ndim == 2 and X.shape[1] != 1:
            raise TypeError(f"{name} is a table; choose the column of graphs with on(...)")
        X = X.iloc[:, 0] if X.ndim == 2 else X
    if isinstance(X, np.ndarray) and X.ndim == 2 and X.shape[1] == 1 and X.dtype == object:
        X = X[:, 0]
    parts = []
    for i, graph in enumerate(X):
        try:
            parts.append(_read(graph))
        except (TypeError, ValueError) as error:
            raise type(error)(f"graph {i} of {name}: {error}") from None
    return parts


def _is_networkx(graph: Any) -> bool:
    return all(hasattr(graph, name) for name in ("nodes", "edges", "is_directed"))


def _read(graph: Any) -> _Parts:
    if _is_networkx(graph):
        return _from_networkx(graph)
    if is_sparse(graph) or (isinstance(graph, np.ndarray) and graph.dtype != object):
        return *_from_adjacency(graph), None
    if not isinstance(graph, (tuple, list, np.ndarray)) or len(graph) != 2:
        raise TypeError(f"{_EXPECTED}, not {type(graph).__name__} {graph!r:.40}")
    edges, labels = graph[0], _labels(graph[1])
    nodes = None if labels is None else len(labels)
    if is_sparse(edges):
        edges, size = _from_adjacency(edges)
        if nodes is not None and size != nodes:
            raise ValueError(f"there are {nodes} labels for {size} nodes")
        return edges, size, labels
    return *_from_edges(edges, nodes), labels


def _from_edges(edges: Any, nodes: int | None) -> tuple[np.ndarray, int]:
    """Pairs of nodes and the number of nodes: that of the labels, or what the edges name."""
    edges = _pairs(edges)
    least, most = (int(edges.min()), int(edges.max())) if len(edges) else (0, -1)
    nodes = most + 1 if nodes is None else nodes
    if most >= nodes or least < 0:
        raise ValueError(
            f"an edge names node {least if least < 0 else most}, "
            f"but the labels are those of nodes 0 … {nodes - 1}"
        )
    return edges, nodes


def _labels(labels: Any) -> Any:
    """One label per node, as an array or a list; None where nodes have none."""
    if labels is None or not isinstance(labels, np.ndarray):
        return labels if labels is None else list(labels)
    if labels.ndim != 1:
        raise ValueError(f"one label per node is needed, got an array of shape {labels.shape}")
    return labels


def _pairs(edges: Any) -> np.ndarray:
    pairs = np.asarray(edges)
    if pairs.size == 0:
        return np.empty((0, 2), dtype=np.int64)
    if pairs.ndim != 2 or pairs.shape[1] != 2:
        raise ValueError(f"edges are pairs of nodes, an m × 2 array; got shape {pairs.shape}")
    if pairs.dtype.kind not in "iu":
        whole = pairs.dtype.kind == "f" and np.array_equal(pairs, np.floor(pairs))
        if not whole:
            raise TypeError(f"edges are pairs of node numbers, not of {pairs.dtype}")
    return pairs.astype(np.int64, copy=False)


def _from_adjacency(matrix: Any) -> tuple[np.ndarray, int]:
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise ValueError(f"an adjacency matrix is square; got shape {matrix.shape}")
    rows, columns = matrix.nonzero()
    size = matrix.shape[0]
    keys = rows.astype(np.int64) * size + columns
    if not np.array_equal(np.sort(keys), np.sort(columns.astype(np.int64) * size + rows)):
        raise ValueError(
            f"the adjacency matrix is not symmetric, and {_UNDIRECTED}; "
            "A + A.T is the graph without them"
        )
    return np.column_stack([rows, columns]).astype(np.int64), size


def _from_networkx(graph: Any) -> _Parts:
    if graph.is_directed():
        raise ValueError(f"the graph is directed, and {_UNDIRECTED}; take graph.to_undirected()")
    index_of = {node: i for i, node in enumerate(graph.nodes)}
    pairs = [(index_of[edge[0]], index_of[edge[1]]) for edge in graph.edges]
    given = [data.get("label", _MISSING) for _, data in graph.nodes(data=True)]
    missing = [label is _MISSING for label in given]
    if any(missing) and not all(missing):
        node = list(graph.nodes)[missing.index(True)]
        raise ValueError(f"some nodes have a label and node {node!r} has none")
    return _pairs(pairs), len(index_of), None if any(missing) or not given else given


_MISSING = object()
#: The label of a node in a graph without labels: equal to itself only.
_NO_LABEL = ("a node", "without a label")


def _joined(parts: list[_Parts]) -> Graphs:
    """All graphs side by side: the nodes of each one after those of the one before."""
    sizes = np.array([size for _, size, _ in parts], dtype=np.int64)
    starts = np.cumsum(sizes) - sizes
    total = int(sizes.sum())
    counts = np.array([len(edges) for edges, _, _ in parts], dtype=np.int64)
    edges = np.concatenate([np.empty((0, 2), np.int64)] + [e for e, _, _ in parts])
    edges = edges + np.repeat(starts, counts)[:, None]
    # Both directions of every edge once, sorted by node: one sort of packed pairs.
    a, b = edges[:, 0], edges[:, 1]
    keys = np.sort(np.concatenate([a * total + b, b * total + a]))
    keys = keys[np.diff(keys, prepend=-1) > 0]
    nodes, neighbors = keys // max(total, 1), keys % max(total, 1)
    pointers = np.concatenate([[0], np.cumsum(np.bincount(nodes, minlength=total))])
    return Graphs(starts, sizes, _numbered(parts), pointers.astype(np.int64), neighbors)


def _numbered(parts: list[_Parts]) -> np.ndarray:
    given = [labels for _, _, labels in parts]
    if given and all(isinstance(v, np.ndarray) and v.dtype.kind in "iu" for v in given):
        return number(np.concatenate(given).astype(np.int64))[0]
    rows = []
    for i, (_, size, labels) in enumerate(parts):
        row = [_NO_LABEL] * size if labels is None else labels
        row = row.tolist() if isinstance(row, np.ndarray) else row
        if any(label is None or label != label for label in row if not isinstance(label, tuple)):
            raise ValueError(f"a label of graph {i} is missing (None or NaN)")
        rows.append(row)
    return number_tokens(rows).astype(np.int64)
