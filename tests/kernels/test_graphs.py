"""Kernels on graphs, against plain transcriptions of their definitions."""

from __future__ import annotations

import itertools
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

import mercer
from mercer.kernels import RandomWalk, ShortestPath, WeisfeilerLehman
from mercer.testing import check_kernel

KERNELS = [WeisfeilerLehman(2), ShortestPath(), RandomWalk(0.2, 3), RandomWalk(0.001, "inf")]
WATER = ([(0, 1), (0, 2)], ["O", "H", "H"])


FEW_LABELS = st.integers(0, 2)


@st.composite
def graphs(draw, labels=FEW_LABELS):
    n = draw(st.integers(0, 6))
    pairs = list(itertools.combinations(range(n), 2))
    edges = draw(st.lists(st.sampled_from(pairs), unique=True)) if pairs else []
    return edges, draw(st.lists(labels, min_size=n, max_size=n))


def sets(**options):
    return st.lists(graphs(**options), min_size=1, max_size=5)


def adjacent(graph):
    edges, labels = graph
    near = [set() for _ in labels]
    for a, b in edges:
        near[a].add(b)
        near[b].add(a)
    return near


def relabeled(graph, depth):
    """Counts of subtrees, each written out in full."""
    near = adjacent(graph)
    now = list(graph[1])
    seen = Counter((0, v) for v in now)
    for h in range(1, depth + 1):
        now = [
            (now[v], tuple(sorted((now[u] for u in near[v]), key=repr))) for v in range(len(now))
        ]
        seen.update((h, v) for v in now)
    return seen


def paths(graph):
    """Counts of (labels, distance) by Floyd and Warshall."""
    near, labels = adjacent(graph), graph[1]
    n = len(labels)
    d = np.full((n, n), np.inf)
    for v in range(n):
        d[v, v] = 0
        for u in near[v]:
            d[v, u] = 1
    for v in range(n):
        d = np.minimum(d, d[:, [v]] + d[[v]])
    return Counter(
        (*sorted((labels[a], labels[b])), int(d[a, b]))
        for a, b in itertools.combinations(range(n), 2)
        if np.isfinite(d[a, b])
    )


def walks(x, z, decay, length):
    """eᵀ (Σ λⁿ Aⁿ) e on the product graph."""
    both = [(a, b) for a in range(len(x[1])) for b in range(len(z[1])) if x[1][a] == z[1][b]]
    near_x, near_z = adjacent(x), adjacent(z)
    A = np.array([[c in near_x[a] and d in near_z[b] for c, d in both] for a, b in both], float)
    A = A.reshape(len(both), len(both))
    e = np.ones(len(both))
    if length == "inf":
        return float(e @ np.linalg.solve(np.eye(len(both)) - decay * A, e)) if both else 0.0
    return sum(decay**n * float(e @ np.linalg.matrix_power(A, n) @ e) for n in range(length + 1))


def product(a, b):
    return float(sum(count * b[part] for part, count in a.items()))


@given(sets(), st.integers(0, 3))
@settings(max_examples=60, deadline=None)
def test_weisfeiler_lehman_is_a_plain_relabeling(X, depth):
    counts = [relabeled(graph, depth) for graph in X]
    expected = [[product(a, b) for b in counts] for a in counts]
    assert np.array_equal(WeisfeilerLehman(depth)(X), expected)


@given(sets())
@settings(max_examples=60, deadline=None)
def test_shortest_path_counts_pairs_by_distance(X):
    counts = [paths(graph) for graph in X]
    expected = [[product(a, b) for b in counts] for a in counts]
    assert np.array_equal(ShortestPath()(X), expected)


@given(sets(), st.sampled_from([(0.3, 0), (0.3, 1), (0.5, 4), (0.02, "inf")]))
@settings(max_examples=40, deadline=None)
def test_random_walks_are_those_of_the_product_graph(X, options):
    expected = [[walks(a, b, *options) for b in X] for a in X]
    np.testing.assert_allclose(RandomWalk(*options)(X), expected, rtol=1e-10, atol=1e-12)


@given(sets(), sets(labels=st.integers(1, 5)))
@settings(max_examples=30, deadline=None)
def test_labels_that_training_never_saw(X, Z):
    for k in KERNELS[:3]:
        np.testing.assert_allclose(k(X, Z), k(X + Z)[: len(X), len(X) :], rtol=1e-12)


def test_graphs_in_several_parts_of_memory(monkeypatch):
    X = [([(0, 1), (1, 2)], [0, 1, i % 3]) for i in range(9)]
    expected = ShortestPath()(X)
    monkeypatch.setitem(ShortestPath._count.__globals__, "PATHS", 7)
    assert np.array_equal(ShortestPath()(X), expected)


@pytest.mark.parametrize("k", KERNELS, ids=repr)
def test_contract(k):
    rng = np.random.default_rng(0)
    X = []
    for _ in range(8):
        n = int(rng.integers(1, 7))
        X.append((rng.integers(0, n, (int(rng.integers(0, 9)), 2)), rng.integers(0, 3, n)))
    check_kernel(k, X)
    assert isinstance(k.prove(), mercer.proof.Proof)


