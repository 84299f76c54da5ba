"""Graph kernels that count: k is an inner product of sparse counts of what the graphs are made of.

The counts and their products are those of strings: a gram there, a subtree or a path here.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from mercer._parameters import Count, Declared, declare
from mercer.kernels.catalog import kernel
from mercer.kernels.claims import Rule
from mercer.kernels.core import Examples
from mercer.kernels.graphs.reading import Graphs, read_pair
from mercer.kernels.strings.counts import MAX_KEY, Counts, KernelOfCounts, by_frequency, number

#: Pairs of nodes whose distances are in memory at a time.
PATHS = 1 << 22


class CountingKernel(KernelOfCounts):
    """k(x, z) = Σ over parts of count in x · count in z; the counts are the state."""

    takes = "graphs"

    def _count(self, graphs: Graphs) -> Any:
        """How often each part occurs in each graph (CSR)."""
        raise NotImplementedError

    def prepare_pair(self, X: Any, Z: Any) -> tuple[Counts, Counts]:
        x, z = read_pair(X, Z)
        if Z is None:
            counts = self._counts(x)
            return counts, counts
        n = len(x.starts)
        both = self._counts(
            Graphs(
                np.concatenate([x.starts, z.starts]),
                np.concatenate([x.sizes, z.sizes]),
                *x.arrays[2:],
            )
        )
        return both[:n], both[n:]

    def _counts(self, graphs: Graphs) -> Counts:
        matrix = self._count(graphs)
        return by_frequency(matrix, np.ones(matrix.shape[1]))


@kernel
class WeisfeilerLehman(CountingKernel):
    """k(x, z) = Σ_{h≤depth} Σ_t (nodes of x with subtree t) · (nodes of z with it), t of height h.

    Every node starts with its label; in each round its new label stands for its old one together
    with the multiset of its neighbors' (Shervashidze et al. 2011). New labels are found by
    comparing, never by a hash alone, and for X and Z together, so that new labels at prediction
    time are nothing special. All graphs are relabeled at once.

    Parameters
    ----------
    depth : int, default 5
        Rounds: how far around a node is looked.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import WeisfeilerLehman
    >>> water = ([(0, 1), (0, 2)], ["O", "H", "H"])
    >>> hydroxide = ([(0, 1)], ["O", "H"])
    >>> WeisfeilerLehman(0)([water, hydroxide])  # atoms
    array([[5., 3.],
           [3., 2.]])
    >>> WeisfeilerLehman(1)([water, hydroxide])  # and atoms with their neighbors
    array([[10.,  5.],
           [ 5.,  4.]])
    """

    depth: int = 5
    tex = r"\sum_{h=0}^{<depth>} \sum_{t \in T_h} c_t(x) \, c_t(z)"
    examples: ClassVar[Examples] = ("weisfeiler_lehman(2)",)
    proof: ClassVar[Rule] = Rule(
        True, "inner product of features", "φ_t(x) = number of nodes of x with subtree t"
    )

    parameters: ClassVar[Declared] = declare(depth=Count(0, floats=True))

    def _count(self, graphs: Graphs) -> Any:
        from scipy import sparse

        labels = graphs.labels
        pointers = np.concatenate([[0], np.cumsum(graphs.sizes)])
        known = int(labels.max()) + 1 if len(labels) else 0
        columns = [labels]
        offset = known
        for _ in range(self.depth):
            labels, known = relabel(labels, known, graphs.pointers, graphs.neighbors)
            columns.append(labels + offset)
            offset += known
        # Nodes lie graph by graph, rounds side by side: the columns of a graph are one stretch.
        indices = np.column_stack(columns).ravel()
        shape = (len(graphs.sizes), max(offset, 1))
        counts = sparse.csr_array(
            (np.ones(len(indices)), indices, pointers * len(columns)), shape=shape
        )
        counts.sum_duplicates()
        return counts


def relabel(
    labels: np.ndarray, known: int, pointers: np.ndarray, neighbors: np.ndarray
) -> tuple[np.ndarray, int]:
    """One round: equal numbers for nodes with equal labels and equal multisets around them.

    A node's key grows by one neighbor at a time, in the order of their labels, and is numbered
    anew after each; who has fewer neighbors drops out with a number nobody gets later.
    """
    degrees = np.diff(pointers)
    sources = np.repeat(np.arange(len(labels)), degrees)
    # Sorting (node, label of neighbor) packed into one integer sorts within every node.
    around = np.sort(sources * max(known, 1) + labels[neighbors]) % max(known, 1)
    result, used = labels.copy(), known
    active = np.flatnonzero(degrees)
    nth = 0
    while len(active):
        keys = result[active] * np.int64(known) + around[pointers[active] + nth]
        ids, new = number(keys)
        result[active] = ids + used
        used += new
        nth += 1
        active = active[degrees[active] > nth]
    return number(result)


@kernel
class ShortestPath(CountingKernel):
    """k(x, z) = Σ over (a, b, d) of (pairs in x of nodes labeled a and b, d steps apart) · (in z).

    A pair of nodes counts once, without order, and nodes that no path joins don't count
    (Borgwardt and Kriegel 2005, with a comparison by equality).

    Examples
    --------
    >>> from mercer.kernels import ShortestPath
    >>> water = ([(0, 1), (0, 2)], ["O", "H", "H"])
    >>> hydroxide = ([(0, 1)], ["O", "H"])
    >>> ShortestPath()([water, hydroxide])  # water: O–H twice, H–H at distance 2 once
    array([[5., 2.],
           [2., 1.]])
    """

    tex = r"\sum_{a, b, d} c_{abd}(x) \, c_{abd}(z)"
    proof: ClassVar[Rule] = Rule(
        True,
        "inner product of features",
        "φ_abd(x) = number of pairs of nodes a, b of x at distance d",
    )

    def _count(self, graphs: Graphs) -> Any:
        """A few graphs at a time: the distances of all their pairs of nodes are in memory."""
        sizes = graphs.sizes
        base = int(graphs.labels.max()) + 1 if len(graphs.labels) else 1
        span = int(sizes.max(initial=1))
        if base * base * span >= MAX_KEY:
            raise ValueError(f"{base} labels in graphs of {span} nodes are too many to pack")
        blocks: list[Any] = []
        keys: list[np.ndarray] = []
        ends = np.cumsum(sizes * (sizes - 1) // 2)
        first = 0
        while first < len(sizes):
            done = ends[first - 1] if first else 0
            last = max(first + 1, int(np.searchsorted(ends, done + PATHS, side="right")))
            block, distinct = _paths(graphs[first:last], base, span)
            blocks.append(block)
            keys.append(distinct)
            first = last
        return _side_by_side(blocks, keys)


def _paths(graphs: Graphs, base: int, span: int) -> tuple[Any, np.ndarray]:
    """How often each (label, label, distance) occurs in each graph, and the keys of the columns."""
    from scipy import sparse

    from mercer.kernels.graphs.loops import count_reached, fill_paths

    pointers = np.concatenate([[0], np.cumsum(count_reached(*graphs.arrays))])
    packed = np.empty(pointers[-1], dtype=np.int64)
    fill_paths(*graphs.arrays, pointers, base, span, packed)
    distinct, ids = np.unique(packed, return_inverse=True)
    shape = (len(graphs.starts), max(len(distinct), 1))
    counts = sparse.csr_array((np.ones(len(ids)), ids, pointers), shape=shape)
    counts.sum_duplicates()
    return counts, distinct


def _side_by_side(blocks: list[Any], keys: list[np.ndarray]) -> Any:
    """Counts of parts of the graphs, each with columns of its own, on common columns."""
    from scipy import sparse

    common = np.unique(np.concatenate(keys))
    for block, own in zip(blocks, keys, strict=True):
        block.indices = np.searchsorted(common, own)[block.indices]
        block.resize((block.shape[0], max(len(common), 1)))
    return blocks[0] if len(blocks) == 1 else sparse.vstack(blocks, format="csr")
