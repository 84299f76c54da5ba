"""Weisfeiler-Lehman on molecules: the Gram matrix against GraKeL, and 10-fold accuracies."""

from __future__ import annotations

from collections import Counter
from importlib import import_module
from typing import Any

import numpy as np
from _harness import Row, below, claim, data_file, faster, main, no_data, race, skipped
from sklearn.model_selection import StratifiedKFold, cross_val_score

from mercer import KernelSVC
from mercer.kernels import WeisfeilerLehman

DEPTH = 5


def molecules(name: str) -> tuple[list[Any], np.ndarray] | None:
    """(edges, labels) of every graph, and the classes."""
    path = data_file(f"graphs_{name}.npz")
    if path is None:
        return None
    with np.load(path) as d:
        of, edges = d["graph_indicator"].astype(int), d["edges"].astype(int)
        nodes, y = d["node_labels"], d["graph_labels"]
    places = np.searchsorted(of, np.arange(len(y) + 1))
    order = np.argsort(of[edges[:, 0]], kind="stable")
    edges = edges[order]
    ends = np.searchsorted(of[edges[:, 0]], np.arange(len(y) + 1))
    graphs = [
        (edges[ends[i] : ends[i + 1]] - places[i], nodes[places[i] : places[i + 1]])
        for i in range(len(y))
    ]
    return graphs, y


def plain(graphs: list[Any], depth: int) -> np.ndarray:
    """The same kernel by dictionaries, in Python; the peer where GraKeL is not installed."""
    table: dict[Any, int] = {}
    counts: list[Counter[int]] = []
    for edges, labels in graphs:
        around: list[list[int]] = [[] for _ in labels]
        for a, b in edges:
            around[a].append(b)
        now = [table.setdefault((-1, int(v)), len(table)) for v in labels]
        seen = Counter(now)
        for h in range(depth):
            now = [
                table.setdefault((h, v, tuple(sorted(now[u] for u in near))), len(table))
                for v, near in zip(now, around, strict=True)
            ]
            seen.update(now)
        counts.append(seen)
    from scipy import sparse

    pointers = np.cumsum([0] + [len(c) for c in counts])
    columns = np.concatenate([list(c) for c in counts])
    values = np.concatenate([list(c.values()) for c in counts]).astype(float)
    matrix = sparse.csr_array((values, columns, pointers), shape=(len(counts), len(table)))
    return np.asarray((matrix @ matrix.T).todense())


def with_grakel(graphs: list[Any]) -> Any:
    """A function that gives GraKeL's matrix, its graphs made beforehand; None without GraKeL."""
    try:
        grakel = import_module("grakel")
    except ImportError:
        return None
    theirs = []
    for edges, labels in graphs:
        near: dict[int, list[int]] = {v: [] for v in range(len(labels))}
        for a, b in edges.tolist():
            near[a].append(b)
        theirs.append(grakel.Graph(near, dict(enumerate(labels.tolist()))))

    def matrix() -> Any:
        base = grakel.VertexHistogram
        return grakel.WeisfeilerLehman(n_iter=DEPTH, base_graph_kernel=base).fit_transform(theirs)

    return matrix


def speed() -> Row:
    name = f"WL Gram of NCI1, depth {DEPTH}, 4110 graphs"
    data = molecules("nci1")
    if data is None:
        return skipped(name, faster(5), no_data("graphs_nci1.npz"))
    graphs, _ = data
    k = WeisfeilerLehman(DEPTH)
    assert np.array_equal(k(graphs[:200]), plain(graphs[:200], DEPTH))
    theirs = with_grakel(graphs)
    peer = theirs or (lambda: plain(graphs, DEPTH))
    times = race(lambda: k(graphs), peer, rounds=1)
    who = "vs GraKeL" if theirs else "vs dictionaries in Python (GraKeL is not installed)"
    return claim(f"{name}, {who}", times.ours, times.peer, faster(5), times.note)


def accuracy(name: str, depth: int, C: float, repeats: int) -> Row:
    title, target = f"{name}, WL + SVC, 10-fold error", below(16.0, "%")
    data = molecules(name.lower())
    if data is None:
        return skipped(title, target, no_data(f"graphs_{name.lower()}.npz"))
    graphs, y = data
    K = WeisfeilerLehman(depth).normalized()(graphs)
    scores = [
        cross_val_score(
            KernelSVC("precomputed", C=C),
            K,
            y,
            cv=StratifiedKFold(10, shuffle=True, random_state=r),
        ).mean()
        for r in range(repeats)
    ]
    note = f"depth {depth}, C = {C:g}, {repeats} × 10 folds: {100 * np.mean(scores):.1f} % right"
    return claim(title, 100.0 * (1.0 - float(np.mean(scores))), None, target, note)


def measure() -> list[Row]:
    return [speed(), accuracy("MUTAG", 3, 10.0, 10), accuracy("NCI1", DEPTH, 10.0, 1)]


if __name__ == "__main__":
    main(measure)