@pytest.mark.parametrize("k", KERNELS, ids=repr)
def test_every_way_to_write_a_graph(k):
    nx = pytest.importorskip("networkx")
    edges, labels = [(0, 1), (1, 2), (1, 3)], [7, 8, 7, 7]
    A = sparse.csr_array((np.ones(3), np.transpose(edges)), shape=(4, 4))
    named = nx.Graph()
    named.add_nodes_from((f"n{i}", {"label": label}) for i, label in enumerate(labels))
    named.add_edges_from((f"n{a}", f"n{b}") for a, b in edges)
    forms = [
        (edges, labels),
        (np.array(edges), np.array(labels)),
        (edges + [(b, a) for a, b in edges] + edges, labels),  # both ways, and twice
        (A + A.T, labels),
        named,
    ]
    values = k(forms)
    np.testing.assert_allclose(values, values[0, 0], rtol=1e-12)
    bare = [(edges, None), A + A.T, (A + A.T).toarray(), nx.Graph(edges)]
    values = k(bare)
    np.testing.assert_allclose(values, values[0, 0], rtol=1e-12)


@pytest.mark.parametrize("k", KERNELS, ids=repr)
def test_no_nodes_and_no_edges(k):
    nothing, alone = ([], []), ([], ["a", "b"])
    K = k([nothing, alone])
    assert np.array_equal(K[0], [0, 0])
    assert K[1, 1] == (0 if isinstance(k, ShortestPath) else k([alone])[0, 0])
    assert np.array_equal(k([nothing, nothing]), np.zeros((2, 2)))


def test_labels_of_mixed_types_are_told_apart():
    X = [([(0, 1)], [1, "1"]), ([(0, 1)], ["1", "1"]), ([(0, 1)], [1, ("a", 2)])]
    assert np.array_equal(WeisfeilerLehman(0)(X), [[2, 2, 1], [2, 4, 0], [1, 0, 2]])


@pytest.mark.parametrize(
    ("graph", "error", "words"),
    [
        (([(0, 3)], ["a", "b"]), ValueError, "graph 1 of X: an edge names node 3"),
        (([(0, -1)], ["a", "b"]), ValueError, "names node -1"),
        (([(0, 1, 2)], ["a", "b", "c"]), ValueError, "pairs of nodes"),
        (([(0, 0.5)], ["a", "b"]), TypeError, "pairs of node numbers"),
        (([("a", "b")], ["a", "b"]), TypeError, "pairs of node numbers"),
        (([(0, 1)], [float("nan"), 1]), ValueError, "missing"),
        (([(0, 1)], [None, 1]), ValueError, "missing"),
        (([(0, 1)], [[1], [2]]), TypeError, "hashable"),
        (([(0, 1)], np.eye(2)), ValueError, "one label per node"),
        (np.array([[0, 1], [0, 0]]), ValueError, "not symmetric"),
        (sparse.csr_array((3, 2)), ValueError, "square"),
        ((sparse.eye_array(3), ["a"]), ValueError, "1 labels for 3 nodes"),
        ("graph", TypeError, "a graph is"),
        (5, TypeError, "a graph is"),
    ],
)
def test_what_is_no_graph(graph, error, words):
    with pytest.raises(error, match=words):
        WeisfeilerLehman(1)([WATER, graph])


def test_directed_and_half_labeled_networks_are_refused():
    nx = pytest.importorskip("networkx")
    with pytest.raises(ValueError, match="directed"):
        WeisfeilerLehman(1)([nx.DiGraph([(0, 1)])])
    half = nx.Graph([(0, 1)])
    half.nodes[0]["label"] = "a"
    with pytest.raises(ValueError, match="node 1 has none"):
        WeisfeilerLehman(1)([half])
    with pytest.raises(TypeError, match="wrap it in a list"):
        WeisfeilerLehman(1)(nx.path_graph(3))


def test_a_series_that_diverges_is_refused():
    star = ([(0, i) for i in range(1, 5)], [0] * 5)
    with pytest.raises(ValueError, match=r"diverges: .* is 1.6"):
        RandomWalk(0.1, "inf")([star])
    with pytest.raises(ValueError, match="depth"):
        WeisfeilerLehman(-1)


def test_graphs_in_a_learner():
    rng = np.random.default_rng(1)
    rings = [([(i, (i + 1) % n) for i in range(n)], ["c"] * n) for n in rng.integers(3, 9, 12)]
    chains = [([(i, i + 1) for i in range(n - 1)], ["c"] * n) for n in rng.integers(3, 9, 12)]
    X, y = rings + chains, ["ring"] * 12 + ["chain"] * 12
    model = mercer.KernelPerceptron(WeisfeilerLehman(2).normalized(), epochs=30).fit(X, y)
    new = [([(0, 1), (1, 2), (2, 0)], ["n"] * 3), ([(0, 1), (1, 2)], ["c"] * 3)]
    assert model.predict(new)[1] == "chain"
    assert model.score(X, y) == 1.0
