"""Compiled loops over graphs; imported on first use, because Numba is."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer._machine.jit import njit


@njit(nogil=True)
def _distances(
    source: Any, start: Any, pointers: Any, neighbors: Any, distance: Any, queue: Any
) -> Any:
    """Steps from `source` to every node of its graph (−1: none); the queue lists who is reached."""
    distance[:] = -1
    distance[source - start] = 0
    queue[0] = source
    known = 1
    at = 0
    while at < known:
        node = queue[at]
        at += 1
        for e in range(pointers[node], pointers[node + 1]):
            other = neighbors[e]
            if distance[other - start] < 0:
                distance[other - start] = distance[node - start] + 1
                queue[known] = other
                known += 1
    return known


@njit(nogil=True)
def count_reached(starts: Any, sizes: Any, labels: Any, pointers: Any, neighbors: Any) -> Any:
    """Pairs of nodes joined by a path, for every graph: Σ over components of c(c − 1)/2."""
    reached = np.zeros(len(starts), dtype=np.int64)
    for g in range(len(starts)):
        start, size = starts[g], sizes[g]
        distance = np.empty(size, dtype=np.int64)
        queue = np.empty(size, dtype=np.int64)
        seen = np.zeros(size, dtype=np.bool_)
        for v in range(size):
            if seen[v]:
                continue
            known = _distances(start + v, start, pointers, neighbors, distance, queue)
            for i in range(known):
                seen[queue[i] - start] = True
            reached[g] += known * (known - 1) // 2
    return reached


@njit(nogil=True)
def fill_paths(
    starts: Any,
    sizes: Any,
    labels: Any,
    pointers: Any,
    neighbors: Any,
    first: Any,
    base: Any,
    span: Any,
    out: Any,
) -> None:
    """(smaller label, larger label, distance), packed, for every joined pair of every graph.

    The pairs of graph g begin at `first[g]` of `out`.
    """
    for g in range(len(starts)):
        start, size = starts[g], sizes[g]
        distance = np.empty(size, dtype=np.int64)
        queue = np.empty(size, dtype=np.int64)
        at = first[g]
        for v in range(size):
            known = _distances(start + v, start, pointers, neighbors, distance, queue)
            for i in range(1, known):
                other = queue[i]
                if other > start + v:
                    a, b = labels[start + v], labels[other]
                    low, high = min(a, b), max(a, b)
                    out[at] = (low * base + high) * span + distance[other - start]
                    at += 1


@njit(nogil=True)
def fill_walks(
    starts_x: Any,
    sizes_x: Any,
    labels_x: Any,
    pointers_x: Any,
    neighbors_x: Any,
    starts_z: Any,
    sizes_z: Any,
    labels_z: Any,
    pointers_z: Any,
    neighbors_z: Any,
    decay: Any,
    length: Any,
    tolerance: Any,
    out: Any,
) -> None:
    """Σₙ decayⁿ · (pairs of walks of n steps with equal labels), for every pair of graphs.

    Walks that end in u and v are extended on one side, then on the other: the product graph, whose
    edges are all pairs of edges, is never made. `length` < 0: until a term no longer matters.
    """
    for i in range(len(starts_x)):
        first_x, end_x = starts_x[i], starts_x[i] + sizes_x[i]
        own_x, edges_x = labels_x[first_x:end_x], pointers_x[first_x : end_x + 1]
        for j in range(len(starts_z)):
            first_z, end_z = starts_z[j], starts_z[j] + sizes_z[j]
            own_z, edges_z = labels_z[first_z:end_z], pointers_z[first_z : end_z + 1]
            walks = np.empty((len(own_x), len(own_z)))
            half = np.empty_like(walks)
            term = total = _begin_walks(own_x, own_z, walks)
            step = 0
            while term > tolerance * total and step != length:
                step += 1
                _extend_in_x(walks, edges_x, neighbors_x, first_x, half)
                term = _extend_in_z(half, own_x, own_z, edges_z, neighbors_z, first_z, decay, walks)
                total += term
            out[i, j] = total


@njit(nogil=True)
def _begin_walks(labels_x: Any, labels_z: Any, walks: Any) -> Any:
    """Walks of no steps: pairs of nodes with equal labels, and how many there are."""
    total = 0.0
    for u in range(len(labels_x)):
        for v in range(len(labels_z)):
            walks[u, v] = 1.0 if labels_x[u] == labels_z[v] else 0.0
            total += walks[u, v]
    return total


@njit(nogil=True)
def _extend_in_x(walks: Any, edges: Any, neighbors: Any, first: Any, half: Any) -> None:
    """half[u, v] = Σ walks[u′, v] over the neighbors u′ of u."""
    half[:, :] = 0.0
    for u in range(len(half)):
        row = half[u]
        for e in range(edges[u], edges[u + 1]):
            other = walks[neighbors[e] - first]
            for v in range(len(row)):
                row[v] += other[v]


@njit(nogil=True)
def _extend_in_z(
    half: Any,
    labels_x: Any,
    labels_z: Any,
    edges: Any,
    neighbors: Any,
    first: Any,
    decay: Any,
    walks: Any,
) -> Any:
    """walks[u, v] = decay · Σ half[u, v′] over the neighbors v′ of v, where labels are equal."""
    term = 0.0
    for u in range(len(labels_x)):
        for v in range(len(labels_z)):
            value = 0.0
            if labels_x[u] == labels_z[v]:
                for e in range(edges[v], edges[v + 1]):
                    value += half[u, neighbors[e] - first]
            walks[u, v] = decay * value
            term += decay * value
    return term
