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
        n, first_x = sizes_x[i], starts_x[i]
        for j in range(len(starts_z)):
            m, first_z = sizes_z[j], starts_z[j]
            now = np.zeros((n, m))
            half = np.empty((n, m))
            total = 0.0
            for u in range(n):
                for v in range(m):
                    if labels_x[first_x + u] == labels_z[first_z + v]:
                        now[u, v] = 1.0
                        total += 1.0
            term, step = total, 0
            while term > tolerance * total and step != length:
                step += 1
                half[:, :] = 0.0
                for u in range(n):
                    row = half[u]
                    for e in range(pointers_x[first_x + u], pointers_x[first_x + u + 1]):
                        other = now[neighbors_x[e] - first_x]
                        for v in range(m):
                            row[v] += other[v]
                term = 0.0
                for u in range(n):
                    for v in range(m):
                        value = 0.0
                        if labels_x[first_x + u] == labels_z[first_z + v]:
                            for e in range(pointers_z[first_z + v], pointers_z[first_z + v + 1]):
                                value += half[u, neighbors_z[e] - first_z]
                        now[u, v] = decay * value
                        term += decay * value
                total += term
            out[i, j] = total
